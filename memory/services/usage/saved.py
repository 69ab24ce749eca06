"""What context packs saved: the tokens of what they stand for against the tokens that were handed over."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime

from memory.enums import ModelPurpose
from memory.models.keys import first_id_of
from memory.models.sql import fetch
from memory.providers.chat.registry import find_chat_model
from memory.services.usage.prices import Cost, cost_of
from memory.types import Access

_SAVED = """
SELECT (created_at AT TIME ZONE 'UTC')::date, count(*), sum(token_original), sum(token_condensed)
FROM memory_contextpack
WHERE id >= %(first)s AND created_at >= %(since)s
  AND (%(everywhere)s::bool OR namespace_id = ANY(%(namespaces)s::bigint[]))
GROUP BY 1
"""


@dataclass(frozen=True, slots=True)
class HandedOver:
    """The packs of a day: tokens of the turns, hits and summaries they stand for, and of their own texts."""

    packs: int = 0
    original: int = 0
    handed_over: int = 0

    @property
    def saved(self) -> int:
        """May be less than nothing: a pack has headings, too."""
        return self.original - self.handed_over

    def __add__(self, other: HandedOver) -> HandedOver:
        return HandedOver(
            self.packs + other.packs, self.original + other.original, self.handed_over + other.handed_over
        )


def count_handed_over_by_day(access: Access, *, since: datetime) -> dict[date, HandedOver]:
    """By UTC day, of the packs that are kept (retention.packs_days); days without one are absent."""
    parameters = {
        "since": since,
        # Ids begin with the time: the index is read from there on.
        "first": first_id_of(since),
        "everywhere": access.all_namespaces,
        "namespaces": sorted(access.namespace_ids),
    }
    rows = fetch(_SAVED, parameters, prepared=False)
    return {day: HandedOver(int(packs), int(original), int(short)) for day, packs, original, short in rows}


def worth(tokens: int) -> tuple[Cost, str] | None:
    """What so many prompt tokens would have cost, and the model that would have read them: the one that answers.

    None where no model is set up, or its price is not known.
    """
    model = find_chat_model(ModelPurpose.ANSWER)
    if model is None or tokens <= 0:
        return None
    cost = cost_of(model.provider, model.name, prompt=tokens, cached=0, completion=0)
    return (cost, f"{model.provider}/{model.name}") if cost else None
