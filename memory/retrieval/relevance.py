"""Estimates calibrated probabilities that the question is answered, and that each hit is evidence for the answer.

Scores are relative to the best candidate, so they rank but cannot tell whether anything answers the question. These
estimates use absolute features. For answerability: the cosine of the nearest memory, its lead over the other candidates
(the nearest of many always has one), how many of the question's rare words one memory holds and how many the question
has, and the number of memories. For the relevance of a hit: these, the hit's own cosine and words, its place, the
distance of its score from the first, and the lead of the first. Logistic models (Platt 1999, "Probabilistic Outputs for
Support Vector Machines") combine the features. docs/relevance.md describes their training data and calibration.
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
# The weights of nearness, words, words asked for, lead and size: see AnswerEvidence.features.
WEIGHTS = (24.4, 3.79, -0.88, -3.35, -0.81)
# The part of a hit's evidence that is its own; the rest comes from the best candidates. A value of 1 would calibrate
# single hits best, but would lose evidence that is found through its neighbours.
OWN = 0.3
# Larger namespaces are treated as this size: the training sets have no larger ones.
MOST_MEMORIES = 400
# The lead of the best score counts up to this value, because a single candidate leads by its whole score.
MOST_AHEAD = 1.0
HIT_INTERCEPT = -0.24
# The weights of the features of all candidates (`features_of_all`): nearness, words, words asked for, size, lead of the
# first; then those of the hit (`own_features`): nearness, words, place, distance of its score from the first.
HIT_WEIGHTS = (2.29, 0.63, -0.24, -0.66, 0.34, 1.52, 1.58, -0.36, -2.89)
# If the relevance of the first hit is below this, the answerability is at most half of it.
HARDLY_RELEVANT = 0.08
# If every cosine is below this, and no memory shares a word with the question, nothing answers it.
UNRELATED_COSINE = 0.15
# The usual cosine of a speaker's name to a memory of this speaker.
NAME_COSINE = 0.4
# USUAL_COSINE is the usual cosine of the nearest memory for the judged questions. For words that the model does not
# know, it replaces the cosine of a memory that holds at least HELD_WORDS of the weight of the question's words;
# memories that hold less get a proportional part of it.
USUAL_COSINE = 0.45
HELD_WORDS = 0.5


class HitEvidence(NamedTuple):
    """Holds the evidence of one hit: its cosine (−1..1), BM25 score (≥ 0), whether its speaker is named, and its score.

    `is_named`: the question names the speaker. `score`: the one that hits are ranked by.
    """

    cosine: float
    bm25: float
    is_named: bool
    score: float


@dataclass(frozen=True, slots=True)
class AnswerEvidence:
    """Holds the evidence of all candidates for whether a question is answered at all.

    `nearest`, `mean`: the best cosine of the candidates and their mean (−1..1). `bm25`: the best BM25 score. `asked`:
    the sum of the idf of the question's terms. `rarest`: the idf of a term that no memory holds. `memories`: the size
    of the namespace. `familiarity`: how far (0..1) the cosines can be trusted. `ahead`: by how much the best score
    exceeds the second (≥ 0). `kept`: see `Question.kept`. The cosines are those for the question with its names of
    speakers, as if every memory of a named speaker matched the name equally.
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

        If the first hit is hardly relevant, the probability is at most half of its relevance: a question about other
        people resembles everything in the namespace a little.
        """
        if is_calibrated and self.bm25 <= 0 and self._read(self.nearest, 0.0) < UNRELATED_COSINE:
            return 0.0
        found = max(self._answering(hits), default=0.0)
        relevance = self.relevance_of(hits[:1], is_calibrated=True) if is_calibrated else []
        return min([found, *(value / 2 for value in relevance if value < HARDLY_RELEVANT)])

    def relevance_of(self, hits: Sequence[HitEvidence], *, is_calibrated: bool) -> list[float]:
        """Returns for each hit, best first, the probability (0..1) that it is evidence; the values never rise.

        A value depends on the hit and those before it, not on how many come after. If the vector's model is not the one
        that the weights were learned with (not `is_calibrated`), it is the hit's part of the answerability.
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
        """Returns the features that all hits share, for the first weights of HIT_WEIGHTS."""
        near = self._read(self.nearest, self.bm25)
        asked, size = math.log1p(self.asked / self.rarest), math.log1p(min(self.memories, MOST_MEMORIES))
        return near, self.words(self.bm25), asked, size, min(self.ahead, MOST_AHEAD)

    def own_features(self, place: int, hit: HitEvidence, first: HitEvidence) -> tuple[float, ...]:
        """Returns the features of the hit at `place` (from 1), for the remaining HIT_WEIGHTS."""
        own = self._read(self._with_name(hit), hit.bm25)
        return own, self.words(hit.bm25), math.log(place), max(0.0, first.score - hit.score)

    def _read(self, cosine: float, bm25: float) -> float:
        """Returns the cosine, mixed with an estimate by words for the part of the question unknown to the model."""
        if self.familiarity == 1:
            return cosine
        held = min(1.0, bm25 / (HELD_WORDS * self.asked)) if self.asked else 0.0
        return self.familiarity * cosine + (1 - self.familiarity) * USUAL_COSINE * held

    def _with_name(self, hit: HitEvidence) -> float:
        return float(with_names(hit.cosine, hit.is_named, kept=self.kept))

    def _answering(self, hits: Sequence[HitEvidence]) -> list[float]:
        """Returns for each hit the probability that the question is answered, given this hit."""
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
        """Returns a hit's features in the order of WEIGHTS.

        They are nearness (about −1..1), words (≥ 0), words asked for (≥ 0), the lead of the nearest candidate over the
        mean (0..2), and the size of the namespace as log(1 + memories).
        """
        asked = math.log1p(self.asked / self.rarest)
        lead = self.familiarity * (self.nearest - self.mean)
        size = math.log1p(min(self.memories, MOST_MEMORIES))
        return self.nearness(cosine, bm25), self.words_of(bm25), asked, lead, size

    def nearness(self, cosine: float, bm25: float) -> float:
        """Returns the nearness of a hit, mixed with that of the nearest candidate (about −1..1)."""
        return self._read((1 - OWN) * self.nearest + OWN * cosine, (1 - OWN) * self.bm25 + OWN * bm25)

    def words_of(self, bm25: float) -> float:
        """Returns the evidence (≥ 0) of a hit's words, mixed with that of the best candidate by words."""
        return (1 - OWN) * self.words(self.bm25) + OWN * self.words(bm25)

    def words(self, bm25: float) -> float:
        """Returns log(1 + n), where n words that no other memory holds would give that BM25 score."""
        return math.log1p(max(bm25, 0.0) / ((K1 + 1) * self.rarest))


def with_names(cosine: Any, is_named: Any, *, kept: float) -> Any:
    """Returns the cosine (or an array of cosines) as if the names of speakers were still in the question."""
    return kept * cosine + math.sqrt(1 - kept**2) * NAME_COSINE * is_named


def _logistic(value: float) -> float:
    return 1 / (1 + math.exp(-value))


# The evidence when nothing was searched.
NO_EVIDENCE = AnswerEvidence(
    nearest=0.0, mean=0.0, bm25=0.0, asked=0.0, rarest=1.0, memories=0.0, familiarity=1.0, ahead=0.0
)


def evidence_of(question: Question, candidates: Candidates, by_words: WordHits, *, ahead: float) -> AnswerEvidence:
    """Returns the evidence of all candidates.

    `by_words` has the counts of memories and of those that hold each term; `ahead` is the lead of the best score.
    """
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
