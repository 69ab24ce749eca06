"""Reads a query's context apart from its hits: the session's window and newest summary, and the procedural registry."""

from __future__ import annotations

import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import orjson
from django.conf import settings

from memory.enums import MemoryState
from memory.models import Procedure
from memory.models.sql import fetch
from memory.retrieval.columns.load import CHANGES, Changes, Snapshot, changes_of, parameters_of_changes
from memory.retrieval.procedural import describe_entry, select_procedural
from memory.services.recall.window import TOLD, follow_memories, parameters_of
from memory.services.summaries import refresh
from memory.services.summaries.stale import without
from memory.types import Scope, WindowMessage


@dataclass(frozen=True, slots=True)
class Summary:
    """The newest summary of a session: its card as text, and as an object with the `sources` of its items.

    The card is as stored, without lines made from memories that were archived, corrected, superseded or restored since.
    """

    id: uuid.UUID
    text: str
    card: dict[str, Any]


@dataclass(frozen=True, slots=True)
class SessionContext:
    """The context of a session before the search. `summary_due`: a new summary should be requested.

    `messages`: the number of messages of the session so far; `history_tokens`: their tokens; `covered`: the last turn
    that the summary covers. `has_pinned`: a memory of the namespace is pinned. `changes`: the changes in the
    namespace's index, if requested.
    """

    summary: Summary | None
    window: list[WindowMessage]
    summary_due: bool
    messages: int
    history_tokens: int
    covered: int
    procedural: dict[str, Any]
    has_pinned: bool
    changes: Changes | None = None


_CONTEXT = """
SELECT c.id, c.condensed_text, c.item_sources::text, t.stale,
       coalesce(s.message_count > s.summarised_turn
                AND (s.summary_requested_at IS NULL OR s.summary_requested_at < %(request_expired)s::timestamptz)
                AND (c.id IS NULL OR s.message_count >= s.summarised_turn + %(refresh)s::int
                     OR s.last_message_at < %(quiet_since)s::timestamptz
                     OR (SELECT sum(m.tokens) FROM memory_memory m
                         WHERE m.namespace_id = s.namespace_id AND m.session = s.name AND m.turn > s.summarised_turn
                        ) >= %(refresh_tokens)s::int),
                false),
       coalesce(s.message_count, 0), coalesce(s.summarised_turn, 0),
       coalesce(c.token_original, 0) + (
           SELECT coalesce(sum(m.tokens), 0) FROM memory_memory m
           WHERE m.namespace_id = s.namespace_id AND m.session = s.name AND m.turn > coalesce(c.covers_to_turn, 0)
             AND m.created_at <= coalesce(%(as_of)s::timestamptz, 'infinity')),
       (SELECT jsonb_agg(to_jsonb(p) ORDER BY p.namespace_id IS NULL, p.name, p.version DESC)::text
        FROM memory_procedure p WHERE p.enabled AND (p.namespace_id = %(namespace_id)s OR p.namespace_id IS NULL)),
       EXISTS (SELECT FROM memory_memory p WHERE p.namespace_id = %(namespace_id)s AND p.pinned),
       {told} {changes}
FROM (SELECT) AS one
LEFT JOIN memory_session s ON s.namespace_id = %(namespace_id)s AND s.name = %(session)s
LEFT JOIN LATERAL (
    SELECT id, condensed_text, token_original, item_sources, covers_to_turn FROM memory_condensation
    WHERE namespace_id = %(namespace_id)s AND session = %(session)s
      AND created_at <= coalesce(%(as_of)s::timestamptz, 'infinity')
    ORDER BY number DESC LIMIT 1
) c ON true
LEFT JOIN LATERAL (
    SELECT array_agg(stale.id::text) AS stale FROM (
        SELECT memory_id FROM memory_stalesource
        WHERE namespace_id = %(namespace_id)s AND session = %(session)s
          AND created_at <= coalesce(%(as_of)s::timestamptz, 'infinity')
        UNION ALL
        -- A former summary may repeat what was archived later: the search leaves that out as well.
        SELECT m.id FROM jsonb_path_query(c.item_sources, '$.*[*][*]') AS source (id)
        JOIN memory_memory m ON m.namespace_id = %(namespace_id)s AND m.id = (source.id #>> '{{}}')::uuid
                            AND m.state <> '{active}'
        WHERE %(as_of)s::timestamptz IS NOT NULL
    ) AS stale (id)
) t ON true
{more}
"""
_WITHOUT_CHANGES = _CONTEXT.format(told=TOLD, active=MemoryState.ACTIVE.value, changes="", more="")
# One round trip reads everything that a question needs before the search.
_WITH_CHANGES = _CONTEXT.format(
    told=TOLD, active=MemoryState.ACTIVE.value, changes=", changes.*", more=f"CROSS JOIN {CHANGES} AS changes"
)


def session_context(
    scope: Scope,
    *,
    session: str,
    now: datetime,
    messages: Sequence[WindowMessage] = (),
    as_of: datetime | None = None,
    seen: Snapshot | None = None,
) -> SessionContext:
    """Read, in one round trip, the summary and whether a new one is due, the current content of the window's
    `messages`, the namespace's prompts and tools, whether it has pinned memories, and the changes of its index since
    the snapshot `seen`, if given.

    With `as_of` the summary is the newest of that time, and none is due.
    """
    started = time.monotonic()
    due = refresh.refresh_of(scope.namespace_id)
    parameters = {
        "namespace_id": scope.namespace_id,
        "session": session,
        "as_of": as_of,
        "refresh": due.messages,
        "refresh_tokens": due.tokens,
        "quiet_since": now - due.idle if due.idle else None,
        **parameters_of(messages),
        "request_expired": now - timedelta(seconds=settings.MEMOS_SUMMARY_LOCK_SECONDS),
    }
    if seen is None:
        (row,) = fetch(_WITHOUT_CHANGES, parameters, prepared=True)
    else:
        (row,) = fetch(_WITH_CHANGES, parameters | parameters_of_changes(seen), prepared=True)
    identity, text, sources, stale, summary_due, count, covered, history, procedures, pinned, said, *changes = row
    summary = None
    if identity:
        card = {**orjson.loads(text), "sources": orjson.loads(sources)}
        if stale:
            card = without(card, stale)
            text = orjson.dumps({name: value for name, value in card.items() if name != "sources"}).decode()
        summary = Summary(identity, text, card)
    procedural = select_procedural(orjson.loads(procedures) if procedures else [])
    return SessionContext(
        summary,
        follow_memories(messages, said),
        summary_due and as_of is None,
        count,
        int(history),
        covered if summary else 0,
        procedural,
        pinned,
        changes_of(changes, started) if changes else None,
    )


def procedure(entry: Procedure) -> dict[str, Any]:
    """Return a registry entry as clients see it."""
    return describe_entry(
        {
            "kind": entry.kind,
            "name": entry.name,
            "version": entry.version,
            "description": entry.description,
            "text": entry.text,
            "parameters": entry.parameters,
        }
    )
