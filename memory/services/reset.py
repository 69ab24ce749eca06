"""Empties a session: memories and documents with all that hangs on them, quarantine, summaries, packs and window."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction

from memory import audit
from memory.enums import AuditEvent
from memory.errors import WindowUnavailable
from memory.models import AuditLog, Condensation, ContextPack, Document, DocumentChunk, Memory, QuarantinedItem, Session
from memory.models.document import DocumentQuerySet
from memory.services import index, quarantine, working_memory
from memory.stores import window
from memory.types import Scope

log = logging.getLogger("memos.reset")


@dataclass(frozen=True, slots=True)
class Deleted:
    """How many of each were (or, in a dry run, would be) deleted; `audit` counts events hidden from the listing.

    `memories` counts the chunks of `documents` too; `quarantined` are texts that were waiting for a decision.
    """

    redis_keys: int
    memories: int
    documents: int
    condensations: int
    context_packs: int
    quarantined: int
    audit: int


def reset_session(scope: Scope, *, session: str, dry_run: bool, clear_audit: bool, now: datetime) -> Deleted:
    """Deletes everything of the session and says how much that was; a dry run only counts.

    Documents that were given with the session go with it, all their chunks included.

    Audit events are append-only: `clear_audit` hides the session's earlier ones from its listing. Raises
    WindowUnavailable before anything is deleted: a reset that leaves the window behind would not be one.
    """
    memories = Memory.objects.in_scope(scope).in_session(session)
    documents = Document.objects.in_scope(scope).of_session(session)
    packs = ContextPack.objects.in_scope(scope).filter(session=session)
    summaries = Condensation.objects.in_scope(scope).filter(session=session)
    events = AuditLog.objects.in_scope(scope).filter(session=session)
    if dry_run:
        return Deleted(
            window.exists(scope.namespace_id, session),
            memories.count() + _chunks_elsewhere(scope, documents, session),
            documents.count(),
            summaries.count(),
            packs.count(),
            QuarantinedItem.objects.in_scope(scope).pending().filter(session=session).count(),
            events.count() if clear_audit else 0,
        )
    redis_keys = window.forget(scope.namespace_id, session)
    with transaction.atomic():
        # Before the session's row, as a release takes the two.
        quarantined = quarantine.discard_session(scope, session=session, now=now)
        # Writers of the session wait for this row; what they add afterwards is not touched.
        Session.objects.get_or_create(namespace_id=scope.namespace_id, name=session)
        Session.objects.select_for_update().in_scope(scope).get(name=session)
        hidden = events.count() if clear_audit else 0
        # Locked, so that a new version of one of them waits and then finds it gone.
        identities = list(documents.select_for_update().values_list("id", flat=True))
        chunks = index.remove_chunks(scope, documents=identities, now=now)
        deleted = Deleted(
            redis_keys,
            chunks + index.remove_session(scope, session=session, now=now),
            Document.objects.in_scope(scope).filter(id__in=identities).delete()[0],
            summaries.delete()[0],
            packs.delete()[0],
            quarantined,
            hidden,
        )
        Session.objects.in_scope(scope).filter(name=session).update(
            message_count=0, summarised_turn=0, summary_requested_at=None
        )
        if clear_audit:
            Session.objects.in_scope(scope).filter(name=session).update(audit_hidden_before=now)
        audit.record(
            scope,
            AuditEvent.SESSION_RESET,
            session=session,
            details={
                "redis_keys": deleted.redis_keys,
                "memories": deleted.memories,
                "documents": deleted.documents,
                "condensations": deleted.condensations,
                "context_packs": deleted.context_packs,
                "quarantined": deleted.quarantined,
                "audit_hidden": hidden,
            },
            now=now,
        )
    # A message that came in between the window's end and the lock is gone from the table: so must it be here.
    try:
        window.forget(scope.namespace_id, session)
    except WindowUnavailable as error:
        log.warning("session window kept until it expires", extra={"reason": error.message})
    working_memory.tidy(scope, now=now)
    return deleted


def _chunks_elsewhere(scope: Scope, documents: DocumentQuerySet, session: str) -> int:
    """Chunks of the documents that are not counted as memories of `session` itself."""
    chunks = DocumentChunk.objects.in_scope(scope).filter(document_key__in=documents.values("id"))
    return chunks.exclude(memory__session=session).count()
