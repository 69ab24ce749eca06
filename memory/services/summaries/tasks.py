"""Background jobs that make and renew summaries."""

from __future__ import annotations

from datetime import datetime

from memory.services.jobs.registry import scope_of
from memory.services.summaries import condense, refresh, stale

__all__ = ["condense_session", "renew_summary", "request_missing_summaries"]

request_missing_summaries = refresh.request_overdue


def condense_session(namespace_id: int, session: str, *, now: datetime) -> int:
    """Bring one session's summary up to date; return how many versions that made."""
    return len(condense.condense_session(scope_of(namespace_id), session=session, now=now))


def renew_summary(namespace_id: int, session: str, *, now: datetime) -> bool:
    """Make a session's summary again after a part of it no longer holds; return whether that changed it."""
    return stale.renew(scope_of(namespace_id), session=session, now=now) is not None
