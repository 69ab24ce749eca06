"""The optional second stage: a model reads the question with each of the best candidates and shifts their ranking.

Its part is added to the fused score, so that a hit's parts still sum to what it is ranked by. A reranker that fails
costs its part and nothing else: the ranking stays the first stage's.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from django.conf import settings
from django.core.signals import setting_changed

from memory.enums import Degradation
from memory.errors import BudgetExceeded, RerankUnavailable
from memory.providers.rerank.registry import find_reranker
from memory.stores import model_calls

log = logging.getLogger("memos.rerank")

RERANK_SKIPPED = Degradation.RERANK_UNAVAILABLE.value
# After a failure the reranker is left alone this long, so that an outage costs one timeout and not one a query.
PAUSE_SECONDS = 10.0

_paused_until = 0.0


class RerankPart(NamedTuple):
    """What the reranker gave to one candidate: its own score, and the share (0 to the weight) of the ranking."""

    raw: float
    weighted: float


@dataclass(frozen=True, slots=True)
class Reranked:
    """A part for each text that was read, in their order; none when the stage is off or failed (`degraded`)."""

    parts: list[RerankPart] = field(default_factory=list)
    degraded: list[str] = field(default_factory=list)


def pool_size() -> int:
    """Returns how many of the best candidates are reranked; 0 when reranking is off."""
    return 0 if settings.MEMOS_RERANK_PROVIDER == "off" else settings.MEMOS_RERANK_CANDIDATES


def rerank(question_text: str, texts: Sequence[str]) -> Reranked:
    """The parts of the first `wanted()` of the texts: the best candidates of the first stage, best first.

    Never raises: a reranker that fails leaves no parts, and RERANK_SKIPPED in `degraded`.
    """
    global _paused_until  # noqa: PLW0603 - one breaker a process
    if not texts or not pool_size():
        return Reranked()
    if time.monotonic() < _paused_until:
        return Reranked(degraded=[RERANK_SKIPPED])
    try:
        reranker = find_reranker()
        scores = reranker.scores(question_text, texts[: pool_size()]) if reranker else []
    except BudgetExceeded as error:
        # The model is there: other namespaces and keys go on asking it.
        log.warning("reranking skipped", extra={"reason": error.message})
        return Reranked(degraded=[RERANK_SKIPPED])
    except RerankUnavailable as error:
        _paused_until = time.monotonic() + PAUSE_SECONDS
        log.warning("reranking skipped", extra={"reason": error.message})
        return Reranked(degraded=[RERANK_SKIPPED])
    if reranker:
        model_calls.note_answer(model_calls.RERANKER)
    return Reranked(parts(scores, settings.MEMOS_RERANK_WEIGHT))


def parts(scores: Sequence[float], weight: float) -> list[RerankPart]:
    """The scores stretched so that the worst candidate gets 0 and the best `weight`.

    Models differ in scale (logits, probabilities that crowd near 0): the order and the distances of one question's
    candidates are what they share. Scores that are all alike tell nothing and give 0.
    """
    low, high = min(scores, default=0.0), max(scores, default=0.0)
    spread = (high - low) or 1.0
    return [RerankPart(score, weight * ((score - low) / spread)) for score in scores]


def resume() -> None:
    """Forgets an earlier failure: the next query asks the reranker again."""
    global _paused_until  # noqa: PLW0603 - one breaker a process
    _paused_until = 0.0


def _resume_for(*, setting: str, **_: object) -> None:
    if setting.startswith("MEMOS_RERANK"):
        resume()


setting_changed.connect(_resume_for, dispatch_uid="memory.retrieval.rerank")
