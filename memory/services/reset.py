"""Empties a session: its memories, vectors, postings, versions, summaries, packs and window."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import datetime

from django.db import connection, transaction

from memory import audit
from memory.enums import AuditEvent, MemoryState
from memory.errors import WindowUnavailable
from memory.models import AuditLog, Condensation, ContextPack, Memory, Session
from memory.services import vector_cells
from memory.stores import window
from memory.types import Scope

log = logging.getLogger("memos.reset")


@dataclass(frozen=True, slots=True)
class Deleted:
    """How many of each were (or, in a dry run, would be) deleted; `audit` counts events hidden from the listing."""

    redis_keys: int
    memories: int
    condensations: int
    context_packs: int
    audit: int


def reset_session(scope: Scope, *, session: str, dry_run: bool, clear_audit: bool, now: datetime) -> Deleted:
    """Deletes everything of the session and says how much that was; a dry run only counts.

    Audit events are append-only: `clear_audit` hides the session's earlier ones from its listing. Raises
    WindowUnavailable before anything is deleted: a reset that leaves the window behind would not be one.
    """
    memories = Memory.objects.in_scope(scope).in_session(session)
    packs = ContextPack.objects.in_scope(scope).filter(session=session)
    summaries = Condensation.objects.in_scope(scope).filter(session=session)
    events = AuditLog.objects.in_scope(scope).filter(session=session)
    if dry_run:
        return Deleted(
            window.exists(scope.namespace_id, session),
            memories.count(),
            summaries.count(),
            packs.count(),
            events.count() if clear_audit else 0,
        )
    redis_keys = window.forget(scope.namespace_id, session)
    with transaction.atomic():
        # Writers of the session wait for this row; what they add afterwards is not touched.
        Session.objects.get_or_create(namespace_id=scope.namespace_id, name=session)
        Session.objects.select_for_update().in_scope(scope).get(name=session)
        hidden = events.count() if clear_audit else 0
        deleted = Deleted(
            redis_keys,
            _delete_memories(scope, session),
            summaries.delete()[0],
            packs.delete()[0],
            hidden,
        )
        vector_cells.refresh_soon(scope)
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
                "condensations": deleted.condensations,
                "context_packs": deleted.context_packs,
                "audit_hidden": hidden,
            },
            now=now,
        )
    # A message that came in between the window's end and the lock is gone from the table: so must it be here.
    try:
        window.forget(scope.namespace_id, session)
    except WindowUnavailable as error:
        log.warning("session window kept until it expires", extra={"reason": error.message})
    return deleted


def _delete_memories(scope: Scope, session: str) -> int:
    """Deletes the session's memories with all that hangs on them; counts are kept exact."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            WITH gone AS (
                DELETE FROM memory_memory WHERE namespace_id = %(namespace_id)s AND session = %(session)s
                RETURNING id, state, terms, length
            ), postings AS (
                DELETE FROM memory_posting p USING gone g, unnest(g.terms) AS t (term)
                WHERE p.namespace_id = %(namespace_id)s AND p.term = t.term AND p.memory_id = g.id
            ), stats AS (
                INSERT INTO memory_namespacestat AS n (namespace_id, shard, memories, terms)
                SELECT %(namespace_id)s, 0, -count(*), -coalesce(sum(length), 0) FROM gone WHERE state = %(active)s
                HAVING count(*) > 0
                ON CONFLICT (namespace_id, shard) DO UPDATE
                    SET memories = n.memories + EXCLUDED.memories, terms = n.terms + EXCLUDED.terms
            )
            SELECT count(*) FROM gone
            """,
            {"namespace_id": scope.namespace_id, "session": session, "active": MemoryState.ACTIVE.value},
        )
        return int(cursor.fetchone()[0])
