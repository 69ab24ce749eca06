"""Background jobs that draw maps."""

from __future__ import annotations

from datetime import datetime

from memory.services.jobs.registry import scope_of
from memory.services.projection import fit

__all__ = ["project_memories"]


def project_memories(namespace_id: int, *, now: datetime) -> int:
    """Draw the map of one namespace; return how many memories are on it."""
    return fit.project(scope_of(namespace_id), now=now)
