"""Reads the receipts of erasures: the request, the memories found, and the progress."""

from __future__ import annotations

import hashlib
import hmac
import uuid
from typing import Any

from django.conf import settings

from memory.errors import InvalidInput, NotFound
from memory.models import Erasure
from memory.models.paging import narrow, page_of
from memory.models.scoped import ScopedQuerySet
from memory.types import Access, ListFilter, list_forms


def find(access: Access, *, erasure_id: uuid.UUID) -> Erasure:
    """Return an erasure of a namespace that the caller reaches. Raises NotFound."""
    erasure = Erasure.objects.reachable_by(access).filter(id=erasure_id).first()
    if erasure is None:
        raise NotFound(f"There is no erasure {erasure_id} that this key reaches.", detail={"field": "id"})
    return erasure


def list_erasures(
    access: Access, *, wanted: ListFilter, speaker: str, cursor: uuid.UUID | None
) -> tuple[list[dict[str, Any]], uuid.UUID | None]:
    """Return a page of receipts, newest first, from `cursor` on, and the cursor of the next page.

    `speaker` (with a namespace) finds the receipts of a name, which is not stored. Raises InvalidInput, NotFound.
    """
    rows: ScopedQuerySet[Erasure] = narrow(Erasure.objects.reachable_by(access), access, wanted)
    if speaker:
        if wanted.namespace is None:
            raise InvalidInput("A speaker is looked up within a namespace.", detail={"field": "namespace"})
        digests = [
            speaker_digest(namespace_id, form)
            for namespace_id in set(rows.values_list("namespace_id", flat=True))
            for form in list_forms(speaker)
        ]
        rows = rows.filter(speaker_digest__in=digests)
    if cursor is not None:
        rows = rows.filter(id__lte=cursor)
    page, following = page_of(rows, wanted.limit)
    return [to_dict(erasure) for erasure in page], following.id if following else None


def to_dict(erasure: Erasure) -> dict[str, Any]:
    """Return the receipt as clients see it."""
    return {
        "id": str(erasure.id),
        "status": str(erasure.status),
        "namespace": erasure.namespace,
        "target": str(erasure.target),
        "session_id": erasure.session or None,
        "reason": erasure.reason,
        "actor": erasure.actor,
        "named": erasure.named,
        "missing": erasure.missing,
        "found": erasure.found,
        "documents": erasure.documents,
        "notes": _notes(erasure),
        "holders": erasure.holders,
        "summaries_rebuilt": erasure.summaries,
        "proof": erasure.proof or None,
        "waiting_for": erasure.waiting_for,
        "error": erasure.error,
        "created_at": erasure.created_at.isoformat(),
        "started_at": erasure.started_at.isoformat() if erasure.started_at else None,
        "finished_at": erasure.finished_at.isoformat() if erasure.finished_at else None,
    }


def speaker_digest(namespace_id: int, speaker: str) -> str:
    """Return the HMAC-SHA256 (hex) of a speaker's name, which identifies it in the receipt without revealing it."""
    said = f"speaker:{namespace_id}:{speaker}".encode()
    return hmac.new(settings.MEMOS_KEY_PEPPER.encode(), said, hashlib.sha256).hexdigest()


def _notes(erasure: Erasure) -> list[str]:
    notes = []
    if erasure.missing:
        notes.append(f"Named, but not there (any more): {erasure.missing}.")
    if erasure.documents:
        notes.append(f"Documents erased whole: {erasure.documents}.")
    if added := erasure.found - (erasure.named - erasure.missing):
        notes.append(f"Chunks, facts and replies that were not named and go with what was: {added}.")
    if said := erasure.proof.get("words", {}).get("said_by_others"):
        notes.append(f"Sentences and identifiers of it that memories of others say, which stay (proof.words): {said}.")
    if audit_kept := erasure.proof.get("audit"):
        notes.append(
            f"The audit log cannot be changed: {audit_kept['events']} events about it stay, with ids, counts, actors "
            "and names of sessions."
        )
        if audit_kept["typed"]:
            notes.append(
                f"{audit_kept['typed']} of them were written by an earlier version and say what a person typed as a "
                "reason or note."
            )
    if adapters := erasure.proof.get("training", {}).get("adapters"):
        named = ", ".join(f"{one['name']} ({one['id']})" for one in adapters)
        notes.append(f"Adapters that had learnt of it are stale, unloaded, and their files deleted: {named}.")
    if kept := erasure.holders.get("memory_memory", {}).get("kept"):
        notes.append(f"Put under a legal hold while this was carried out, and kept: {kept}.")
    return notes
