"""The tree that a run of the worker grows: locked, asked and measured anew, step by step."""

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

# Memories that one transaction places or takes out.
BATCH = 200


class TreeGone(Exception):
    """The tree was cleared, or is begun anew by somebody else."""


@dataclass(frozen=True, slots=True)
class GrowingTree:
    """The tree that a run works at, and the memories that it looks at: `changed`, or all of them (None).

    `seen`: the snapshot up to which the run takes changes in.
    """

    scope: Scope
    model_id: int
    version: uuid.UUID
    changed: list[uuid.UUID] | None
    seen: Snapshot
    now: datetime

    def lock(self) -> None:
        """Locks the tree in the caller's transaction. Raises TreeGone."""
        lock_in_transaction(Lock.TREE, self.scope.namespace_id)
        if not TopicTree.objects.in_scope(self.scope).filter(version=self.version).exists():
            raise TreeGone

    @property
    def reader(self) -> TreeReader:
        """Reads for this run, BATCH memories at a time."""
        return TreeReader(self.scope.namespace_id, self.model_id, self.changed, self.now, BATCH)

    def measure(self, topics: Collection[uuid.UUID]) -> None:
        """Sizes and means of the topics are those of their members now (`store.measure`)."""
        store.measure(self.scope.namespace_id, model_id=self.model_id, topics=sorted(topics), now=self.now)
