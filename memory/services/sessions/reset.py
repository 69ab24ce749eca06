"""Empties a session: memories and documents with all dependent rows, quarantine, summaries, packs and window."""

from __future__ import annotations

import logging
import uuid
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.db.models import Q, QuerySet

from memory import audit
from memory.enums import AuditEvent
from memory.errors import WindowUnavailable
from memory.models import (
    AuditLog,
    Condensation,
    ContextPack,
    Document,
    DocumentChunk,
    DocumentFile,
    Memory,
    QuarantinedItem,
    Session,
)
from memory.models.document import DocumentQuerySet
from memory.services.index import entries
from memory.services.ingestion import quarantine
from memory.services.ingestion.replies import put_away_replies
from memory.services.memories import recompare
from memory.services.recall import working_memory
from memory.services.tenancy import holds
from memory.services.tenancy.namespaces import keep_namespaces
from memory.stores import window
from memory.types import Scope, list_forms

log = logging.getLogger("memos.reset")


@dataclass(frozen=True, slots=True)
class Deleted:
    """The numbers of deleted rows (or, in a dry run, of rows to delete); `audit` counts events hidden from the listing.

    `memories` includes the chunks of `documents`; `quarantined` are texts that were waiting for a decision.
    """

    redis_keys: int
    memories: int
    documents: int
    condensations: int
    context_packs: int
    quarantined: int
    audit: int


# The result for a session in an unknown namespace.
NOTHING_DELETED = Deleted(0, 0, 0, 0, 0, 0, 0)


def reset_session(scope: Scope, *, session: str, dry_run: bool, clear_audit: bool, now: datetime) -> Deleted:
    """Delete everything of the session and return the counts; a dry run only counts.

    Documents that were given with the session are deleted too, with all their chunks.

    Audit events are append-only: `clear_audit` hides the session's earlier ones from its listing. Raises Conflict, even
    in a dry run, when one of the memories or the namespace is under a legal hold; WindowUnavailable, because a reset
    must delete the window; and NamespaceGone. Nothing is deleted then.
    """
    memories = Memory.objects.in_scope(scope).in_session(session)
    documents = Document.objects.in_scope(scope).of_session(session)
    packs = ContextPack.objects.in_scope(scope).filter(session=session)
    summaries = Condensation.objects.in_scope(scope).filter(session=session)
    events = AuditLog.objects.in_scope(scope).filter(session__in=list_forms(session))
    if dry_run:
        holds.refuse(scope.namespace_id, [*_ids(memories), *_ids(_chunks(scope, documents))])
        return Deleted(
            window.exists(scope.namespace_id, session),
            memories.count() + _chunks_elsewhere(scope, documents, session),
            documents.count(),
            summaries.count(),
            packs.count(),
            QuarantinedItem.objects.in_scope(scope).pending().filter(session=session).count(),
            events.count() if clear_audit else 0,
        )
    with transaction.atomic():
        keep_namespaces([scope])
        holds.refuse_namespace(scope.namespace_id)
        # Lock the items before the session's row, in the order of a release.
        quarantined = quarantine.discard_session(scope, session=session, now=now)
        # Writers of the session wait for this row; rows that they add afterwards are not touched.
        _, made = Session.objects.get_or_create(namespace_id=scope.namespace_id, name=session)
        Session.objects.select_for_update().in_scope(scope).get(name=session)
        hidden = events.count() if clear_audit else 0
        # Lock the documents, so that a new version of one of them waits and then finds it gone.
        identities = list(documents.select_for_update().values_list("id", flat=True))
        # Delete files that wait to be read; the others are deleted with their documents.
        DocumentFile.objects.in_scope(scope).filter(session=session).delete()
        turns = list(Memory.objects.in_scope(scope).in_session(session).values_list("pk", flat=True))
        chunks = DocumentChunk.objects.in_scope(scope).filter(document_key__in=identities)
        deleting = Q(session=session) | Q(pk__in=chunks.values("memory_id"))
        put_away_replies(scope, Memory.objects.in_scope(scope).filter(deleting), now=now)
        removed = entries.remove_chunks(scope, documents=identities)
        removed += entries.remove_session(scope, session=session)
        # Every other obstacle has been found by now; if the window is unavailable, the transaction rolls back.
        redis_keys = window.forget(scope.namespace_id, session)
        deleted = Deleted(
            redis_keys,
            removed,
            Document.objects.in_scope(scope).filter(id__in=identities).delete()[0],
            summaries.delete()[0],
            packs.delete()[0],
            quarantined,
            hidden,
        )
        # The memories are gone, so that all work that settling did for them is visible here.
        recompare.ask_of_authors(scope.namespace_id, turns)
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
        if made and not hidden:
            # The row was only made to be locked: a session that never existed leaves none.
            Session.objects.in_scope(scope).filter(name=session).delete()
    # A message that arrived between the deletion of the window and the lock is gone from the table, so delete it here
    # too.
    try:
        window.forget(scope.namespace_id, session)
    except WindowUnavailable as error:
        log.warning("session window kept until it expires", extra={"reason": error.message})
    working_memory.tidy(scope, now=now)
    return deleted


def _ids(memories: QuerySet[Memory]) -> list[uuid.UUID]:
    return list(memories.values_list("pk", flat=True))


def _chunks(scope: Scope, documents: DocumentQuerySet) -> QuerySet[Memory]:
    chunks = DocumentChunk.objects.in_scope(scope).filter(document_key__in=documents.values("id"))
    return Memory.objects.in_scope(scope).filter(pk__in=chunks.values("memory_id"))


def _chunks_elsewhere(scope: Scope, documents: DocumentQuerySet, session: str) -> int:
    """Count the chunks of the documents that are not counted as memories of `session` itself."""
    return _chunks(scope, documents).exclude(session=session).count()
