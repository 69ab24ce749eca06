"""Compares the growth of the overview's totals in a span of time with the span before it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any

from memory.models import Memory, QuarantinedItem
from memory.models.keys import first_id_of
from memory.models.sql import count_each
from memory.services.monitoring.stats import RECENT_SECONDS
from memory.stores import figures
from memory.types import Access

COUNTED_AT_MOST = 10_000


@dataclass(frozen=True, slots=True)
class Came:
    """The numbers of rows added (and not deleted since) in a span and in the one before it, each up to
    COUNTED_AT_MOST."""

    now: int
    before: int


@dataclass(frozen=True, slots=True)
class Movement:
    """All counts of one span."""

    memories: Came
    quarantined: Came


def recent(access: Access, *, length: timedelta, now: datetime) -> Movement:
    """Return the growth of all totals in the last `length`, at most RECENT_SECONDS old."""

    def count() -> dict[str, Any]:
        since = now - length
        return asdict(
            Movement(
                memories(access, since=since, until=now),
                count_quarantined(access, since=since, until=now),
            )
        )

    kept = figures.count_cached(access, f"movement:{length.total_seconds():.0f}", count, seconds=RECENT_SECONDS)
    return Movement(Came(**kept["memories"]), Came(**kept["quarantined"]))


def memories(access: Access, *, since: datetime, until: datetime) -> Came:
    """Count new memories. Ids begin with the time, so the primary key finds them."""
    return _came(Memory.objects.reachable_by(access), since, until)


def count_quarantined(access: Access, *, since: datetime, until: datetime) -> Came:
    """Count quarantined items, whatever the decision about them; their rows are kept as long as the policy says."""
    return _came(QuarantinedItem.objects.reachable_by(access), since, until)


def _came(rows: Any, since: datetime, until: datetime) -> Came:
    begins = (since, since - (until - since))
    spans = (rows.filter(pk__gte=first_id_of(begin), pk__lt=first_id_of(begin + (until - since))) for begin in begins)
    return Came(*count_each(*spans, most=COUNTED_AT_MOST))
