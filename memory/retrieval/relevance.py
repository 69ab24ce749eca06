"""How likely the question is answered, and how likely each hit is evidence: calibrated numbers, where a score ranks.

The score is made of shares of the best, so the best of nothing looks like the best of something. These two are made of
what is absolute. Answerability: how near the nearest memory is, how far it leads the other candidates, which the
nearest of many always does, how much of what is rare in the question one memory holds, of how much there is, and among
how many memories that was the best. The relevance of a hit: the same, how near the hit itself is and what it holds, its
place, how far its score is behind the first, and how far that is ahead. Logistic models (Platt 1999, "Probabilistic
Outputs for Support Vector Machines") join them. What they were learned from and how well they are calibrated:
docs/relevance.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from operator import mul
from typing import Any, NamedTuple

from memory.retrieval.arms import WordHits
from memory.retrieval.arms.bm25 import K1, idf, term_idf
from memory.retrieval.question import Question
from memory.retrieval.signals import Candidates

# Printed by bench/relevance.py, which learns them, of the sets of docs/relevance.md that are no test and of the half of
# the small namespaces that is there to learn from.
INTERCEPT = -3.71
# Nearness, words, words asked for, lead, size: see Evidence.features.
WEIGHTS = (24.4, 3.79, -0.88, -3.35, -0.81)
# A hit is believed for what the best hits show, less so much of what it lacks of that itself. All of it would be best
# calibrated for the single hit, and lose evidence that is found by its neighbours.
OWN = 0.3
# More memories than the sets have count as so many: what the nearest of more is worth was not learned.
MOST_MEMORIES = 400
# A single candidate is ahead of nothing by its whole score, which counts as so much.
MOST_AHEAD = 1.0
HIT_INTERCEPT = -0.24
# Of all candidates: nearness, words, words asked for, size, how far the first is ahead (`shared_features`); of the hit:
# nearness, words, place, score behind the first (`own_features`).
HIT_WEIGHTS = (2.29, 0.63, -0.24, -0.66, 0.34, 1.52, 1.58, -0.36, -2.89)
# How near the name of a speaker is to what that speaker says, whatever it is.
NAME_COSINE = 0.4
# What the model cannot read says nothing: then the nearest memory counts as near as those of the judged questions were.
USUAL_COSINE = 0.45


class HitEvidence(NamedTuple):
    """What a hit shows by itself: its cosine (−1..1), BM25 score (≥ 0), whether the question names its speaker, and the
    score that it is ranked by."""

    cosine: float
    bm25: float
    is_named: bool
    score: float


@dataclass(frozen=True, slots=True)
class AnswerEvidence:
    """What the candidates of a question say of whether it is answered at all.

    `nearest` and `mean`: the best cosine of the candidates and their mean (−1..1); `bm25`: the best BM25 score;
    `asked`: the sum of the idf of the question's terms; `rarest`: the idf of a term that no memory holds; `memories`:
    how many the namespace has; `familiarity` (0..1): how far the cosines can be trusted; `ahead`: by how much the best
    score exceeds the second (≥ 0); `kept` (0..1): how much of the question's vector is not the names of speakers.
    Cosines are as if the names were in the question, and every line of those named the same for it.
    """

    nearest: float
    mean: float
    bm25: float
    asked: float
    rarest: float
    memories: float
    familiarity: float
    ahead: float
    kept: float = 1.0

    def answerability(self, hits: Sequence[HitEvidence]) -> float:
        """The probability (0..1) that one of these hits answers the question; 0 without a hit."""
        return max(self._answering(hits), default=0.0)

    def relevance_of(self, hits: Sequence[HitEvidence], *, is_calibrated: bool) -> list[float]:
        """The probability (0..1) that each of the hits, best first, is evidence for what is asked; it never rises.

        It depends on a hit and those before it, not on how many come after. Where the model is not the one that it was
        learned of (`is_calibrated`), it is what the hit says of the answerability.
        """
        if not hits:
            return []
        if is_calibrated:
            shared = self.shared_features()
            of_all = HIT_INTERCEPT + sum(map(mul, HIT_WEIGHTS, shared))
            weights = HIT_WEIGHTS[len(shared) :]
            chances = [
                _logistic(of_all + sum(map(mul, weights, self.own_features(place, hit, hits[0]))))
                for place, hit in enumerate(hits, start=1)
            ]
        else:
            chances = self._answering(hits)
        return list(accumulate(chances, min))

    def shared_features(self) -> tuple[float, ...]:
        """What the first of HIT_WEIGHTS weigh: what all candidates show, alike for each hit."""
        near = self.familiarity * self.nearest + (1 - self.familiarity) * USUAL_COSINE
        asked, size = math.log1p(self.asked / self.rarest), math.log1p(min(self.memories, MOST_MEMORIES))
        return near, self.words(self.bm25), asked, size, min(self.ahead, MOST_AHEAD)

    def own_features(self, place: int, hit: HitEvidence, first: HitEvidence) -> tuple[float, ...]:
        """What the rest of HIT_WEIGHTS weigh of the hit at that place (from 1), of which `first` is the first."""
        own = self.familiarity * self._with_name(hit) + (1 - self.familiarity) * USUAL_COSINE
        return own, self.words(hit.bm25), math.log(place), max(0.0, first.score - hit.score)

    def _with_name(self, hit: HitEvidence) -> float:
        return float(with_names(hit.cosine, hit.is_named, kept=self.kept))

    def _answering(self, hits: Sequence[HitEvidence]) -> list[float]:
        """How likely each hit shows that the question is answered."""
        _, _, *of_all = self.features(cosine=0.0, bm25=0.0)
        shared = INTERCEPT + sum(map(mul, WEIGHTS[2:], of_all))
        nearness, words = WEIGHTS[:2]
        return [
            _logistic(shared + nearness * self.nearness(self._with_name(hit)) + words * self.words_of(hit.bm25))
            for hit in hits
        ]

    def features(self, *, cosine: float, bm25: float) -> tuple[float, float, float, float, float]:
        """What WEIGHTS weigh of a hit: nearness (about −1..1), words (≥ 0), how many words were asked for (≥ 0), how
        far the nearest leads the mean of the candidates (0..2), and the size of the namespace, as log(1 + memories)."""
        asked = math.log1p(self.asked / self.rarest)
        lead = self.familiarity * (self.nearest - self.mean)
        size = math.log1p(min(self.memories, MOST_MEMORIES))
        return self.nearness(cosine), self.words_of(bm25), asked, lead, size

    def nearness(self, cosine: float) -> float:
        """How near a hit with that cosine is, in the light of the nearest (about −1..1)."""
        near = (1 - OWN) * self.nearest + OWN * cosine
        return self.familiarity * near + (1 - self.familiarity) * USUAL_COSINE

    def words_of(self, bm25: float) -> float:
        """How much the words of a hit with that BM25 score say, in the light of the best (≥ 0)."""
        return (1 - OWN) * self.words(self.bm25) + OWN * self.words(bm25)

    def words(self, bm25: float) -> float:
        """How many words that no other memory holds would give that BM25 score, as log(1 + n)."""
        return math.log1p(max(bm25, 0.0) / ((K1 + 1) * self.rarest))


def with_names(cosine: Any, is_named: Any, *, kept: float) -> Any:
    """What the cosine of a memory, or of several, would be if the question still had the names of speakers in it."""
    return kept * cosine + math.sqrt(1 - kept**2) * NAME_COSINE * is_named


def _logistic(value: float) -> float:
    return 1 / (1 + math.exp(-value))


# Where nothing was searched.
NO_EVIDENCE = AnswerEvidence(
    nearest=0.0, mean=0.0, bm25=0.0, asked=0.0, rarest=1.0, memories=0.0, familiarity=1.0, ahead=0.0
)


def evidence_of(question: Question, candidates: Candidates, by_words: WordHits, *, ahead: float) -> AnswerEvidence:
    """The evidence of all candidates; `by_words` counted the memories, `ahead` is that of their ranking."""
    kept = question.kept
    cosines, bm25 = with_names(candidates.cosine, candidates.named, kept=kept), candidates.bm25
    memories, holding = by_words.memories, by_words.holding
    return AnswerEvidence(
        nearest=float(cosines.max(initial=0.0)),
        mean=float(cosines.mean()) if len(cosines) else 0.0,
        bm25=float(bm25.max(initial=0.0)),
        asked=sum(term_idf(term, holding=holding.get(term, 0), memories=memories) for term in question.terms),
        rarest=idf(holding=0, memories=memories),
        memories=memories,
        familiarity=question.familiarity,
        ahead=ahead,
        kept=kept,
    )
