"""Runs the optional second stage: a model reads the question with each of the best candidates and shifts their ranking.

Its part is added to the fused score, so that the parts of a hit still sum to its score. If the reranker fails, hits are
ranked by the first stage alone.
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
# The reranker is not called for this long after a failure, so that an outage does not cost a timeout for each query.
PAUSE_SECONDS = 10.0

_paused_until = 0.0


class RerankPart(NamedTuple):
    """Holds the reranker's own score of a candidate, and its share (0 to the weight) of the candidate's score."""

    raw: float
    weighted: float


@dataclass(frozen=True, slots=True)
class Reranked:
    """Holds a part for each text that was read, in order; none if the stage is off or failed (`degraded`)."""

    parts: list[RerankPart] = field(default_factory=list)
    degraded: list[str] = field(default_factory=list)


def pool_size() -> int:
    """Returns how many of the best candidates are reranked; 0 when reranking is off."""
    return 0 if settings.MEMOS_RERANK_PROVIDER == "off" else settings.MEMOS_RERANK_CANDIDATES


def rerank(question_text: str, texts: Sequence[str]) -> Reranked:
    """Returns the parts of the first `pool_size()` texts: those of the best candidates of the first stage, best first.

    If the reranker fails, it raises nothing, and returns no parts and RERANK_SKIPPED in `degraded`.
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
        # The reranker works, and other namespaces and keys still have a budget: it is not paused.
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
    """Scales the scores so that the worst candidate gets 0 and the best gets `weight`.

    The scales of models differ (logits, probabilities that crowd near 0), so only the order and the relative distances
    of one question's candidates are used. Equal scores give 0.
    """
    low, high = min(scores, default=0.0), max(scores, default=0.0)
    spread = (high - low) or 1.0
    return [RerankPart(score, weight * ((score - low) / spread)) for score in scores]


def resume() -> None:
    """Ends the pause after a failure, so that the next query calls the reranker again."""
    global _paused_until  # noqa: PLW0603 - one breaker a process
    _paused_until = 0.0


def _resume_for(*, setting: str, **_: object) -> None:
    if setting.startswith("MEMOS_RERANK"):
        resume()


setting_changed.connect(_resume_for, dispatch_uid="memory.retrieval.rerank")
