"""Puts memories into topics of their sessions, batch by batch; takes topics apart that grow too large, joins those that
say the same."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from django.db import connection, transaction

from memory.models import TopicMember
from memory.retrieval.topics import LARGEST, SessionTopics, split
from memory.services.tree import store
from memory.services.tree.growing import GrowingTree
from memory.services.tree.store import IN_TREE

# Topics that one transaction joins to others.
MOST_JOINED = 10
# A topic that has come to so many memories without falling apart is left as it is.
MOST_SPLIT = 3_072

# Memories that belong into the tree and are not there.
_WAITING = f"""
FROM memory_memory m
WHERE m.namespace_id = %(namespace_id)s {{those}} AND {IN_TREE}
  AND NOT EXISTS (SELECT FROM memory_topicmember t WHERE t.namespace_id = m.namespace_id AND t.memory_id = m.id)
  AND EXISTS (SELECT FROM memory_memoryvector v
              WHERE v.namespace_id = m.namespace_id AND v.model_id = %(model_id)s AND v.memory_id = m.id)
  AND NOT EXISTS (SELECT FROM memory_erasedmemory e WHERE e.namespace_id = m.namespace_id AND e.memory_id = m.id)
"""  # noqa: S608 - put together of constants
# Waits for nobody: whoever changes or erases a memory has its row locked, and may wait for the tree.
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
"""  # noqa: S608 - put together of constants
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


def list_sessions(tree: GrowingTree) -> list[str]:
    """The sessions with memories that wait to be placed, those that began first in front."""
    waiting = _WAITING.format(those=tree.narrow("m.id"))
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT m.session {waiting} GROUP BY m.session ORDER BY min(m.occurred_at), m.session",
            tree.parameters(),
        )
        return [session for (session,) in cursor.fetchall()]


def place_next(tree: GrowingTree, session: str) -> int | None:
    """Puts the next memories of the session into its topics; returns how many, None when none is left."""
    with transaction.atomic(), connection.cursor() as cursor:
        tree.lock()
        cursor.execute(_NEXT.format(those=tree.narrow("m.id")), tree.parameters(session=session))
        rows = cursor.fetchall()
        if not rows:
            return None
        known = _read_vectors(tree, {row[0] for row in rows} | {row[2] for row in rows if row[2] is not None})
        rows = [row for row in rows if row[0] in known]
        if not rows:
            return 0
        vectors = np.stack([known[row[0]] for row in rows])
        nothing = np.zeros(vectors.shape[1])
        before = np.stack([known.get(row[2], nothing) for row in rows])
        parent = store.find_session_node(tree.scope.namespace_id, session, now=tree.now)
        cursor.execute(_TOPICS, tree.parameters(parent=parent))
        topics = cursor.fetchall()
        ids = [row[0] for row in topics]
        means = _unpack([row[2] for row in topics], vectors.shape[1])
        grouped = SessionTopics(means, np.array([row[1] for row in topics], dtype=np.int64))
        former = grouped.sizes.tolist()
        placed = grouped.place(vectors, before)
        ids += _make_topics(tree, session, parent, count=len(grouped.sizes) - len(ids))
        store.put_members(
            tree.scope.namespace_id,
            {row[0]: (ids[topic], bytes(row[1])) for row, topic in zip(rows, placed, strict=True)},
        )
        touched = set(placed)
        outgrown = [topic for topic in sorted(touched) if _has_outgrown(grouped, former, topic)]
        touched |= _join_same(tree, grouped, touched, ids)
        changed = {ids[topic] for topic in touched}
        for topic in outgrown:
            changed.update(_split_topic(tree, session, parent, ids[topic]))
        tree.measure(changed)
        return len(rows)


def _has_outgrown(grouped: SessionTopics, former: Sequence[int], topic: int) -> bool:
    """Whether the topic has become larger than LARGEST, or twice that, and so on up to MOST_SPLIT, by this batch: one
    that does not fall apart is not tried again and again."""
    before, size = former[topic] if topic < len(former) else 0, int(grouped.sizes[topic])
    if size > MOST_SPLIT:
        return False
    return ((size - 1) // LARGEST).bit_length() > (max(before - 1, 0) // LARGEST).bit_length()


def _make_topics(tree: GrowingTree, session: str, parent: uuid.UUID, *, count: int) -> list[uuid.UUID]:
    return [store.make_topic(tree.scope.namespace_id, session, parent=parent, now=tree.now) for _ in range(count)]


def _join_same(
    tree: GrowingTree, grouped: SessionTopics, touched: Collection[int], ids: Sequence[uuid.UUID]
) -> set[int]:
    """Joins topics of the batch to others that say the same, MOST_JOINED at most; returns to which."""
    joined: set[int] = set()
    for topic in sorted(touched, key=lambda one: (int(grouped.sizes[one]), one)):
        if len(joined) == MOST_JOINED:
            break
        other = grouped.find_same(topic)
        if other is not None:
            grouped.join(topic, other)
            store.move_all(tree.scope.namespace_id, ids[topic], topic=ids[other])
            joined.add(other)
    return joined


def _split_topic(tree: GrowingTree, session: str, parent: uuid.UUID, topic: uuid.UUID) -> list[uuid.UUID]:
    """Takes a large topic apart where it falls into parts; returns the topics that are new."""
    namespace_id = tree.scope.namespace_id
    rows = TopicMember.objects.in_scope(tree.scope).filter(topic=topic).order_by("memory_id")
    vectors = _read_vectors(tree, set(rows.values_list("memory_id", flat=True)))
    members = sorted(vectors)
    if len(members) <= LARGEST:
        return []
    parts = split(np.stack([vectors[member] for member in members]))
    # The largest stays the topic that it was.
    parts.sort(key=len, reverse=True)
    made = _make_topics(tree, session, parent, count=len(parts) - 1)
    for part, new in zip(parts[1:], made, strict=True):
        store.move_members(namespace_id, [members[row] for row in part], topic=new)
    return made


def _read_vectors(tree: GrowingTree, memory_ids: Collection[uuid.UUID]) -> dict[uuid.UUID, np.ndarray]:
    """The direction of each memory's vectors, float32 [dimensions] of length 1; without those that have none."""
    with connection.cursor() as cursor:
        cursor.execute(_VECTORS, tree.parameters(ids=list(memory_ids)))
        rows = cursor.fetchall()
    found = {row[0]: _unpack([row[1]], 0)[0] for row in rows}
    # Of length 1 but for how coarse stored numbers are.
    return {memory_id: vector / max(float(np.linalg.norm(vector)), 1e-6) for memory_id, vector in found.items()}


def _unpack(packed: Sequence[Any], dimensions: int) -> np.ndarray:
    """float32 [rows, dimensions] of vectors as `halfvec_send` writes them: two 16-bit numbers, then the values."""
    if not packed:
        return np.zeros((0, dimensions), np.float32)
    values = np.stack([np.frombuffer(bytes(one), dtype=">f2", offset=4) for one in packed])
    return values.astype(np.float32)


def has_waiting(tree: GrowingTree) -> bool:
    """Whether memories wait to be placed, of those that the run looks at."""
    waiting = _WAITING.format(those=tree.narrow("m.id"))
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT EXISTS (SELECT {waiting})", tree.parameters())
        [waits] = cursor.fetchone()
    return bool(waits)
