"""Restores documents from a cube's file, without their chunks, which are memories (`take_over`)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from memory import audit
from memory.enums import AuditEvent
from memory.errors import InvalidInput
from memory.gate.fields import judge_fields
from memory.models import Document
from memory.services.tenancy.notes import refuse_ids
from memory.services.tenancy.policy import in_force
from memory.types import Scope


def take_over_documents(
    scope: Scope, documents: Sequence[Document], *, dry_run: bool = False, now: datetime
) -> tuple[list[Document], int, int]:
    """Store new documents with their ids, versions and times; return the new ones, and how many exist already and how
    many are left out.

    A document is left out if another one has its name, or if the gate refuses its title, source or metadata. With
    `dry_run` nothing is written. Inside the caller's transaction.
    """
    rows = Document.objects.in_scope(scope)
    names = [one.document_id for one in documents]
    taken = dict(rows.filter(document_id__in=names).values_list("document_id", "id"))
    ids = set(rows.filter(id__in=[one.id for one in documents]).values_list("id", flat=True))
    present = [one for one in documents if one.id in ids]
    new = [one for one in documents if one.id not in ids and one.document_id not in taken and _is_let_in(scope, one)]
    if not dry_run:
        Document.objects.bulk_create(new)
        audit.record_many([_event(scope, one, now=now) for one in new])
    return new, len(present), len(documents) - len(present) - len(new)


def _is_let_in(scope: Scope, document: Document) -> bool:
    gate = in_force(scope.namespace_id).gate
    try:
        refuse_ids({"session_id": document.session, "document_id": document.document_id}, gate=gate)
    except InvalidInput:
        return False
    fields = {"title": document.title, "source": document.source, "metadata": document.metadata}
    verdict = judge_fields(fields, policy=gate)
    if not verdict.decision.lets_in:
        return False
    document.title, document.source = verdict.values["title"], verdict.values["source"]
    document.metadata = verdict.values["metadata"]
    return True


def _event(scope: Scope, document: Document, *, now: datetime) -> dict:
    details = {"document_id": document.document_id, "version": document.version, "cube_file": scope.request_id}
    return audit.fields(
        scope,
        AuditEvent.DOCUMENT_INGEST,
        session=document.session,
        subject=document.document_id,
        details=details,
        now=now,
    )
