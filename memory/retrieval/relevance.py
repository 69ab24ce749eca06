"""How likely a hit is what its question looks for: a calibrated number, where the score of a hit only ranks.

The score is made of shares of the best, so the best of nothing looks like the best of something. Relevance is made of
what is absolute: how near the nearest memory is, how far it leads the other candidates, which the nearest of many
always does, how much of what is rare in the question one memory holds, of how much there is, and among how many
memories that was the best. A logistic model (Platt 1999, "Probabilistic Outputs for Support Vector Machines") joins
them. What it was learned from and how well it is calibrated: docs/relevance.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from memory.retrieval.arms import WordHits
from memory.retrieval.arms.bm25 import K1, idf, term_idf
from memory.retrieval.question import Question

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
# What the model cannot read says nothing: then the nearest memory counts as near as those of the judged questions were.
USUAL_COSINE = 0.45


@dataclass(frozen=True, slots=True)
class AnswerEvidence:
    """What the candidates of a question say of whether it is answered at all.

    `nearest` and `mean`: the best cosine of the candidates and their mean (−1..1); `bm25`: the best BM25 score;
    `asked`: the sum of the idf of the question's terms; `rarest`: the idf of a term that no memory holds; `memories`:
    how many the namespace has; `familiarity` (0..1): how far the cosines can be trusted.
    """

    nearest: float
    mean: float
    bm25: float
    asked: float
    rarest: float
    memories: float
    familiarity: float

    def relevance(self, *, cosine: float, bm25: float) -> float:
        """The probability (0..1) that a hit with this cosine and BM25 score is what the question looks for."""
        return self.relevance_of([(cosine, bm25)])[0]

    def relevance_of(self, hits: Sequence[tuple[float, float]]) -> list[float]:
        """The `relevance` of each of several hits, given by cosine and BM25 score."""
        _, _, *of_all = self.features(cosine=0.0, bm25=0.0)
        shared = [weight * value for weight, value in zip(WEIGHTS[2:], of_all, strict=True)]
        nearness, words = WEIGHTS[:2]
        found = []
        for cosine, bm25 in hits:
            weighed = sum([nearness * self.nearness(cosine), words * self.words_of(bm25), *shared])
            found.append(1 / (1 + math.exp(-(INTERCEPT + weighed))))
        return found

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


# Where nothing was searched.
NO_EVIDENCE = AnswerEvidence(nearest=0.0, mean=0.0, bm25=0.0, asked=0.0, rarest=1.0, memories=0.0, familiarity=1.0)


def evidence_of(question: Question, cosines: np.ndarray, bm25: np.ndarray, by_words: WordHits) -> AnswerEvidence:
    """The evidence of all candidates' `cosines` and `bm25` scores [candidates]; `by_words` counted the memories."""
    memories, holding = by_words.memories, by_words.holding
    return AnswerEvidence(
        nearest=float(cosines.max(initial=0.0)),
        mean=float(cosines.mean()) if len(cosines) else 0.0,
        bm25=float(bm25.max(initial=0.0)),
        asked=sum(term_idf(term, holding=holding.get(term, 0), memories=memories) for term in question.terms),
        rarest=idf(holding=0, memories=memories),
        memories=memories,
        familiarity=question.familiarity,
    )
