"""The tree that a run of the worker grows: locked, asked and measured anew, step by step."""

from __future__ import annotations

import uuid
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from memory.models import TopicTree
from memory.models.locks import Lock, lock_in_transaction
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

    def parameters(self, **more: Any) -> dict[str, Any]:
        """What the statements of a run are given, and `more`."""
        return {
            "namespace_id": self.scope.namespace_id,
            "model_id": self.model_id,
            "changed": self.changed,
            "now": self.now,
            "limit": BATCH,
            **more,
        }

    def narrow(self, column: str) -> str:
        """The condition that a memory, whose id is in `column`, is one of those that the run looks at."""
        return "" if self.changed is None else f"AND {column} = ANY(%(changed)s::uuid[])"

    def measure(self, topics: Collection[uuid.UUID]) -> None:
        """Sizes and means of the topics are those of their members now (`store.measure`)."""
        store.measure(self.scope.namespace_id, model_id=self.model_id, topics=sorted(topics), now=self.now)
