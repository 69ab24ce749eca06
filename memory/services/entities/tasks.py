"""Background jobs that read names and relations."""

from __future__ import annotations

from datetime import datetime

from memory.services.entities import extract
from memory.services.jobs.registry import slice_seconds

__all__ = ["forget_unmentioned_entities", "index_entities"]


def index_entities(*, now: datetime) -> int:
    """Read names and relations in new and changed memories."""
    return extract.index_pending(now=now, seconds=slice_seconds())


def forget_unmentioned_entities(*, now: datetime) -> int:
    """Delete the names that no memory mentions any more."""
    return extract.forget_unmentioned_everywhere()
