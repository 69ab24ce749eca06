"""Lists quarantined items, releases them into memory, or discards them."""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction

from memory import audit
from memory.enums import AuditEvent, QuarantineState
from memory.errors import Conflict, InvalidInput, NotFound
from memory.gate.judge import judge
from memory.models import Document, DocumentFile, QuarantinedItem
from memory.models.paging import narrow, page_of
from memory.services.index.embedding import embed_or_none, passages_to_embed
from memory.services.index.insert import LetIn, prepare_row, write
from memory.services.ingestion.documents import (
    PreparedDocument,
    count_document,
    insert_document,
    prepare_document,
)
from memory.services.ingestion.ingest import ask_for_summaries, finish
from memory.services.ingestion.replies import link_reply, list_named
from memory.services.tenancy import holds, quota
from memory.services.tenancy.notes import clean_note
from memory.services.tenancy.policy import in_force
from memory.types import Access, ListFilter, NewDocument, NewMemory, Scope, StoredDocument

MAX_NOTE_CHARS = 300
EXCERPT_CHARS = 200
# One transaction deletes at most this many rows.
BATCH = 500
# Texts are judged again to find the spans; of a longer text only this much.
JUDGED_CHARS = 20_000
RESET_NOTE = "The session was reset."


@dataclass(frozen=True, slots=True)
class QuarantineFilter:
    """The filters of the listing; None matches all. `cursor`: the start of the page."""

    namespace: str | None
    state: QuarantineState | None
    rule: str | None
    cursor: uuid.UUID | None
    limit: int


@dataclass(frozen=True, slots=True)
class Reviewed:
    """The item after the decision. `degraded`: as in `Ingested`."""

    item: QuarantinedItem
    degraded: Sequence[str] = ()


def list_items(access: Access, *, wanted: QuarantineFilter) -> tuple[list[dict[str, Any]], uuid.UUID | None]:
    """Return a page of the items that the caller reaches, newest first, with the beginning of their texts, and the
    cursor of the next page.

    Raises NotFound for a namespace that the caller does not reach.
    """
    of_namespace = ListFilter(wanted.namespace, None, wanted.limit)
    rows = narrow(QuarantinedItem.objects.reachable_by(access), access, of_namespace)
    if wanted.state is not None:
        rows = rows.filter(state=wanted.state)
    if wanted.rule is not None:
        rows = rows.filter(rule=wanted.rule)
    if wanted.cursor is not None:
        rows = rows.filter(pk__lte=wanted.cursor)
    page, following = page_of(rows.select_related("namespace"), wanted.limit)
    shown = [{**_to_dict(item), "excerpt": item.text[:EXCERPT_CHARS]} for item in page]
    return shown, following.pk if following else None


def item(access: Access, *, item_id: uuid.UUID) -> dict[str, Any]:
    """Return one item with its whole text and metadata. Raises NotFound."""
    return whole(_get_item(access, item_id))


def whole(found: QuarantinedItem) -> dict[str, Any]:
    """Return an item as its reviewers see it."""
    return {**_to_dict(found), "text": found.text, "metadata": found.metadata}


def release(access: Access, *, item_id: uuid.UUID, note: str, now: datetime, request_id: str = "") -> Reviewed:
    """Store the item as the memory or document that it would have been; it keeps its id and time.

    A turn becomes the newest of its session. Quotas count it but do not stop it, because a person decides. Raises
    NotFound, InvalidInput, and Conflict when the item was already decided, or when its document has a newer version.
    """
    note = check_note(note)
    found = _get_item(access, item_id)
    _refuse_decided(found)
    scope = Scope(found.namespace_id, found.namespace.name, access.actor, request_id)
    if found.document:
        return _release_document(scope, found, note, now=now)
    memory = NewMemory(
        session=found.session,
        role=found.role,
        text=found.text,
        speaker=found.speaker,
        metadata=found.metadata,
        occurred_at=found.occurred_at,
    )
    rows = [prepare_row(scope, memory, identity=found.pk, let_in=LetIn())]
    embedded = embed_or_none([passages_to_embed(found.text, found.speaker)])
    with transaction.atomic():
        locked = _lock_item(scope, item_id)
        quota.take({scope.namespace_id: 1}, enforce=False, now=now)
        sessions = write(rows, embedded, now=now)
        link_reply(scope, found.pk, list_named(scope, found.metadata), now=now)
        _decide(scope, locked, QuarantineState.RELEASED, note, {"embedded": embedded is not None}, now=now)
    ask_for_summaries(sessions, now=now)
    return Reviewed(locked, finish(rows, embedded, now=now))


def discard(access: Access, *, item_id: uuid.UUID, note: str, now: datetime, request_id: str = "") -> Reviewed:
    """Delete the item's text and metadata; the record of the item and the reason remain.

    Raises NotFound, InvalidInput, and Conflict when the item was already decided, or when its namespace is under a
    legal hold.
    """
    note = check_note(note)
    found = _get_item(access, item_id)
    scope = Scope(found.namespace_id, found.namespace.name, access.actor, request_id)
    with transaction.atomic():
        locked = _lock_item(scope, item_id)
        holds.refuse_namespace(scope.namespace_id)
        _decide(scope, locked, QuarantineState.DISCARDED, note, {}, now=now)
    return Reviewed(locked)


def discard_session(scope: Scope, *, session: str, now: datetime) -> int:
    """Discard the session's pending items; return how many. Inside the caller's transaction.

    Raises Conflict when the namespace is under a legal hold.
    """
    holds.refuse_namespace(scope.namespace_id)
    rows = QuarantinedItem.objects.in_scope(scope).pending().filter(session=session)
    pending = list(rows.order_by("pk").select_for_update())
    for found in pending:
        _decide(scope, found, QuarantineState.DISCARDED, RESET_NOTE, {}, now=now)
    return len(pending)


def select_expired(namespace_id: int, *, days: int, now: datetime) -> Any:
    """Select pending and discarded items older than `days`. Released items have no text, and stay as a record."""
    return QuarantinedItem.objects.filter(namespace_id=namespace_id, created_at__lt=now - timedelta(days=days)).exclude(
        state=QuarantineState.RELEASED
    )


def delete_expired(scope: Scope, *, days: int, now: datetime, deadline: float) -> int:
    """Delete expired items, one batch per transaction, until `deadline` (of time.monotonic); return how many.

    Deletes nothing once the policy holds the namespace.
    """
    deleted = 0
    while time.monotonic() < deadline:
        with transaction.atomic():
            if holds.on_namespace(scope.namespace_id):
                break
            rows = select_expired(scope.namespace_id, days=days, now=now).order_by("pk")
            # Leave items that a reviewer is deciding on for the next run.
            old = list(rows.select_for_update(skip_locked=True).values_list("pk", flat=True)[:BATCH])
            count = QuarantinedItem.objects.in_scope(scope).filter(pk__in=old).delete()[0]
            if count:
                details = {"quarantined": count, "older_than_days": days}
                audit.record(scope, AuditEvent.RETENTION_DELETE, details=details, now=now)
        deleted += count
        if len(old) < BATCH:
            break
    return deleted


def check_note(note: str) -> str:
    """Return the note without surrounding white space and without secrets; it may be empty. Raises InvalidInput."""
    note = note.strip()
    if len(note) > MAX_NOTE_CHARS or "\0" in note:
        raise InvalidInput(f"A note has at most {MAX_NOTE_CHARS} characters and no NUL.", detail={"field": "note"})
    return clean_note(note, field="note")


def _release_document(scope: Scope, found: QuarantinedItem, note: str, *, now: datetime) -> Reviewed:
    fields = dict(found.document)
    version = fields.pop("version")
    document = NewDocument(
        text=found.text, session=found.session, metadata=found.metadata, occurred_at=found.occurred_at, **fields
    )
    ready: PreparedDocument = prepare_document(scope, document, now=now)
    with transaction.atomic():
        locked = _lock_item(scope, found.pk)
        count_document(scope, ready, enforce=False, now=now)
        stored = insert_document(scope, ready, now=now)
        if stored.version != version + 1:
            # Raise inside the transaction, so that none of this is written.
            raise Conflict(
                f"The document {stored.document_id!r} was at version {version} when this was kept apart, and is at "
                f"{stored.version - 1} now: discard the text, or put the document anew.",
                detail={"document_id": stored.document_id},
            )
        _tell_file(scope, locked, stored)
        details = {"document_id": stored.document_id, "version": stored.version, "chunks": stored.chunks}
        _decide(scope, locked, QuarantineState.RELEASED, note, details, now=now)
    return Reviewed(locked, stored.degraded)


def _tell_file(scope: Scope, released: QuarantinedItem, stored: StoredDocument) -> None:
    """Update the file that the document was read from, if any, with the result."""
    document = Document.objects.in_scope(scope).get(document_id=stored.document_id)
    DocumentFile.objects.in_scope(scope).filter(quarantine_id=released.pk).update(
        document_key=document.id,
        document_version=stored.version,
        chunks=stored.chunks,
        refusal="",
        problem="",
    )


def _get_item(access: Access, item_id: uuid.UUID) -> QuarantinedItem:
    found = QuarantinedItem.objects.reachable_by(access).filter(pk=item_id).select_related("namespace").first()
    if found is None:
        raise NotFound(f"The quarantine has no item {item_id} that this key reaches.", detail={"field": "id"})
    return found


def _lock_item(scope: Scope, item_id: uuid.UUID) -> QuarantinedItem:
    """Lock the item if it is pending: of two concurrent reviewers, only one gets it. Raises Conflict."""
    rows = QuarantinedItem.objects.in_scope(scope).filter(pk=item_id).select_related("namespace")
    found = rows.select_for_update(of=("self",)).first()
    if found is None:
        raise NotFound(f"The quarantine has no item {item_id} any more.", detail={"field": "id"})
    _refuse_decided(found)
    return found


def _refuse_decided(found: QuarantinedItem) -> None:
    if found.state != QuarantineState.PENDING:
        raise Conflict(
            f"The item was {found.state} already by {found.reviewer}: a decision is made once.",
            detail={"state": found.state, "reviewer": found.reviewer},
        )


def _decide(
    scope: Scope,
    found: QuarantinedItem,
    state: QuarantineState,
    note: str,
    details: Mapping[str, Any],
    *,
    now: datetime,
) -> None:
    """Store the decision and empty the item: its text now belongs to a memory, or is deleted."""
    found.state, found.reviewer, found.note, found.reviewed_at = state, scope.actor, note, now
    found.text, found.metadata = "", {}
    found.save(update_fields=["state", "reviewer", "note", "reviewed_at", "text", "metadata"])
    released = state == QuarantineState.RELEASED
    audit.record(
        scope,
        AuditEvent.QUARANTINE_RELEASE if released else AuditEvent.QUARANTINE_DISCARD,
        session=found.session,
        subject=str(found.pk),
        details={
            "rule": found.rule,
            "reviewer": scope.actor,
            "note": note,
            "before": {"state": QuarantineState.PENDING.value},
            "after": {"state": state.value},
            **details,
        },
        now=now,
    )


def _to_dict(found: QuarantinedItem) -> dict[str, Any]:
    document = {name: value for name, value in found.document.items() if name != "version"}
    return {
        "id": str(found.pk),
        "namespace": found.namespace.name,
        "session_id": found.session or None,
        "role": found.role,
        "speaker": found.speaker,
        "document": document or None,
        "characters": found.characters,
        "rule": found.rule,
        "reasons": found.reasons,
        "confidence": found.confidence,
        "state": found.state,
        "reviewer": found.reviewer,
        "note": found.note,
        "reviewed_at": found.reviewed_at.isoformat() if found.reviewed_at else None,
        "occurred_at": found.occurred_at.isoformat(),
        "created_at": found.created_at.isoformat(),
    }


def find_places(item: QuarantinedItem) -> list[tuple[int, int]]:
    """Find the spans [start, end) of the item's text that match the rules which quarantined it.

    The spans are not stored, so the gate judges the text again; a rule that has changed since may match nothing.
    """
    rules = {reason.get("rule") for reason in item.reasons if isinstance(reason, dict)} | {item.rule}
    gate = in_force(item.namespace_id).gate
    judgement = judge(item.text[:JUDGED_CHARS], role=item.role, speaker=item.speaker, policy=gate)
    return [(span[0], span[1]) for reason in judgement.reasons if reason.rule in rules for span in reason.spans]
