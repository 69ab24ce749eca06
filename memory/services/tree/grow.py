"""Keeps a tree in step with its memories: what came is placed, what left or changed is taken out, batch by batch.

Only what has changed since the last run is looked at, in the record that the index keeps of changes; a tree that is
new, or was not looked at for long, is compared with all memories. Whatever ends a run, the next one goes on: how far
the tree has come is written down when nothing is left.
"""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
from django.conf import settings
from django.db import connection, transaction

from memory import audit
from memory.enums import AuditEvent, EmbeddingState, TreeUse
from memory.errors import Conflict
from memory.models import EmbeddingModel, TopicMember, TopicTree
from memory.models.keys import new_id
from memory.models.locks import Lock, lock_in_transaction
from memory.models.sql import fetch
from memory.retrieval.columns.load import Snapshot, read_changes
from memory.retrieval.topics import LARGEST, SessionTopics, split
from memory.services.jobs import queue, runner
from memory.services.tree import store
from memory.services.tree.due import FOLLOWED, use_of
from memory.services.tree.store import IN_TREE
from memory.services.tree.words import choose_words
from memory.types import Scope

log = logging.getLogger("memos.tree")

# Memories that one transaction places or takes out.
BATCH = 200
# Topics that one transaction joins to others.
MOST_JOINED = 10
# With more changes than this all memories are compared.
MOST_CHANGES = 20_000


class _TreeGone(Exception):
    """The tree was cleared, or is begun anew by somebody else."""


@dataclass(frozen=True, slots=True)
class _Tree:
    """The tree that a run works at, and the memories that it looks at: `changed`, or all of them (None)."""

    scope: Scope
    model_id: int
    version: uuid.UUID
    changed: list[uuid.UUID] | None
    seen: Snapshot
    now: datetime


def grow(scope: Scope, *, now: datetime, seconds: float | None = None) -> int:
    """Has the tree follow its memories; returns how many were placed. Deletes a tree that the policy does not want.

    Ends after about `seconds` (half of a job's time) and is queued again for the rest.
    """
    limit = settings.MEMOS_JOB_TIMEOUT_SECONDS / 2 if seconds is None else seconds
    deadline = time.monotonic() + limit
    if use_of(scope.namespace_id) == TreeUse.OFF:
        _clear(scope)
        return 0
    tree = _begin(scope, now=now)
    if tree is None:
        return 0
    placed = 0
    try:
        taken_out = _take_out(tree)
        for session in _list_sessions(tree):
            while (done := _place(tree, session)) is not None:
                placed += done
                if runner.give_way() or time.monotonic() > deadline:
                    queue.enqueue(queue.GROW_TREE, scope.namespace_id)
                    return placed
                if not done:
                    break
        while choose_words(scope, version=tree.version, now=now):
            if runner.give_way() or time.monotonic() > deadline:
                queue.enqueue(queue.GROW_TREE, scope.namespace_id)
                return placed
        _end(tree)
    except _TreeGone:
        log.info("the tree is begun anew", extra={"namespace": scope.namespace})
        return placed
    log.info("tree", extra={"namespace": scope.namespace, "placed": placed, "taken_out": taken_out})
    return placed


def grow_whole(scope: Scope, *, now: datetime) -> int:
    """As `grow`, for a namespace that nobody else reads or writes, without an end to its time."""
    return grow(scope, now=now, seconds=float("inf")) if use_of(scope.namespace_id) != TreeUse.OFF else 0


def rebuild(scope: Scope, *, now: datetime) -> str:
    """Deletes the tree and has it made anew in the background; returns the job's id.

    Raises Conflict where the policy keeps none.
    """
    if use_of(scope.namespace_id) == TreeUse.OFF:
        raise Conflict(
            f"The policy of {scope.namespace!r} keeps no tree: set `tree` to `browse` or `rank` first, by "
            "PUT /v1/policy.",
            detail={"field": "namespace"},
        )
    with transaction.atomic():
        lock_in_transaction(Lock.TREE, scope.namespace_id)
        store.clear(scope.namespace_id)
        audit.record(scope, AuditEvent.TREE_REBUILD, now=now)
        return queue.enqueue(queue.GROW_TREE, scope.namespace_id)


def _clear(scope: Scope) -> None:
    with transaction.atomic():
        lock_in_transaction(Lock.TREE, scope.namespace_id)
        store.clear(scope.namespace_id)


def _begin(scope: Scope, *, now: datetime) -> _Tree | None:
    """The tree to work at, which is begun anew where there is none of the active model; None without a model."""
    model = EmbeddingModel.objects.filter(state=EmbeddingState.ACTIVE).first()
    if model is None:
        return None
    with transaction.atomic():
        lock_in_transaction(Lock.TREE, scope.namespace_id)
        row = TopicTree.objects.in_scope(scope).first()
        if row is None or row.model_id != model.pk:
            store.clear(scope.namespace_id)
            row = TopicTree.objects.create(
                namespace_id=scope.namespace_id, model_id=model.pk, version=new_id(), looked_at=now
            )
    # After the lock, so that it is not older than what the run before has placed.
    if row.seen and row.looked_at > now - FOLLOWED:
        changes = read_changes(scope.namespace_id, Snapshot(row.seen))
        if len(changes.memory_ids) <= MOST_CHANGES:
            changed = [uuid.UUID(one) for one in changes.memory_ids]
            return _Tree(scope, model.pk, row.version, changed, changes.seen, now)
    [(snapshot,)] = fetch("SELECT pg_current_snapshot()::text", {}, prepared=False)
    return _Tree(scope, model.pk, row.version, None, Snapshot(snapshot), now)


def _lock(tree: _Tree) -> None:
    """Locks the tree in the caller's transaction. Raises _TreeGone."""
    lock_in_transaction(Lock.TREE, tree.scope.namespace_id)
    if not TopicTree.objects.in_scope(tree.scope).filter(version=tree.version).exists():
        raise _TreeGone


def _parameters(tree: _Tree, **more: Any) -> dict[str, Any]:
    return {
        "namespace_id": tree.scope.namespace_id,
        "model_id": tree.model_id,
        "changed": tree.changed,
        "now": tree.now,
        "limit": BATCH,
        **more,
    }


# Members that are not what they were placed as; topics that have lost members with their memories; whether any have.
_LEFT = f"""
SELECT t.memory_id, t.topic FROM memory_topicmember t
JOIN memory_memory m ON m.namespace_id = t.namespace_id AND m.id = t.memory_id
WHERE t.namespace_id = %(namespace_id)s {{those}}
  AND (({IN_TREE}) IS NOT TRUE OR m.content_hash <> t.content_hash)
LIMIT %(limit)s
"""  # noqa: S608 - put together of constants
_SHRUNK = """
SELECT n.id FROM memory_topicnode n
LEFT JOIN (
    SELECT topic, count(*) AS members FROM memory_topicmember WHERE namespace_id = %(namespace_id)s GROUP BY topic
) t ON t.topic = n.id
WHERE n.namespace_id = %(namespace_id)s AND n.level = 'topic'
  AND (n.size <> coalesce(t.members, 0) OR n.centroid IS NULL)
LIMIT %(limit)s
"""
_GONE = """
SELECT EXISTS (
    SELECT FROM unnest(%(changed)s::uuid[]) AS c (id)
    WHERE NOT EXISTS (SELECT FROM memory_memory m WHERE m.namespace_id = %(namespace_id)s AND m.id = c.id))
"""


def _take_out(tree: _Tree) -> int:
    """Takes out the members that left or say something else by now; returns how many."""
    those = "" if tree.changed is None else "AND t.memory_id = ANY(%(changed)s::uuid[])"
    total = 0
    while True:
        with transaction.atomic(), connection.cursor() as cursor:
            _lock(tree)
            cursor.execute(_LEFT.format(those=those), _parameters(tree))
            rows = cursor.fetchall()
            if not rows:
                break
            TopicMember.objects.in_scope(tree.scope).filter(memory_id__in=[row[0] for row in rows]).delete()
            _measure(tree, {row[1] for row in rows})
            total += len(rows)
    if tree.changed is not None and not _has_lost(tree):
        return total
    # What was deleted has taken its membership along.
    while True:
        with transaction.atomic(), connection.cursor() as cursor:
            _lock(tree)
            cursor.execute(_SHRUNK, _parameters(tree))
            topics = [topic for (topic,) in cursor.fetchall()]
            if not topics:
                return total
            _measure(tree, topics)


def _has_lost(tree: _Tree) -> bool:
    """Whether memories that have changed are not there any more."""
    with connection.cursor() as cursor:
        cursor.execute(_GONE, _parameters(tree))
        [gone] = cursor.fetchone()
    return bool(gone)


def _measure(tree: _Tree, topics: Collection[uuid.UUID]) -> None:
    store.measure(tree.scope.namespace_id, model_id=tree.model_id, topics=sorted(topics), now=tree.now)


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


def _those(tree: _Tree) -> str:
    return "" if tree.changed is None else "AND m.id = ANY(%(changed)s::uuid[])"


def _list_sessions(tree: _Tree) -> list[str]:
    """The sessions with memories that wait to be placed, those that began first in front."""
    waiting = _WAITING.format(those=_those(tree))
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT m.session {waiting} GROUP BY m.session ORDER BY min(m.occurred_at), m.session",
            _parameters(tree),
        )
        return [session for (session,) in cursor.fetchall()]


def _place(tree: _Tree, session: str) -> int | None:
    """Puts the next memories of the session into its topics; returns how many, None when none is left."""
    with transaction.atomic(), connection.cursor() as cursor:
        _lock(tree)
        cursor.execute(_NEXT.format(those=_those(tree)), _parameters(tree, session=session))
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
        cursor.execute(_TOPICS, _parameters(tree, parent=parent))
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
            changed.update(_split(tree, session, parent, ids[topic]))
        _measure(tree, changed)
        return len(rows)


def _has_outgrown(grouped: SessionTopics, former: Sequence[int], topic: int) -> bool:
    """Whether the topic has become larger than LARGEST, or twice that, and so on, by this batch: one that does not
    fall apart is not tried again and again."""
    before = former[topic] if topic < len(former) else 0
    return (int(grouped.sizes[topic] - 1) // LARGEST).bit_length() > (max(before - 1, 0) // LARGEST).bit_length()


def _make_topics(tree: _Tree, session: str, parent: uuid.UUID, *, count: int) -> list[uuid.UUID]:
    return [store.make_topic(tree.scope.namespace_id, session, parent=parent, now=tree.now) for _ in range(count)]


def _join_same(tree: _Tree, grouped: SessionTopics, touched: Collection[int], ids: Sequence[uuid.UUID]) -> set[int]:
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


def _split(tree: _Tree, session: str, parent: uuid.UUID, topic: uuid.UUID) -> list[uuid.UUID]:
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


def _read_vectors(tree: _Tree, memory_ids: Collection[uuid.UUID]) -> dict[uuid.UUID, np.ndarray]:
    """The direction of each memory's vectors, float32 [dimensions] of length 1; without those that have none."""
    with connection.cursor() as cursor:
        cursor.execute(_VECTORS, _parameters(tree, ids=list(memory_ids)))
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


def _end(tree: _Tree) -> None:
    """Writes down how far the tree has come, unless memories were left out that somebody was changing."""
    waiting = _WAITING.format(those=_those(tree))
    with transaction.atomic(), connection.cursor() as cursor:
        _lock(tree)
        cursor.execute(f"SELECT EXISTS (SELECT {waiting})", _parameters(tree))
        [left] = cursor.fetchone()
        if not left:
            TopicTree.objects.in_scope(tree.scope).update(seen=tree.seen.text, looked_at=tree.now)
