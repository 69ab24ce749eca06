"""Background jobs that grow trees."""

from __future__ import annotations

from datetime import datetime

from memory.services.jobs.registry import scope_of
from memory.services.tree import due, grow

__all__ = ["grow_tree", "request_trees"]

request_trees = due.request_trees


def grow_tree(namespace_id: int, *, now: datetime) -> int:
    """Have the tree of a namespace follow its memories; return how many were placed."""
    return grow.grow(scope_of(namespace_id), now=now)
