"""Counts the tokens that context packs saved, by one definition for the API, the metrics and the console.

Without memory an agent carries the whole history of its session, and its knowledge from elsewhere. A pack saves the
difference between that and its text. A pack that is longer, such as that of a session of two turns with its headings,
saves nothing.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime, timedelta

from memory.enums import ModelPurpose
from memory.models.keys import first_id_of
from memory.models.sql import fetch
from memory.providers.chat.registry import find_chat_model
from memory.services.usage.prices import Cost, cost_of
from memory.stores import figures
from memory.types import Access

# The totals cover this many days, today included.
SAVED_DAYS = 30
# Pages that refresh themselves may show a total of this age.
RECENT_SECONDS = 15

_SAVED = """
SELECT (created_at AT TIME ZONE 'UTC')::date, count(*), sum(token_original), sum(least(token_condensed, token_original))
FROM memory_contextpack
WHERE id >= %(first)s AND created_at >= %(since)s
  AND (%(everywhere)s::bool OR namespace_id = ANY(%(namespaces)s::bigint[]))
GROUP BY 1
"""


@dataclass(frozen=True, slots=True)
class HandedOver:
    """The packs of some days: their number, the tokens of the histories they replace, and of their own texts, capped at
    the former."""

    packs: int = 0
    original: int = 0
    handed_over: int = 0

    @property
    def saved(self) -> int:
        return self.original - self.handed_over

    @property
    def ratio(self) -> float:
        """Return handed over / history, 0 to 1: smaller is better; 0 without packs."""
        return round(self.handed_over / self.original, 4) if self.original else 0.0

    def __add__(self, other: HandedOver) -> HandedOver:
        return HandedOver(
            self.packs + other.packs, self.original + other.original, self.handed_over + other.handed_over
        )


def count_handed_over_by_day(access: Access, *, since: datetime) -> dict[date, HandedOver]:
    """Sum by UTC day, over the packs that are kept (retention.packs_days); days without packs are absent."""
    parameters = {
        "since": since,
        # Ids begin with the time: the index is read from here on.
        "first": first_id_of(since),
        "everywhere": access.all_namespaces,
        "namespaces": sorted(access.namespace_ids),
    }
    rows = fetch(_SAVED, parameters, prepared=False)
    return {day: HandedOver(int(packs), int(original), int(short)) for day, packs, original, short in rows}


def count_saved(access: Access, *, now: datetime) -> HandedOver:
    """Return the total of the last SAVED_DAYS (UTC)."""
    since = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=SAVED_DAYS - 1)
    return sum(count_handed_over_by_day(access, since=since).values(), HandedOver())


def recent_saved(access: Access, *, now: datetime) -> HandedOver:
    """Return that total, at most RECENT_SECONDS old."""
    return HandedOver(
        **figures.count_cached(access, "saved", lambda: asdict(count_saved(access, now=now)), seconds=RECENT_SECONDS)
    )


def worth(tokens: int) -> tuple[Cost, str] | None:
    """Return the cost of this many prompt tokens, and the model that would have read them, which is the one that
    answers.

    Returns None if no model is configured, or its price is unknown.
    """
    model = find_chat_model(ModelPurpose.ANSWER)
    if model is None or tokens <= 0:
        return None
    cost = cost_of(model.provider, model.name, prompt=tokens, cached=0, completion=0)
    return (cost, f"{model.provider}/{model.name}") if cost else None
