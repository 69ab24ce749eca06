"""SQL of the entity layer: unread sessions and documents, names without mentions, relations, and counts of mentions."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from django.db import connection

from memory.models.sql import change_rows, fetch, read_rows

# Turns of a session are numbered without gaps and in commit order, so that none can appear below the watermark. The
# chunks of a document are replaced together, so its version says whether they were read. The rows alternate between
# namespaces: the first session of each, then the second.
_WORKS = """
(
    SELECT s.namespace_id, n.name, s.name, coalesce(w.turn, 0)
    FROM memory_session s
    JOIN memory_namespace n ON n.id = s.namespace_id
    LEFT JOIN memory_entitywatermark w ON w.namespace_id = s.namespace_id AND w.session = s.name
    WHERE s.message_count > coalesce(w.turn, 0) AND s.namespace_id = coalesce(%(only)s, s.namespace_id)
    ORDER BY row_number() OVER (PARTITION BY s.namespace_id ORDER BY s.last_message_at), s.last_message_at
    LIMIT %(listed)s
) UNION ALL (
    SELECT d.namespace_id, n.name, %(prefix)s || d.id, d.version
    FROM memory_document d
    JOIN memory_namespace n ON n.id = d.namespace_id
    LEFT JOIN memory_entitywatermark w ON w.namespace_id = d.namespace_id AND w.session = %(prefix)s || d.id
    WHERE d.version <> coalesce(w.turn, 0) AND d.namespace_id = coalesce(%(only)s, d.namespace_id)
    ORDER BY row_number() OVER (PARTITION BY d.namespace_id ORDER BY d.id) LIMIT %(listed)s
) UNION ALL (
    SELECT p.namespace_id, n.name, '', 0
    FROM (SELECT DISTINCT namespace_id FROM memory_entitypending LIMIT %(listed)s) p
    JOIN memory_namespace n ON n.id = p.namespace_id
    WHERE p.namespace_id = coalesce(%(only)s, p.namespace_id)
)
"""
_LOCK = """
SELECT id, state, content_hash FROM memory_memory WHERE namespace_id = %s AND id = ANY(%s)
ORDER BY id FOR KEY SHARE NOWAIT
"""
_SKIP_DELETED = """
INSERT INTO memory_entitywatermark (namespace_id, session, turn)
SELECT s.namespace_id, s.name, s.message_count FROM memory_session s
WHERE s.namespace_id = %(namespace_id)s AND s.name = %(session)s AND s.message_count > %(turn)s
  AND NOT EXISTS (
    SELECT 1 FROM memory_memory m
    WHERE m.namespace_id = s.namespace_id AND m.session = s.name AND m.turn > %(turn)s)
ON CONFLICT (namespace_id, session) DO UPDATE SET turn = EXCLUDED.turn
"""
_MARK = """
INSERT INTO memory_entitywatermark AS w (namespace_id, session, turn)
SELECT %s, * FROM unnest(%s::text[], %s::int[]) AS m (session, turn) ORDER BY session
ON CONFLICT (namespace_id, session) DO UPDATE SET turn = greatest(w.turn, EXCLUDED.turn)
"""


def list_unread(only: int | None, *, chunk_prefix: str, limit: int) -> list[tuple[int, str, str, int]]:
    """Lists unread sessions and documents of one namespace or of all.

    Returns (namespace id, its name, session, last turn or version that was read).

    The session is empty for a namespace in which single memories wait. `limit` applies to sessions, to documents and to
    such namespaces.
    """
    return read_rows(_WORKS, {"listed": limit, "prefix": chunk_prefix, "only": only})


def lock_memories(namespace_id: int, memory_ids: Sequence[uuid.UUID]) -> list[tuple[uuid.UUID, str, bytes]]:
    """Locks memories against deletion and archiving until the transaction ends: (id, state, content hash).

    It does not wait, because a deletion may hold some of the rows and wait for others, and raises OperationalError
    instead.
    """
    return read_rows(_LOCK, [namespace_id, list(memory_ids)])


def pass_over_deleted(namespace_id: int, session: str, *, turn: int) -> int:
    """Moves a session's watermark to its end if all turns after `turn` were deleted; returns 1 if it moved, else 0."""
    return change_rows(_SKIP_DELETED, {"namespace_id": namespace_id, "session": session, "turn": turn})


def move_watermarks(namespace_id: int, turns: Mapping[str, int]) -> None:
    """Moves the watermarks of sessions forward to these turns."""
    change_rows(_MARK, [namespace_id, list(turns), list(turns.values())])


_UNMENTIONED = """
WITH unstated AS (
    UPDATE memory_entityalias a SET entity = a.home, link = 'own', stated_in = NULL
    WHERE a.namespace_id = %(namespace_id)s AND a.stated_in IS NOT NULL
      AND NOT EXISTS (
          SELECT 1 FROM memory_memory m WHERE m.namespace_id = a.namespace_id AND m.id = a.stated_in)
)
DELETE FROM memory_entityalias a
WHERE a.namespace_id = %(namespace_id)s
  AND NOT EXISTS (SELECT 1 FROM memory_entitymention m WHERE m.namespace_id = a.namespace_id AND m.alias = a.id)
  AND (a.stated_in IS NULL
       OR EXISTS (SELECT 1 FROM memory_memory m WHERE m.namespace_id = a.namespace_id AND m.id = a.stated_in))
"""
_WITHOUT_NAME = """
DELETE FROM memory_entity e
WHERE e.namespace_id = %(namespace_id)s AND NOT EXISTS (
    SELECT 1 FROM memory_entityalias a WHERE a.namespace_id = e.namespace_id AND e.id IN (a.entity, a.home))
"""
# An entity whose own name is gone gets one of its remaining names.
_NAMED_BY_OTHERS = """
UPDATE memory_entity e SET name = a.name
FROM (
    SELECT DISTINCT ON (entity) entity, name FROM memory_entityalias
    WHERE namespace_id = %(namespace_id)s ORDER BY entity, (entity = home) DESC, id
) a
WHERE e.namespace_id = %(namespace_id)s AND e.id = a.entity AND NOT EXISTS (
    SELECT 1 FROM memory_entityalias own
    WHERE own.namespace_id = e.namespace_id AND own.entity = e.id AND own.name = e.name)
"""


def delete_unmentioned(namespace_id: int) -> tuple[int, int]:
    """Deletes names without mentions, and entities without names; returns the numbers of both."""
    parameters = {"namespace_id": namespace_id}
    with connection.cursor() as cursor:
        names = 0
        # A name that is no longer stated by a memory returns to its own entity first, and is deleted in the second
        # pass.
        for _ in range(2):
            cursor.execute(_UNMENTIONED, parameters)
            names += cursor.rowcount
        cursor.execute(_WITHOUT_NAME, parameters)
        nameless = cursor.rowcount
        cursor.execute(_NAMED_BY_OTHERS, parameters)
    return names, nameless


_SHARE_SESSION = """
WITH sessions AS (
    SELECT DISTINCT y.session FROM (
        SELECT memory_id FROM memory_entitymention
        WHERE namespace_id = %(namespace_id)s AND alias = ANY(%(full)s) ORDER BY id DESC LIMIT %(looked_at)s
    ) m JOIN memory_memory y ON y.namespace_id = %(namespace_id)s AND y.id = m.memory_id
)
SELECT EXISTS (
    SELECT 1 FROM sessions s
    JOIN memory_memory y ON y.namespace_id = %(namespace_id)s AND y.session = s.session
    JOIN memory_entitymention m ON m.namespace_id = y.namespace_id AND m.memory_id = y.id
    WHERE m.alias = %(short)s
)
"""


def share_session(namespace_id: int, short: uuid.UUID, full: Sequence[uuid.UUID], *, most: int) -> bool:
    """Tells whether the short name is mentioned in a session of the newest `most` mentions of the full names."""
    parameters = {"namespace_id": namespace_id, "full": list(full), "short": short, "looked_at": most}
    [(shares,)] = read_rows(_SHARE_SESSION, parameters)
    return bool(shares)


_RELATIONS = """
WITH near AS MATERIALIZED (
    SELECT id FROM memory_entityalias WHERE namespace_id = %(namespace_id)s AND entity = ANY(%(entities)s)
), stated AS (
    SELECT r.* FROM near n JOIN memory_entityrelation r ON r.namespace_id = %(namespace_id)s AND r.subject = n.id
    UNION
    SELECT r.* FROM near n JOIN memory_entityrelation r ON r.namespace_id = %(namespace_id)s AND r.object = n.id
)
"""
_ALL_RELATIONS = """
WITH stated AS (SELECT * FROM memory_entityrelation WHERE namespace_id = %(namespace_id)s)
"""
# The latest statement decides whether the relation still holds.
_EDGES = """
SELECT s.entity, r.predicate, o.entity, max(r.detail), count(*),
       (array_agg(DISTINCT r.memory_id))[1:20], min(r.valid_from),
       (array_agg(r.valid_to ORDER BY coalesce(r.valid_to, r.valid_from) DESC, r.id DESC))[1]
FROM stated r
JOIN memory_entityalias s ON s.namespace_id = %(namespace_id)s AND s.id = r.subject
JOIN memory_entityalias o ON o.namespace_id = %(namespace_id)s AND o.id = r.object
WHERE r.active AND s.entity <> o.entity
GROUP BY s.entity, r.predicate, o.entity ORDER BY count(*) DESC, max(coalesce(r.valid_from, r.valid_to)) DESC, 1, 3
LIMIT %(limit)s
"""
_COMPANIONS = """
WITH own AS MATERIALIZED (
    SELECT DISTINCT e.id AS entity, m.memory_id FROM unnest(%(entities)s::uuid[]) AS e (id)
    CROSS JOIN LATERAL (
        SELECT m.memory_id
        FROM memory_entityalias a
        JOIN memory_entitymention m ON m.namespace_id = a.namespace_id AND m.alias = a.id
        WHERE a.namespace_id = %(namespace_id)s AND a.entity = e.id AND m.active AND m."end" > 0
        ORDER BY m.occurred_at DESC, m.id DESC LIMIT %(companions_of)s
    ) m
)
SELECT own.entity, a.entity, count(DISTINCT own.memory_id), (array_agg(DISTINCT own.memory_id))[1:20],
       min(m.occurred_at)
FROM own
JOIN memory_entitymention m ON m.namespace_id = %(namespace_id)s AND m.memory_id = own.memory_id AND m.active
    AND m."end" > 0
JOIN memory_entityalias a ON a.namespace_id = m.namespace_id AND a.id = m.alias
WHERE a.entity <> own.entity
GROUP BY own.entity, a.entity ORDER BY 3 DESC, 2 LIMIT %(limit)s
"""
_TOTALS = """
SELECT a.entity, count(*), min(m.occurred_at), max(m.occurred_at)
FROM memory_entityalias a
JOIN memory_entitymention m ON m.namespace_id = a.namespace_id AND m.alias = a.id
WHERE a.namespace_id = %(namespace_id)s AND a.entity = ANY(%(entities)s) AND m.active GROUP BY a.entity
"""


def list_relations(namespace_id: int, around: Collection[uuid.UUID] | None, *, limit: int) -> list[tuple[Any, ...]]:
    """Lists the relations of the entities `around` (None: of all), those with the most statements first.

    Returns (subject, predicate, object, detail, number of statements, memory ids, valid from, valid to).
    """
    statement = (_ALL_RELATIONS if around is None else _RELATIONS) + _EDGES
    parameters = {"namespace_id": namespace_id, "entities": list(around or ()), "limit": limit}
    return read_rows(statement, parameters)


def list_companions(
    namespace_id: int, around: Collection[uuid.UUID], *, mentions: int, limit: int
) -> list[tuple[uuid.UUID, uuid.UUID, int, list[uuid.UUID], datetime]]:
    """Lists entities that are mentioned with the newest `mentions` of each: (entity, other, memories, ids, since)."""
    parameters = {
        "namespace_id": namespace_id,
        "entities": list(around),
        "companions_of": mentions,
        "limit": limit,
    }
    return read_rows(_COMPANIONS, parameters)


def sum_mentions(namespace_id: int, entities: Sequence[uuid.UUID]) -> dict[uuid.UUID, tuple[int, datetime, datetime]]:
    """Counts the mentions of each entity, with the first and the last moment that they speak of."""
    rows = read_rows(_TOTALS, {"namespace_id": namespace_id, "entities": list(entities)})
    return {entity: (mentions, first, last) for entity, mentions, first, last in rows}


_COUNTS = """
SELECT n.name, c.entities
FROM memory_namespace n
CROSS JOIN LATERAL (
    SELECT count(*) AS entities FROM (
        SELECT 1 FROM memory_entity e
        WHERE e.namespace_id = n.id AND e.merged_into IS NULL AND EXISTS (
            SELECT 1 FROM memory_entityalias a
            JOIN memory_entitymention m ON m.namespace_id = a.namespace_id AND m.alias = a.id AND m.active
            WHERE a.namespace_id = e.namespace_id AND a.entity = e.id)
        LIMIT %(most)s
    ) counted
) c
WHERE %(everywhere)s::bool OR n.id = ANY(%(namespaces)s::bigint[])
ORDER BY n.name LIMIT %(limit)s
"""
# Mentions are counted by name in an index, which takes 110 ms for 900,000 of them.
MOST_MENTIONED = """
WITH counted AS MATERIALIZED (
    SELECT alias, count(*) AS mentions FROM memory_entitymention
    WHERE namespace_id = %(namespace_id)s AND active GROUP BY alias
), ranked AS (
    SELECT a.entity, sum(c.mentions)::bigint AS mentions FROM counted c
    JOIN memory_entityalias a ON a.namespace_id = %(namespace_id)s AND a.id = c.alias
    GROUP BY a.entity HAVING bool_or(starts_with(a.key, %(begins)s))
)
SELECT e.id, r.mentions FROM ranked r
JOIN memory_entity e ON e.namespace_id = %(namespace_id)s AND e.id = r.entity
WHERE e.merged_into IS NULL AND (%(kind)s = '' OR e.kind = %(kind)s)
    AND (%(below)s::bigint IS NULL OR (r.mentions, e.id) <= (%(below)s, %(last)s::uuid))
ORDER BY r.mentions DESC, e.id DESC LIMIT %(limit)s
"""
_MONTHS = """
SELECT date_trunc('month', m.occurred_at AT TIME ZONE 'UTC'), count(*)
FROM memory_entityalias a
JOIN memory_entitymention m ON m.namespace_id = a.namespace_id AND m.alias = a.id
WHERE a.namespace_id = %(namespace_id)s AND a.entity = %(entity)s AND m.active
GROUP BY 1 ORDER BY 1
"""


def count_by_namespace(namespaces: Collection[int] | None, *, most: int, limit: int) -> list[tuple[str, int]]:
    """Counts the entities that memories mention, up to `most` for each namespace, by its name (None: all of them)."""
    parameters = {
        "everywhere": namespaces is None,
        "namespaces": sorted(namespaces or ()),
        "most": most,
        "limit": limit,
    }
    return fetch(_COUNTS, parameters, prepared=False)


def rank_entities(
    namespace_id: int, *, kind: str, begins: str, below: int | None, last: uuid.UUID | None, limit: int
) -> list[tuple[uuid.UUID, int]]:
    """Lists entities by their number of mentions, highest first, from (`below`, `last`) on: (entity, mentions)."""
    parameters = {
        "namespace_id": namespace_id,
        "begins": begins,
        "kind": kind,
        "below": below,
        "last": last,
        "limit": limit,
    }
    return fetch(MOST_MENTIONED, parameters, prepared=False)


def count_by_month(namespace_id: int, entity: uuid.UUID) -> list[tuple[datetime, int]]:
    """Counts the mentions of an entity by the month (UTC) in which their memories happened."""
    return fetch(_MONTHS, {"namespace_id": namespace_id, "entity": entity}, prepared=False)
