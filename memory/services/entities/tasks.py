"""Background jobs that read names and relations."""

from __future__ import annotations

from datetime import datetime

from memory.services.entities import extract
from memory.services.jobs.registry import slice_seconds

__all__ = ["forget_unmentioned_entities", "index_entities"]


def index_entities(*, now: datetime) -> int:
    """Reads names and relations in the memories that came or changed."""
    return extract.index_pending(now=now, seconds=slice_seconds())


def forget_unmentioned_entities(*, now: datetime) -> int:
    """Deletes the names that no memory has any more."""
    return extract.forget_unmentioned_everywhere()
