"""The record of what changed in the index, for processes that hold it in memory."""

from __future__ import annotations

from datetime import datetime, timedelta

from memory.models import IndexChange

# Whoever holds an index looks each second, and forgets what it could not confirm for ten. The rest is for transactions
# that take long, whose rows bear the time at which they began.
KEPT = timedelta(hours=2)


def forget_all() -> None:
    """Deletes the whole record: no process holds an index of this database."""
    IndexChange.objects.across_namespaces().delete()


def forget(*, now: datetime) -> int:
    """Deletes what every process has long taken in; returns how many rows."""
    deleted, _ = IndexChange.objects.across_namespaces().filter(created_at__lt=now - KEPT).delete()
    return deleted
