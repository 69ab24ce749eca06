"""Places memories into topics of their sessions, by batches; splits topics that grow too large, and joins topics that
say the same."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from django.db import transaction

from memory.models import TopicMember
from memory.retrieval.topics import LARGEST, SessionTopics, split
from memory.services.tree import store
from memory.services.tree.growing import GrowingTree

# The most topics that one transaction joins to others.
MOST_JOINED = 10
# A topic that has grown to this many memories without splitting is left as it is.
MOST_SPLIT = 3_072


def place_next(tree: GrowingTree, session: str) -> int | None:
    """Place the next memories of the session into its topics; return how many, None when none is left."""
    with transaction.atomic():
        tree.lock()
        rows = tree.reader.lock_next(session)
        if not rows:
            return None
        known = _read_vectors(tree, {row[0] for row in rows} | {row[2] for row in rows if row[2] is not None})
        rows = [row for row in rows if row[0] in known]
        if not rows:
            return 0
        vectors = np.stack([known[row[0]] for row in rows])
        nothing = np.zeros(vectors.shape[1])
        before = np.stack([known.get(row[2], nothing) if row[2] else nothing for row in rows])
        parent = store.find_session_node(tree.scope.namespace_id, session, now=tree.now)
        topics = tree.reader.read_topics(parent)
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
    """Return whether this batch made the topic exceed LARGEST, or twice that, and so on up to MOST_SPLIT, so that a
    topic that does not split is not tried again and again."""
    before, size = former[topic] if topic < len(former) else 0, int(grouped.sizes[topic])
    if size > MOST_SPLIT:
        return False
    return ((size - 1) // LARGEST).bit_length() > (max(before - 1, 0) // LARGEST).bit_length()


def _make_topics(tree: GrowingTree, session: str, parent: uuid.UUID, *, count: int) -> list[uuid.UUID]:
    return [store.make_topic(tree.scope.namespace_id, session, parent=parent, now=tree.now) for _ in range(count)]


def _join_same(
    tree: GrowingTree, grouped: SessionTopics, touched: Collection[int], ids: Sequence[uuid.UUID]
) -> set[int]:
    """Join topics of the batch to others that say the same, at most MOST_JOINED; return the topics joined to."""
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
    """Split a large topic if it consists of parts; return the new topics."""
    namespace_id = tree.scope.namespace_id
    rows = TopicMember.objects.in_scope(tree.scope).filter(topic=topic).order_by("memory_id")
    vectors = _read_vectors(tree, set(rows.values_list("memory_id", flat=True)))
    members = sorted(vectors)
    if len(members) <= LARGEST:
        return []
    parts = split(np.stack([vectors[member] for member in members]))
    # The largest part keeps the topic's id.
    parts.sort(key=len, reverse=True)
    made = _make_topics(tree, session, parent, count=len(parts) - 1)
    for part, new in zip(parts[1:], made, strict=True):
        store.move_members(namespace_id, [members[row] for row in part], topic=new)
    return made


def _read_vectors(tree: GrowingTree, memory_ids: Collection[uuid.UUID]) -> dict[uuid.UUID, np.ndarray]:
    """Return the direction of each memory's vectors, float32 [dimensions] of length 1; memories without vectors are
    left out."""
    found = {memory_id: _unpack([packed], 0)[0] for memory_id, packed in tree.reader.read_vectors(memory_ids)}
    # They have length 1 except for the rounding of stored numbers.
    return {memory_id: vector / max(float(np.linalg.norm(vector)), 1e-6) for memory_id, vector in found.items()}


def _unpack(packed: Sequence[Any], dimensions: int) -> np.ndarray:
    """Return float32 [rows, dimensions] from vectors as `halfvec_send` writes them: two 16-bit numbers, then the
    values."""
    if not packed:
        return np.zeros((0, dimensions), np.float32)
    values = np.stack([np.frombuffer(bytes(one), dtype=">f2", offset=4) for one in packed])
    return values.astype(np.float32)
