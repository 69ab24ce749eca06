"""How likely a hit is what its question looks for: a calibrated number, where the score of a hit only ranks.

The score is made of shares of the best, so the best of nothing looks like the best of something. Relevance is made of
what is absolute: how near the nearest memory is, whether it stands out from the other candidates by more than the
nearest of many always does, and how much of what is rare in the question one memory holds. A logistic model (Platt
1999, "Probabilistic Outputs for Support Vector Machines") joins them. What it was learned from and how well it is
calibrated: docs/relevance.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from memory.retrieval.arms import WordHits
from memory.retrieval.arms.bm25 import K1, idf
from memory.retrieval.question import Question

# Printed by bench/relevance.py, which learns them, of the six sets of docs/relevance.md that are no test.
INTERCEPT = -7.64
NEAR = 17.68
WORDS = 2.77
STANDING = -0.59
# A hit is believed for what the best hits show, less so much of what it lacks of that itself. All of it would be best
# calibrated for the single hit, and lose evidence that is found by its neighbours.
OWN = 0.3
# What the model cannot read says nothing: then the nearest memory counts as near as those of the judged questions were.
USUAL_COSINE = 0.45
# Keeps a handful of equally near candidates from standing out by a hair.
LEAST_SPREAD = 0.03


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the candidates of a question say of whether it is answered at all.

    `nearest`: the best cosine (−1..1); `standing`: by how many standard deviations it exceeds the candidates' mean;
    `bm25`: the best BM25 score; `rarest`: the idf of a term that no memory holds; `familiarity` (0..1): how far the
    cosines can be trusted.
    """

    nearest: float
    standing: float
    bm25: float
    rarest: float
    familiarity: float

    def relevance(self, *, cosine: float, bm25: float) -> float:
        """The probability (0..1) that a hit with this cosine and BM25 score is what the question looks for."""
        near, words, standing = self.features(cosine=cosine, bm25=bm25)
        return 1 / (1 + math.exp(-(INTERCEPT + NEAR * near + WORDS * words + STANDING * standing)))

    def features(self, *, cosine: float, bm25: float) -> tuple[float, float, float]:
        """What the model weighs of a hit: nearness (about −1..1), words (≥ 0), and how the best stands out."""
        near = (1 - OWN) * self.nearest + OWN * cosine
        near = self.familiarity * near + (1 - self.familiarity) * USUAL_COSINE
        words = (1 - OWN) * self.words(self.bm25) + OWN * self.words(bm25)
        return near, words, self.standing

    def words(self, bm25: float) -> float:
        """How many words that no other memory holds would give that BM25 score, as log(1 + n)."""
        return math.log1p(max(bm25, 0.0) / ((K1 + 1) * self.rarest))


# Where nothing was searched.
NO_EVIDENCE = Evidence(nearest=0.0, standing=0.0, bm25=0.0, rarest=1.0, familiarity=1.0)


def evidence_of(question: Question, cosines: np.ndarray, bm25: np.ndarray, by_words: WordHits) -> Evidence:
    """The evidence of all candidates' `cosines` and `bm25` scores [candidates]; `by_words` counted the memories."""
    nearest = float(cosines.max(initial=0.0))
    spread = float(cosines.std()) if len(cosines) else 0.0
    mean = float(cosines.mean()) if len(cosines) else 0.0
    return Evidence(
        nearest=nearest,
        standing=(nearest - mean) / (spread + LEAST_SPREAD),
        bm25=float(bm25.max(initial=0.0)),
        rarest=idf(holding=0, memories=by_words.memories),
        familiarity=question.familiarity,
    )
