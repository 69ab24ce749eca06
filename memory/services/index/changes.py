"""Deletes old rows of the record of index changes, which processes with an index in memory read."""

from __future__ import annotations

from datetime import datetime, timedelta

from memory.models import IndexChange

# A process with an index reads the changes each second, and drops an index that it could not confirm for ten. Two hours
# allow for long transactions, whose rows have the time at which they began.
KEPT = timedelta(hours=2)


def forget_all() -> None:
    """Deletes the whole record; only allowed if no process holds an index of this database."""
    IndexChange.objects.across_namespaces().delete()


def forget(*, now: datetime) -> int:
    """Deletes the rows that all processes have taken in long ago; returns their number."""
    deleted, _ = IndexChange.objects.across_namespaces().filter(created_at__lt=now - KEPT).delete()
    return deleted
