"""Estimates how likely the question is answered, and how likely each hit is evidence, as calibrated probabilities.

Scores only rank: they are shares of the best, so the best of nothing looks like the best of something. These estimates
use absolute features. Answerability: how near the nearest memory is; how far it leads the other candidates, as the
nearest of many always does; how much of the question's rare words one memory holds, out of how much there is; and among
how many memories it was the best. The relevance of a hit: the same, and how near the hit itself is, which words it
holds, its place, how far its score is behind the first, and how far the first is ahead. Logistic models (Platt 1999,
"Probabilistic Outputs for Support Vector Machines") join them. docs/relevance.md describes their training data,
docs/measure/what-it-gets-wrong.md their calibration.
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

# Printed by bench/relevance.py, which learns them from the sets of docs/relevance.md that are not for testing, and from
# the training half of the small namespaces.
INTERCEPT = -3.71
# Nearness, words, words asked for, lead, size: see Evidence.features.
WEIGHTS = (24.4, 3.79, -0.88, -3.35, -0.81)
# The part of a hit's evidence that is its own; the best hits give the rest. A value of 1 would calibrate single hits
# best, but would lose evidence that is found through its neighbours.
OWN = 0.3
# Larger namespaces are treated as this size: the training sets have no larger ones.
MOST_MEMORIES = 400
# Limits the lead of the best score: a single candidate leads by its whole score.
MOST_AHEAD = 1.0
HIT_INTERCEPT = -0.24
# The features of all candidates: nearness, words, words asked for, size, the lead of the first (`features_of_all`);
# then of the hit: nearness, words, place, score behind the first (`own_features`).
HIT_WEIGHTS = (2.29, 0.63, -0.24, -0.66, 0.34, 1.52, 1.58, -0.36, -2.89)
# A first hit that is less relevant answers nothing.
HARDLY_RELEVANT = 0.08
# If no memory has a higher cosine, and none shares a word with the question, nothing answers it.
UNRELATED_COSINE = 0.15
# The cosine of a speaker's name to anything that this speaker says.
NAME_COSINE = 0.4
# The usual cosine of the nearest memory for the judged questions. Where the model cannot read the text, it stands in
# for memories that hold this share of the weight of the question's words; for others, a part of it.
USUAL_COSINE = 0.45
HELD_WORDS = 0.5


class HitEvidence(NamedTuple):
    """Holds the evidence of one hit: its cosine (−1..1), its BM25 score (≥ 0), whether the question names its
    speaker, and the score that it is ranked by."""

    cosine: float
    bm25: float
    is_named: bool
    score: float


@dataclass(frozen=True, slots=True)
class AnswerEvidence:
    """Holds the candidates' evidence for whether a question is answered at all.

    `nearest` and `mean`: the best cosine of the candidates and their mean (−1..1); `bm25`: the best BM25 score;
    `asked`: the sum of the idf of the question's terms; `rarest`: the idf of a term that no memory holds; `memories`:
    the size of the namespace; `familiarity` (0..1): how far the cosines can be trusted; `ahead`: by how much the best
    score exceeds the second (≥ 0); `kept` (0..1): the part of the question's vector that is not the names of speakers.
    Cosines are computed as if the names were in the question, and every line of the named speakers matched them
    equally.
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

    def answerability(self, hits: Sequence[HitEvidence], *, is_calibrated: bool) -> float:
        """Returns the probability (0..1) that one of these hits, best first, answers the question; 0 without a hit.

        If the first is hardly relevant, it is at most half of its relevance: questions that concern other people
        resemble everything in a namespace a little, and nothing much.
        """
        if is_calibrated and self.bm25 <= 0 and self._read(self.nearest, 0.0) < UNRELATED_COSINE:
            return 0.0
        found = max(self._answering(hits), default=0.0)
        relevance = self.relevance_of(hits[:1], is_calibrated=True) if is_calibrated else []
        return min([found, *(value / 2 for value in relevance if value < HARDLY_RELEVANT)])

    def relevance_of(self, hits: Sequence[HitEvidence], *, is_calibrated: bool) -> list[float]:
        """Returns the probability (0..1) that each of the hits, best first, is evidence for the question; it never
        rises.

        It depends on a hit and those before it, not on how many come after. With another model than the one that it was
        learned with (not `is_calibrated`), it is the hit's part of the answerability.
        """
        if not hits:
            return []
        if is_calibrated:
            shared = self.features_of_all()
            of_all = HIT_INTERCEPT + sum(map(mul, HIT_WEIGHTS, shared))
            weights = HIT_WEIGHTS[len(shared) :]
            chances = [
                _logistic(of_all + sum(map(mul, weights, self.own_features(place, hit, hits[0]))))
                for place, hit in enumerate(hits, start=1)
            ]
        else:
            chances = self._answering(hits)
        return list(accumulate(chances, min))

    def features_of_all(self) -> tuple[float, ...]:
        """Returns the features for the first weights of HIT_WEIGHTS: those of all candidates, equal for each hit."""
        near = self._read(self.nearest, self.bm25)
        asked, size = math.log1p(self.asked / self.rarest), math.log1p(min(self.memories, MOST_MEMORIES))
        return near, self.words(self.bm25), asked, size, min(self.ahead, MOST_AHEAD)

    def own_features(self, place: int, hit: HitEvidence, first: HitEvidence) -> tuple[float, ...]:
        """Returns the features for the rest of HIT_WEIGHTS: those of the hit at that place (from 1), given the
        `first` hit."""
        own = self._read(self._with_name(hit), hit.bm25)
        return own, self.words(hit.bm25), math.log(place), max(0.0, first.score - hit.score)

    def _read(self, cosine: float, bm25: float) -> float:
        """Returns the cosine, and for the part of the question that the model cannot read what its words let expect."""
        if self.familiarity == 1:
            return cosine
        held = min(1.0, bm25 / (HELD_WORDS * self.asked)) if self.asked else 0.0
        return self.familiarity * cosine + (1 - self.familiarity) * USUAL_COSINE * held

    def _with_name(self, hit: HitEvidence) -> float:
        return float(with_names(hit.cosine, hit.is_named, kept=self.kept))

    def _answering(self, hits: Sequence[HitEvidence]) -> list[float]:
        """Returns the probability, for each hit, that it shows the question to be answered."""
        _, _, *of_all = self.features(cosine=0.0, bm25=0.0)
        shared = INTERCEPT + sum(map(mul, WEIGHTS[2:], of_all))
        nearness, words = WEIGHTS[:2]
        return [
            _logistic(
                shared + nearness * self.nearness(self._with_name(hit), hit.bm25) + words * self.words_of(hit.bm25)
            )
            for hit in hits
        ]

    def features(self, *, cosine: float, bm25: float) -> tuple[float, float, float, float, float]:
        """Returns a hit's features, in the order of WEIGHTS: nearness (about −1..1), words (≥ 0), the number of
        words asked for (≥ 0), the lead of the nearest over the mean of the candidates (0..2), and the size of the
        namespace, as log(1 + memories)."""
        asked = math.log1p(self.asked / self.rarest)
        lead = self.familiarity * (self.nearest - self.mean)
        size = math.log1p(min(self.memories, MOST_MEMORIES))
        return self.nearness(cosine, bm25), self.words_of(bm25), asked, lead, size

    def nearness(self, cosine: float, bm25: float) -> float:
        """Returns how near a hit with that cosine and BM25 score is, mixed with the nearness of the nearest (about
        −1..1)."""
        return self._read((1 - OWN) * self.nearest + OWN * cosine, (1 - OWN) * self.bm25 + OWN * bm25)

    def words_of(self, bm25: float) -> float:
        """Returns the evidence of the words of a hit with that BM25 score, mixed with the evidence of the best (≥
        0)."""
        return (1 - OWN) * self.words(self.bm25) + OWN * self.words(bm25)

    def words(self, bm25: float) -> float:
        """Returns how many words that no other memory holds would give that BM25 score, as log(1 + n)."""
        return math.log1p(max(bm25, 0.0) / ((K1 + 1) * self.rarest))


def with_names(cosine: Any, is_named: Any, *, kept: float) -> Any:
    """Returns the cosine of a memory, or of several, as if the names of speakers were still in the question."""
    return kept * cosine + math.sqrt(1 - kept**2) * NAME_COSINE * is_named


def _logistic(value: float) -> float:
    return 1 / (1 + math.exp(-value))


# The evidence when nothing was searched.
NO_EVIDENCE = AnswerEvidence(
    nearest=0.0, mean=0.0, bm25=0.0, asked=0.0, rarest=1.0, memories=0.0, familiarity=1.0, ahead=0.0
)


def evidence_of(question: Question, candidates: Candidates, by_words: WordHits, *, ahead: float) -> AnswerEvidence:
    """Returns the evidence of all candidates; `by_words` counted the memories, `ahead` is the lead of the best in
    their ranking."""
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
