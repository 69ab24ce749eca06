"""Background jobs that read facts in turns."""

from __future__ import annotations

from datetime import datetime

from memory.services.facts import due, extract
from memory.services.jobs.registry import scope_of

__all__ = ["extract_facts", "request_facts"]

request_facts = due.request_facts


def extract_facts(namespace_id: int, session: str, *, now: datetime) -> int:
    """Have a language model read facts in a session's new turns; return how many were stored."""
    return extract.extract_session(scope_of(namespace_id), session=session, now=now).stored
