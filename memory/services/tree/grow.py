"""Keeps a tree in step with its memories: new memories are placed, removed or changed ones are taken out, by batches.

Only changes since the last run are read, from the record of changes that the index keeps; a tree that is new, or was
not followed for long, is compared with all memories. Whatever ends a run, the next one continues: the position reached
is recorded when nothing is left.
"""

from __future__ import annotations

import logging
import time
import uuid
from datetime import datetime

from django.db import transaction

from memory import audit
from memory.enums import AuditEvent, EmbeddingState, TreeUse
from memory.errors import Conflict
from memory.models import EmbeddingModel, TopicMember, TopicTree
from memory.models.keys import new_id
from memory.models.locks import Lock, lock_in_transaction
from memory.models.sql import fetch
from memory.retrieval.columns.load import Snapshot, read_changes
from memory.services.jobs import queue
from memory.services.jobs.registry import slice_seconds
from memory.services.tree import place, store
from memory.services.tree.due import FOLLOWED, use_of
from memory.services.tree.growing import GrowingTree, TreeGone
from memory.services.tree.words import choose_words
from memory.types import Scope

log = logging.getLogger("memos.tree")

# More changes than this make a run compare all memories.
MOST_CHANGES = 20_000


def grow(scope: Scope, *, now: datetime, seconds: float | None = None) -> int:
    """Have the tree follow its memories; return how many were placed. Deletes a tree that the policy does not want.

    Ends after about `seconds` (half of a job's time) and is queued again for the rest.
    """
    limit = slice_seconds() if seconds is None else seconds
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
        for session in tree.reader.list_sessions():
            while (done := place.place_next(tree, session)) is not None:
                placed += done
                if time.monotonic() > deadline:
                    queue.enqueue(queue.GROW_TREE, scope.namespace_id)
                    return placed
                if not done:
                    break
        while choose_words(scope, version=tree.version, now=now):
            if time.monotonic() > deadline:
                queue.enqueue(queue.GROW_TREE, scope.namespace_id)
                return placed
        _end(tree)
    except TreeGone:
        log.info("the tree is begun anew", extra={"namespace": scope.namespace})
        return placed
    log.info("tree", extra={"namespace": scope.namespace, "placed": placed, "taken_out": taken_out})
    return placed


def grow_whole(scope: Scope, *, now: datetime) -> int:
    """Grow the tree without a time limit, for a namespace that no other process reads or writes. See `grow`."""
    return grow(scope, now=now, seconds=float("inf")) if use_of(scope.namespace_id) != TreeUse.OFF else 0


def rebuild(scope: Scope, *, now: datetime) -> str:
    """Delete the tree and have it built again in the background; return the job's id.

    Raises Conflict if the policy keeps no tree.
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


def _begin(scope: Scope, *, now: datetime) -> GrowingTree | None:
    """Return the tree to grow, starting a new one if there is none for the active model; None without a model."""
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
    # Read it after the lock, so that it is not older than what the last run has placed.
    if row.seen and row.looked_at > now - FOLLOWED:
        changes = read_changes(scope.namespace_id, Snapshot(row.seen))
        if len(changes.memory_ids) <= MOST_CHANGES:
            changed = [uuid.UUID(one) for one in changes.memory_ids]
            return GrowingTree(scope, model.pk, row.version, changed, changes.seen, now)
    [(snapshot,)] = fetch("SELECT pg_current_snapshot()::text", {}, prepared=False)
    return GrowingTree(scope, model.pk, row.version, None, Snapshot(snapshot), now)


def _take_out(tree: GrowingTree) -> int:
    """Remove members that are gone or say something else now; return how many."""
    total = 0
    while True:
        with transaction.atomic():
            tree.lock()
            rows = tree.reader.list_left()
            TopicMember.objects.in_scope(tree.scope).filter(memory_id__in=[row[0] for row in rows]).delete()
            tree.measure({row[1] for row in rows})
        if not rows:
            break
        total += len(rows)
    if tree.changed is None or tree.reader.has_lost():
        _follow_lost(tree)
    return total


def _follow_lost(tree: GrowingTree) -> None:
    """Recompute the topics whose members were deleted, which deleted their membership too."""
    after = uuid.UUID(int=0)
    while True:
        with transaction.atomic():
            tree.lock()
            topics = tree.reader.list_shrunk(after)
            tree.measure(topics)
        if not topics:
            return
        after = topics[-1]


def _end(tree: GrowingTree) -> None:
    """Record the position reached, unless memories were left out because they were being changed."""
    with transaction.atomic():
        tree.lock()
        if not tree.reader.has_waiting():
            TopicTree.objects.in_scope(tree.scope).update(seen=tree.seen.text, looked_at=tree.now)
