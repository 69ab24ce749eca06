"""SQL of the figures for operators: the stages of turns, requests by minute, and the sizes of namespaces."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

from django.db import connection

from memory.kinds import SESSION_PREFIX
from memory.models.sql import fetch

# Ids begin with the time, so they find the newest memories. Chunks are in no summary, so they do not wait for one. A
# memory that was released from quarantine has the item's id, and is counted by the time of the item.
_CAME = """
WITH came AS MATERIALIZED (
    SELECT namespace_id, id, session, turn, state, embedded, created_at FROM memory_memory
    WHERE id >= %(first)s AND (%(everywhere)s::bool OR namespace_id = ANY(%(namespaces)s::bigint[]))
    ORDER BY id DESC LIMIT %(most)s
), judged AS MATERIALIZED (
    SELECT c.*,
        c.state <> 'active' OR c.embedded AS has_vector,
        c.turn <= 0 OR coalesce(s.summarised_turn >= c.turn, false) AS condensed,
        CASE WHEN c.turn > 0 THEN coalesce(s.settled_turn >= c.turn AND w.turn >= c.turn, false)
             ELSE coalesce(w.turn > 0, false) END AS linked
    FROM came c
    LEFT JOIN memory_session s ON s.namespace_id = c.namespace_id AND s.name = c.session
    LEFT JOIN memory_entitywatermark w ON w.namespace_id = c.namespace_id AND w.session = c.session
)
"""
_PASSED = {
    "accepted": "true",
    "screened": "true",
    "embedded": "has_vector",
    "condensed": "condensed",
    "linked": "linked",
    "stored": "has_vector AND condensed AND linked",
}
_HOUR = f"""{_CAME}
SELECT count(*), count(*) FILTER (WHERE has_vector), count(*) FILTER (WHERE condensed), count(*) FILTER (WHERE linked),
       count(*) FILTER (WHERE has_vector AND condensed AND linked)
FROM judged
"""

# Sessions wait for a summary; sessions, documents and memories wait to be read for names or compared.
_WAITING_SESSIONS = {
    "condensed": """
SELECT 'session' AS kind, s.name AS id, s.namespace_id, s.name AS session, s.last_message_at AS since,
       s.message_count - s.summarised_turn AS turns
FROM memory_session s
WHERE s.message_count > s.summarised_turn
  AND (%(everywhere)s::bool OR s.namespace_id = ANY(%(namespaces)s::bigint[]))
""",
    "linked": """
SELECT 'session' AS kind, s.name AS id, s.namespace_id, s.name AS session, s.last_message_at AS since,
       s.message_count - least(s.settled_turn, coalesce(w.turn, 0)) AS turns
FROM memory_session s
LEFT JOIN memory_entitywatermark w ON w.namespace_id = s.namespace_id AND w.session = s.name
WHERE s.message_count > least(s.settled_turn, coalesce(w.turn, 0))
  AND (%(everywhere)s::bool OR s.namespace_id = ANY(%(namespaces)s::bigint[]))
UNION ALL
SELECT 'document', d.document_id, d.namespace_id, %(prefix)s || d.id, d.updated_at, 1
FROM memory_document d
LEFT JOIN memory_entitywatermark w ON w.namespace_id = d.namespace_id AND w.session = %(prefix)s || d.id
WHERE d.version <> coalesce(w.turn, 0)
  AND (%(everywhere)s::bool OR d.namespace_id = ANY(%(namespaces)s::bigint[]))
UNION ALL
SELECT 'memory', p.memory_id::text, p.namespace_id, m.session, m.created_at, 1
FROM memory_entitypending p
JOIN memory_memory m ON m.namespace_id = p.namespace_id AND m.id = p.memory_id
WHERE (%(everywhere)s::bool OR p.namespace_id = ANY(%(namespaces)s::bigint[]))
""",
}

# The stages at which sessions, documents and memories wait.
WAITING_STAGES = frozenset(_WAITING_SESSIONS)


def count_stages(namespaces: Collection[int] | None, *, first: uuid.UUID, most: int) -> tuple[int, int, int, int, int]:
    """Counts the stages of the newest `most` memories with ids from `first` on (None: of all namespaces).

    Returns the numbers of memories that arrived, have a vector, are in a summary, are linked, and passed all stages.
    """
    [counts] = fetch(_HOUR, _name_new(namespaces, first, most), prepared=False)
    return counts


def list_passed(
    namespaces: Collection[int] | None, stage: str, *, first: uuid.UUID, most: int, limit: int
) -> list[tuple[str, str, int, str, datetime]]:
    """Lists the memories among them that passed a stage, newest first: (kind, id, namespace id, session, time)."""
    statement = (
        f"{_CAME} SELECT 'memory', id::text, namespace_id, session, created_at FROM judged "
        f"WHERE {_PASSED[stage]} ORDER BY id DESC LIMIT %(limit)s"
    )
    return fetch(statement, {**_name_new(namespaces, first, most), "limit": limit}, prepared=False)


def list_waiting(
    namespaces: Collection[int] | None, stage: str, *, limit: int
) -> list[tuple[str, str, int, str, datetime, int]]:
    """Lists the items that wait at a stage, oldest first: (kind, id, namespace id, session, time, turns)."""
    statement = f"{_WAITING_SESSIONS[stage]} ORDER BY since, id LIMIT %(limit)s"
    return fetch(statement, {**_reach(namespaces), "prefix": SESSION_PREFIX, "limit": limit}, prepared=False)


def count_waiting(namespaces: Collection[int] | None, stage: str) -> tuple[int, datetime | None]:
    """Returns the number of items that wait at a stage, and the time of the oldest (None without any)."""
    statement = f"SELECT count(*), min(since) FROM ({_WAITING_SESSIONS[stage]}) AS waiting"
    [(count, oldest)] = fetch(statement, {**_reach(namespaces), "prefix": SESSION_PREFIX}, prepared=False)
    return int(count), oldest


def _reach(namespaces: Collection[int] | None) -> dict[str, Any]:
    return {"everywhere": namespaces is None, "namespaces": sorted(namespaces or ())}


def _name_new(namespaces: Collection[int] | None, first: uuid.UUID, most: int) -> dict[str, Any]:
    return {**_reach(namespaces), "first": first, "most": most}


_ADD = """
INSERT INTO memory_requestminute AS m (namespace_id, minute, route, count, errors, empty_recalls, latency)
VALUES (%s, %s, %s, %s, %s, %s, %s)
ON CONFLICT (namespace_id, minute, route) DO UPDATE SET
    count = m.count + excluded.count,
    errors = m.errors + excluded.errors,
    empty_recalls = m.empty_recalls + excluded.empty_recalls,
    latency = ARRAY(
        SELECT coalesce(a, 0) + coalesce(b, 0) FROM unnest(m.latency, excluded.latency) WITH ORDINALITY AS x(a, b, n)
        ORDER BY n
    )
"""


def add_requests(rows: Sequence[tuple[Any, ...]]) -> None:
    """Adds counts of requests to their minutes.

    Each row is (namespace id, minute, route, requests, errors, recalls without a hit, requests by latency).
    """
    with connection.cursor() as cursor:
        cursor.executemany(_ADD, rows)


_GROWTH = """
SELECT d.place, count(m.id)
FROM unnest(%(begins)s::uuid[], %(ends)s::uuid[]) WITH ORDINALITY AS d(begins, ends, place)
JOIN memory_memory m ON m.namespace_id = %(namespace)s AND m.id >= d.begins AND m.id < d.ends
GROUP BY d.place
"""
_OVERVIEWS = """
SELECT k.id, coalesce(m.memories, 0), coalesce(s.sessions, 0), s.last_message_at
FROM unnest(%(ids)s::bigint[]) AS k(id)
LEFT JOIN LATERAL (SELECT sum(memories) AS memories FROM memory_namespacestat n WHERE n.namespace_id = k.id) m ON true
LEFT JOIN LATERAL (
    SELECT count(*) AS sessions, max(last_message_at) AS last_message_at FROM memory_session s
    WHERE s.namespace_id = k.id AND s.message_count > 0
) s ON true
"""


def count_new(namespace_id: int, bounds: Sequence[uuid.UUID]) -> dict[int, int]:
    """Counts memories in the intervals between successive ids of `bounds`, by number of the interval (from 1)."""
    parameters = {"namespace": namespace_id, "begins": list(bounds[:-1]), "ends": list(bounds[1:])}
    return dict(fetch(_GROWTH, parameters, prepared=False))


def summarise_namespaces(namespace_ids: Sequence[int]) -> list[tuple[int, int, int, datetime | None]]:
    """Summarises namespaces: (id, searchable memories, sessions with messages, time of the last message)."""
    return fetch(_OVERVIEWS, {"ids": list(namespace_ids)}, prepared=False)
