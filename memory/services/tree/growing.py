"""Gives a run of the worker access to the tree that it grows: locks it, reads it and recomputes its topics."""

from __future__ import annotations

import uuid
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from memory.models import TopicTree
from memory.models.locks import Lock, lock_in_transaction
from memory.models.queries.tree import TreeReader
from memory.retrieval.columns.load import Snapshot
from memory.services.tree import store
from memory.types import Scope

# The number of memories that one transaction places or takes out.
BATCH = 200


class TreeGone(Exception):
    """The tree was deleted, or another process has started a new one."""


@dataclass(frozen=True, slots=True)
class GrowingTree:
    """The tree that a run works on, and the memories that it reads: `changed`, or all of them (None).

    `seen`: the snapshot up to which the run follows changes.
    """

    scope: Scope
    model_id: int
    version: uuid.UUID
    changed: list[uuid.UUID] | None
    seen: Snapshot
    now: datetime

    def lock(self) -> None:
        """Lock the tree in the caller's transaction. Raises TreeGone."""
        lock_in_transaction(Lock.TREE, self.scope.namespace_id)
        if not TopicTree.objects.in_scope(self.scope).filter(version=self.version).exists():
            raise TreeGone

    @property
    def reader(self) -> TreeReader:
        """Return the reader of this run, which reads BATCH memories at a time."""
        return TreeReader(self.scope.namespace_id, self.model_id, self.changed, self.now, BATCH)

    def measure(self, topics: Collection[uuid.UUID]) -> None:
        """Recompute the sizes and means of the topics from their present members (`store.measure`)."""
        store.measure(self.scope.namespace_id, model_id=self.model_id, topics=sorted(topics), now=self.now)
