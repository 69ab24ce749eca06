"""Background jobs that read preferences in turns."""

from __future__ import annotations

from datetime import datetime

from memory.services.jobs.registry import scope_of
from memory.services.preferences import due, read, store

__all__ = ["read_preferences", "request_preferences"]

request_preferences = due.request_preferences


def read_preferences(namespace_id: int, session: str, *, now: datetime) -> int:
    """Read preferences in a session's new turns; return how many were stored."""
    return read.read_session(scope_of(namespace_id, store.ACTOR), session=session, now=now).stored
