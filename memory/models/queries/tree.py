"""SQL of the tree: memories that belong in it, its topics, and what an erasure removes from it."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import connection

from memory.enums import EmbeddingState, JobState, MemoryState, Review
from memory.models.arrays import uuid_array
from memory.models.sql import change_rows, fetch, read_rows

# Memories `m` in the tree are active and hold. They also have a vector under the tree's model.
IN_TREE = """
m.state = 'active' AND m.superseded_by IS NULL AND (m.valid_to IS NULL OR m.valid_to > %(now)s)
"""

# Selects the memories that belong in the tree and are not there yet.
_WAITING = f"""
FROM memory_memory m
WHERE m.namespace_id = %(namespace_id)s {{those}} AND {IN_TREE}
  AND NOT EXISTS (SELECT FROM memory_topicmember t WHERE t.namespace_id = m.namespace_id AND t.memory_id = m.id)
  AND EXISTS (SELECT FROM memory_memoryvector v
              WHERE v.namespace_id = m.namespace_id AND v.model_id = %(model_id)s AND v.memory_id = m.id)
  AND NOT EXISTS (SELECT FROM memory_erasedmemory e WHERE e.namespace_id = m.namespace_id AND e.memory_id = m.id)
"""
# Locked rows are skipped, because code that changes or erases a memory holds its row and may wait for the tree.
_NEXT = f"""
WITH next AS MATERIALIZED (
    SELECT m.id, m.occurred_at, m.turn, m.content_hash {_WAITING} AND m.session = %(session)s
    ORDER BY m.occurred_at, m.turn, m.id LIMIT %(limit)s FOR KEY SHARE OF m SKIP LOCKED
)
SELECT n.id, n.content_hash, b.id FROM next n
LEFT JOIN LATERAL (
    SELECT p.id FROM memory_memory p
    WHERE p.namespace_id = %(namespace_id)s AND p.session = %(session)s
      AND (p.occurred_at, p.turn) < (n.occurred_at, n.turn) AND p.state = 'active'
    ORDER BY p.occurred_at DESC, p.turn DESC LIMIT 1
) b ON true
ORDER BY n.occurred_at, n.turn, n.id
"""
_VECTORS = """
SELECT memory_id, halfvec_send(l2_normalize(avg(embedding))) FROM memory_memoryvector
WHERE namespace_id = %(namespace_id)s AND model_id = %(model_id)s AND memory_id = ANY(%(ids)s::uuid[])
GROUP BY memory_id
"""
_TOPICS = """
SELECT id, size, halfvec_send(centroid) FROM memory_topicnode
WHERE namespace_id = %(namespace_id)s AND parent = %(parent)s AND centroid IS NOT NULL
ORDER BY id
"""
# _LEFT finds members that have changed since they were placed or no longer belong in the tree; _SHRUNK finds topics
# that lost members with their memories; _GONE tells whether changed memories were deleted.
_LEFT = f"""
SELECT t.memory_id, t.topic FROM memory_topicmember t
JOIN memory_memory m ON m.namespace_id = t.namespace_id AND m.id = t.memory_id
WHERE t.namespace_id = %(namespace_id)s {{those}}
  AND (({IN_TREE}) IS NOT TRUE OR m.content_hash <> t.content_hash OR NOT EXISTS (
      SELECT FROM memory_memoryvector v
      WHERE v.namespace_id = m.namespace_id AND v.model_id = %(model_id)s AND v.memory_id = m.id))
LIMIT %(limit)s
"""
_SHRUNK = """
SELECT n.id FROM memory_topicnode n
LEFT JOIN (
    SELECT topic, count(*) AS members FROM memory_topicmember WHERE namespace_id = %(namespace_id)s GROUP BY topic
) t ON t.topic = n.id
WHERE n.namespace_id = %(namespace_id)s AND n.level = 'topic' AND n.id > %(after)s
  AND (n.size <> coalesce(t.members, 0) OR n.centroid IS NULL)
ORDER BY n.id LIMIT %(limit)s
"""
_GONE = """
SELECT EXISTS (
    SELECT FROM unnest(%(changed)s::uuid[]) AS c (id)
    WHERE NOT EXISTS (SELECT FROM memory_memory m WHERE m.namespace_id = %(namespace_id)s AND m.id = c.id))
"""


@dataclass(frozen=True, slots=True)
class TreeReader:
    """Reads the rows for a run that grows a tree: those of the memories in `changed`, or of all (None)."""

    namespace_id: int
    model_id: int
    changed: list[uuid.UUID] | None
    now: datetime
    limit: int

    def list_sessions(self) -> list[str]:
        """Lists the sessions with memories to place, by the time of the first of them."""
        rows = self._read(
            f"SELECT m.session {self._waiting()} GROUP BY m.session ORDER BY min(m.occurred_at), m.session"
        )
        return [session for (session,) in rows]

    def has_waiting(self) -> bool:
        """Tells whether memories wait to be placed."""
        [(waits,)] = self._read(f"SELECT EXISTS (SELECT {self._waiting()})")
        return bool(waits)

    def lock_next(self, session: str) -> list[tuple[uuid.UUID, bytes, uuid.UUID | None]]:
        """Locks the next memories to place: (id, content hash, id of the memory before it in the session)."""
        return self._read(_NEXT.format(those=self._narrow("m.id")), session=session)

    def read_vectors(self, memory_ids: Collection[uuid.UUID]) -> list[tuple[uuid.UUID, bytes]]:
        """Reads the mean direction of each memory's vectors, as `halfvec_send` writes it."""
        return self._read(_VECTORS, ids=list(memory_ids))

    def read_topics(self, parent: uuid.UUID) -> list[tuple[uuid.UUID, int, bytes]]:
        """Reads the topics of a session's node: (id, size, centroid as `halfvec_send` writes it)."""
        return self._read(_TOPICS, parent=parent)

    def list_left(self) -> list[tuple[uuid.UUID, uuid.UUID]]:
        """Lists members that no longer belong in the tree or whose text has changed: (memory, topic)."""
        return self._read(_LEFT.format(those=self._narrow("t.memory_id")))

    def list_shrunk(self, after: uuid.UUID) -> list[uuid.UUID]:
        """Lists topics after `after` that lost members because their memories were deleted, by id."""
        return [topic for (topic,) in self._read(_SHRUNK, after=after)]

    def has_lost(self) -> bool:
        """Tells whether one of the changed memories was deleted."""
        [(gone,)] = self._read(_GONE)
        return bool(gone)

    def _waiting(self) -> str:
        return _WAITING.format(those=self._narrow("m.id"))

    def _narrow(self, column: str) -> str:
        return "" if self.changed is None else f"AND {column} = ANY(%(changed)s::uuid[])"

    def _read(self, statement: str, **more: Any) -> list[Any]:
        parameters = {
            "namespace_id": self.namespace_id,
            "model_id": self.model_id,
            "changed": self.changed,
            "now": self.now,
            "limit": self.limit,
            **more,
        }
        return read_rows(statement, parameters)


_TEXTS = f"""
SELECT m.id, m.text, m.retired_spans, 1 - (v.mean <=> n.centroid)
FROM memory_topicnode n
JOIN memory_topicmember t ON t.namespace_id = n.namespace_id AND t.topic = n.id
JOIN memory_memory m ON m.namespace_id = t.namespace_id AND m.id = t.memory_id AND m.content_hash = t.content_hash
CROSS JOIN LATERAL (
    SELECT avg(e.embedding) AS mean FROM memory_memoryvector e
    WHERE e.namespace_id = m.namespace_id AND e.model_id = %(model_id)s AND e.memory_id = m.id
) v
WHERE n.namespace_id = %(namespace_id)s AND n.id = %(node)s AND {IN_TREE} AND m.review <> %(suspected)s
ORDER BY 4 DESC NULLS LAST, m.id LIMIT %(limit)s
"""


def read_texts(
    namespace_id: int, node: uuid.UUID, *, model_id: int, now: datetime, limit: int
) -> list[tuple[uuid.UUID, str, list[int], float | None]]:
    """Reads the memories nearest to the mean of a topic: (id, text, retired spans, cosine)."""
    parameters = {
        "namespace_id": namespace_id,
        "node": node,
        "model_id": model_id,
        "now": now,
        "suspected": Review.SUSPECTED.value,
        "limit": limit,
    }
    return read_rows(_TEXTS, parameters)


_DIRECTION = "SELECT l2_normalize(avg(v.embedding)) AS mean FROM memory_memoryvector v"
# These set the sizes and means of topics from their current members, and delete topics without members and sessions
# without topics.
_MEASURE = f"""
UPDATE memory_topicnode n SET size = g.size, centroid = g.centroid, stale = true, updated_at = %(now)s
FROM (
    SELECT t.topic, count(*) AS size, avg(d.mean) AS centroid
    FROM memory_topicmember t
    LEFT JOIN LATERAL (
        {_DIRECTION}
        WHERE v.namespace_id = t.namespace_id AND v.model_id = %(model_id)s AND v.memory_id = t.memory_id
    ) d ON true
    WHERE t.namespace_id = %(namespace_id)s AND t.topic = ANY(%(topics)s::uuid[]) GROUP BY t.topic
) g
WHERE n.namespace_id = %(namespace_id)s AND n.id = g.topic
"""
_DELETE_EMPTY = """
DELETE FROM memory_topicnode n
WHERE n.namespace_id = %(namespace_id)s AND n.id = ANY(%(topics)s::uuid[]) AND n.level = 'topic'
  AND NOT EXISTS (SELECT FROM memory_topicmember t WHERE t.namespace_id = n.namespace_id AND t.topic = n.id)
"""
_DELETE_CHILDLESS = """
DELETE FROM memory_topicnode n
WHERE n.namespace_id = %(namespace_id)s AND n.id = ANY(%(sessions)s::uuid[])
  AND NOT EXISTS (SELECT FROM memory_topicnode c WHERE c.namespace_id = n.namespace_id AND c.parent = n.id)
"""
_MEASURE_SESSIONS = """
UPDATE memory_topicnode n SET size = g.size, stale = true, updated_at = %(now)s
FROM (
    SELECT c.parent, sum(c.size) AS size FROM memory_topicnode c
    WHERE c.namespace_id = %(namespace_id)s AND c.parent = ANY(%(sessions)s::uuid[]) GROUP BY c.parent
) g
WHERE n.namespace_id = %(namespace_id)s AND n.id = g.parent
"""


def measure(
    namespace_id: int, *, model_id: int, topics: Sequence[uuid.UUID], sessions: Sequence[uuid.UUID], now: datetime
) -> None:
    """Updates the sizes and means of topics and the sizes of their sessions, and deletes those without members."""
    parameters: dict[str, Any] = {
        "namespace_id": namespace_id,
        "model_id": model_id,
        "topics": list(topics),
        "sessions": list(sessions),
        "now": now,
    }
    with connection.cursor() as cursor:
        for statement in (_MEASURE, _DELETE_EMPTY, _DELETE_CHILDLESS, _MEASURE_SESSIONS):
            cursor.execute(statement, parameters)


_FIRST_TOPICS = """
SELECT n.id, p.id, row_number() OVER (PARTITION BY p.id ORDER BY n.id) FROM unnest(%(parents)s::uuid[]) AS p (id)
CROSS JOIN LATERAL (
    SELECT c.id FROM memory_topicnode c
    WHERE c.namespace_id = %(namespace_id)s AND c.parent = p.id ORDER BY c.id LIMIT %(most)s
) n
"""
# Reads a place only if its memory is still in the tree with the text for which the place was chosen.
_TOLD = f"""
SELECT p.node, p.kind, p.memory_id, p.start, p."end", substr(m.text, p.start + 1, p."end" - p.start), m.retired_spans
FROM unnest(%(nodes)s::uuid[], %(kinds)s::text[], %(ids)s::uuid[], %(starts)s::int[], %(ends)s::int[])
    WITH ORDINALITY AS p (node, kind, memory_id, start, "end", number)
JOIN memory_topicmember t ON t.namespace_id = %(namespace_id)s AND t.memory_id = p.memory_id
JOIN memory_memory m ON m.namespace_id = t.namespace_id AND m.id = t.memory_id AND m.content_hash = t.content_hash
WHERE {IN_TREE} AND m.review <> %(suspected)s
ORDER BY p.number
"""
_MEMBERS = f"""
FROM memory_topicnode n
JOIN memory_topicmember t ON t.namespace_id = n.namespace_id AND t.topic = n.id
JOIN memory_memory m ON m.namespace_id = t.namespace_id AND m.id = t.memory_id
WHERE n.namespace_id = %(namespace_id)s AND {IN_TREE}
"""
# Counts memories below topics and sessions, and topics of a session that have any.
_COUNTS = f"""
SELECT n.id, count(*), 0 {_MEMBERS} AND n.id = ANY(%(topics)s::uuid[]) GROUP BY n.id
UNION ALL
SELECT n.parent, count(*), count(DISTINCT n.id) {_MEMBERS} AND n.parent = ANY(%(sessions)s::uuid[]) GROUP BY n.parent
"""


def list_first_topics(
    namespace_id: int, sessions: Sequence[uuid.UUID], *, most: int
) -> list[tuple[uuid.UUID, uuid.UUID, int]]:
    """Lists the first `most` topics of each session's node: (topic, node of the session, position)."""
    parameters = {"namespace_id": namespace_id, "parents": uuid_array(map(str, sessions)), "most": most}
    return fetch(_FIRST_TOPICS, parameters, prepared=False)


def count_members(
    namespace_id: int, *, topics: Sequence[uuid.UUID], sessions: Sequence[uuid.UUID], now: datetime
) -> list[tuple[uuid.UUID, int, int]]:
    """Counts the memories below each node, and the topics that have any: (node, memories, topics)."""
    parameters = {
        "namespace_id": namespace_id,
        "topics": uuid_array(map(str, topics)),
        "sessions": uuid_array(map(str, sessions)),
        "now": now,
    }
    return fetch(_COUNTS, parameters, prepared=False)


def read_places(namespace_id: int, places: Sequence[tuple[Any, ...]], *, now: datetime) -> list[tuple[Any, ...]]:
    """Reads the words at places, given as (node, kind, memory, start, end), of memories that are still in the tree.

    Returns (node, kind, memory, start, end, words, retired spans).
    """
    columns: list[list[Any]] = [list(column) for column in zip(*places, strict=True)]
    parameters = dict(zip(("nodes", "kinds", "ids", "starts", "ends"), columns, strict=True)) | {
        "namespace_id": namespace_id,
        "now": now,
        "suspected": Review.SUSPECTED.value,
    }
    return fetch(_TOLD, parameters, prepared=False)


_WANTED = "(n.id = ANY(%(wanting)s::bigint[]) OR %(by_default)s AND n.id <> ALL(%(own)s::bigint[]))"
_CHANGED = """
EXISTS (SELECT FROM memory_indexchange c
        WHERE c.namespace_id = t.namespace_id AND c.transaction >= split_part(t.seen, ':', 1)::bigint
          AND NOT pg_visible_in_snapshot(c.transaction::text::xid8, t.seen::pg_snapshot))
"""
_STALE = "EXISTS (SELECT FROM memory_topicnode s WHERE s.namespace_id = t.namespace_id AND s.stale)"
_HELD_BACK = """
EXISTS (SELECT FROM memory_job j
        WHERE j.namespace_id = n.id AND j.kind = %(kind)s AND j.state = %(failed)s AND j.finished_at > %(pause)s)
"""
# Finds trees that are wanted and have changes to take in, and trees that are no longer wanted.
_DUE = f"""
SELECT n.id FROM memory_namespace n
LEFT JOIN memory_topictree t ON t.namespace_id = n.id
WHERE NOT {_HELD_BACK} AND CASE
    WHEN NOT {_WANTED} THEN t.namespace_id IS NOT NULL
    WHEN t.namespace_id IS NULL THEN EXISTS (
        SELECT FROM memory_memory m WHERE m.namespace_id = n.id AND m.state = %(active)s AND m.embedded)
    WHEN t.seen = '' OR t.looked_at < %(followed)s THEN true
    WHEN t.model_id IS DISTINCT FROM (SELECT e.id FROM memory_embeddingmodel e WHERE e.state = %(model)s) THEN true
    ELSE {_CHANGED} OR {_STALE}
END
ORDER BY t.looked_at NULLS FIRST, n.id LIMIT %(at_once)s
"""
# Marks the trees without changes as looked at.
_LOOKED = f"""
UPDATE memory_topictree t SET looked_at = %(now)s
WHERE t.looked_at BETWEEN %(followed)s AND %(look_before)s AND CASE WHEN t.seen = '' THEN false ELSE NOT {_CHANGED} END
"""


def list_due(
    *,
    own: Collection[int],
    wanting: Collection[int],
    by_default: bool,
    job_kind: str,
    paused_since: datetime,
    followed_since: datetime,
    look_before: datetime,
    limit: int,
    now: datetime,
) -> list[int]:
    """Lists the namespaces whose tree has changes to take in or must go, and marks the other trees as looked at.

    `own`: the namespaces that override the policy; `wanting`: those of them whose policy has a tree; `by_default`:
    whether the others have one. Namespaces whose job failed since `paused_since` are left out.
    """
    parameters: dict[str, Any] = {
        "own": sorted(own),
        "wanting": sorted(wanting),
        "by_default": by_default,
        "kind": job_kind,
        "failed": JobState.FAILED.value,
        "pause": paused_since,
        "active": MemoryState.ACTIVE.value,
        "model": EmbeddingState.ACTIVE.value,
        "followed": followed_since,
        "look_before": look_before,
        "at_once": limit,
        "now": now,
    }
    with connection.cursor() as cursor:
        cursor.execute(_LOOKED, parameters)
        cursor.execute(_DUE, parameters)
        return [namespace_id for (namespace_id,) in cursor.fetchall()]


# Selects the nodes of some sessions; the words of a node are in memories of its session.
_OF_SESSIONS = """
n.namespace_id = %(namespace_id)s AND n.id IN (
    SELECT s.id FROM memory_topicnode s
    WHERE s.namespace_id = %(namespace_id)s AND s.level = 'session' AND s.session IN ({sessions})
    UNION ALL
    SELECT c.id FROM memory_topicnode s
    JOIN memory_topicnode c ON c.namespace_id = s.namespace_id AND c.parent = s.id
    WHERE s.namespace_id = %(namespace_id)s AND s.level = 'session' AND s.session IN ({sessions}))
"""
_SESSIONS_OF_THESE = """
SELECT m.session FROM memory_memory m
WHERE m.namespace_id = %(namespace_id)s AND m.id = ANY(%(memory_ids)s::uuid[])
"""
_SESSIONS_OF_ERASURE = """
SELECT e.session FROM memory_erasedsession e
WHERE e.namespace_id = %(namespace_id)s AND e.erasure_id = %(erasure_id)s
"""
_IS_ONE_OF_THESE = "(place.told ->> 0)::uuid = ANY(%(memory_ids)s::uuid[])"
# This is a value and not EXISTS, so that PostgreSQL looks up each place and does not join all erased memories.
_IS_ERASED = """
coalesce((SELECT true FROM memory_erasedmemory e
          WHERE e.namespace_id = %(namespace_id)s AND e.erasure_id = %(erasure_id)s
            AND e.memory_id = (place.told ->> 0)::uuid LIMIT 1), false)
"""
_NAMES = """
EXISTS (SELECT FROM jsonb_array_elements(n.label_places || n.summary_places) AS place (told) WHERE {gone})
"""
_COUNT_NODES = f"""
SELECT count(*) FROM memory_topicnode n
WHERE {_OF_SESSIONS.format(sessions=_SESSIONS_OF_ERASURE)} AND {_NAMES.format(gone=_IS_ERASED)}
"""
_CLEAR_MEMBERS = """
DELETE FROM memory_topicmember t WHERE t.namespace_id = %(namespace_id)s AND t.memory_id = ANY(%(memory_ids)s::uuid[])
RETURNING t.topic
"""
_KEPT = """
coalesce((SELECT jsonb_agg(place.told ORDER BY place.number)
          FROM jsonb_array_elements(n.{places}) WITH ORDINALITY AS place (told, number)
          WHERE NOT ({gone})), '[]'::jsonb)
"""
_STRIP = """
UPDATE memory_topicnode n SET label_places = {label}, summary_places = {summary}, stale = true
WHERE {those} AND {names}
"""


def _strip(sessions: str, gone: str) -> str:
    kept = {kind: _KEPT.format(places=f"{kind}_places", gone=gone) for kind in ("label", "summary")}
    return _STRIP.format(**kept, those=_OF_SESSIONS.format(sessions=sessions), names=_NAMES.format(gone=gone))


_STRIP_THESE = _strip(_SESSIONS_OF_THESE, _IS_ONE_OF_THESE)
_STRIP_ERASED = _strip(_SESSIONS_OF_ERASURE, _IS_ERASED)


def clear_members(namespace_id: int, memory_ids: Sequence[uuid.UUID]) -> list[uuid.UUID]:
    """Removes memories from their topics; returns the topic of each."""
    rows = read_rows(_CLEAR_MEMBERS, {"namespace_id": namespace_id, "memory_ids": list(memory_ids)})
    return [topic for (topic,) in rows]


def clear_places(namespace_id: int, memory_ids: Sequence[uuid.UUID]) -> int:
    """Removes the places that refer to the memories from nodes; returns the number of nodes changed."""
    return change_rows(_STRIP_THESE, {"namespace_id": namespace_id, "memory_ids": list(memory_ids)})


def count_erased_places(namespace_id: int, erasure_id: uuid.UUID) -> int:
    """Counts the nodes with places in memories that the erasure names."""
    [(count,)] = read_rows(_COUNT_NODES, {"namespace_id": namespace_id, "erasure_id": erasure_id})
    return int(count)


def sweep_erased_places(namespace_id: int, erasure_id: uuid.UUID) -> int:
    """Removes such places from nodes; returns the number of nodes changed."""
    return change_rows(_STRIP_ERASED, {"namespace_id": namespace_id, "erasure_id": erasure_id})
