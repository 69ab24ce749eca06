"""Joins the results of the retrievers and the signals into one ranking whose scores can be taken apart."""

from __future__ import annotations

import math
import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from memory.enums import ARMS
from memory.retrieval import signals
from memory.retrieval.arms import WordHits
from memory.retrieval.arms.bm25 import idf, term_idf
from memory.retrieval.candidate_features import CandidateFeatures
from memory.retrieval.question import Question
from memory.retrieval.signals import Candidates

# The weight of each signal; those of the retrievers sum to 1. Learned by bench/learn_weights.py with cross-validation
# over conversations, and rounded; see docs/develop/decisions/0011-scores-are-added.md.
SIGNALS = {
    "neighbours": 0.25,
    "answer": 0.22,
    "session": 0.55,
    "people": 0.27,
    "entities": 0.12,
    "preference": 3.0,
    "role": 0.3,
    "dated": 0.3,
    "time": 0.5,
    "question": -0.1,
    "recency": 0.05,
    "importance": 0.3,
}
# The weight of words at full evidence; meaning weighs 1.
WORDS = 1.2
# A memory that holds this many words that no other memory holds is strong evidence, however long the question is.
RARE_WORDS = 2.0
# Evidence up to this value may be chance among notes, which name their subject. Turns of a conversation leave the
# subject to the turns around them, so the words that match count in full.
CHANCE = 0.15


class Contribution(NamedTuple):
    """Holds the part of one retriever or signal in a memory's score.

    `raw`: its own value; `rank`: the memory's place in the retriever (None for a signal, and for a memory that the
    retriever did not find); `weighted`: its share of the score.
    """

    raw: float
    rank: int | None
    weighted: float


@dataclass(slots=True)
class Candidate:
    """Holds a candidate: a memory's id as text, and the `parts` of its score by name.

    `score` is the sum of the parts' `weighted`. Instances must not be changed; `with_part` returns a new one.
    """

    id: str
    parts: dict[str, Contribution]
    score: float = field(init=False)

    def __post_init__(self) -> None:
        self.score = sum([part.weighted for part in self.parts.values()])

    @property
    def memory_id(self) -> uuid.UUID:
        """Returns the memory's id."""
        return uuid.UUID(self.id)

    def with_part(self, name: str, part: Contribution) -> Candidate:
        """Returns a candidate with one more part."""
        return Candidate(self.id, {**self.parts, name: part})


@dataclass(frozen=True, slots=True)
class Ranking:
    """Holds all candidates in order; their parts are computed on demand.

    `order`: rows of the arrays, best first. `values`: by retriever and signal, the factor of its weight for each
    candidate, in the order of `ids`.
    """

    order: list[int]
    weights: dict[str, float]
    ids: list[str]
    values: dict[str, np.ndarray]
    _raw: dict[str, np.ndarray]
    _shares: dict[str, np.ndarray]
    _ranks: Mapping[str, Mapping[str, int]]

    def __len__(self) -> int:
        return len(self.order)

    @property
    def ahead(self) -> float:
        """Returns by how much the best score exceeds the second (the best score if there is no second; 0 if empty)."""
        best, second = ([sum(share[row] for share in self._shares.values()) for row in self.order[:2]] + [0.0, 0.0])[:2]
        return float(best - second)

    def candidate(self, place: int) -> Candidate:
        """Returns the candidate at that place of the ranking (0 is the best), with its parts."""
        return self.between(place, place + 1)[0]

    def between(self, first: int, end: int) -> list[Candidate]:
        """Lists the candidates at the places from `first` (0 is the best) to before `end`, with their parts.

        Signals that give nothing to a candidate are left out of its parts.
        """
        rows = self.order[first:end]
        memory_ids = [self.ids[row] for row in rows]
        parts: list[dict[str, Contribution]] = [{} for _ in rows]
        for name, share in self._shares.items():
            ranks, is_arm = self._ranks.get(name, {}), name in ARMS
            shares, raw = share[rows].tolist(), self._raw[name][rows].tolist()
            for own, memory_id, given, value in zip(parts, memory_ids, shares, raw, strict=True):
                if is_arm or given:
                    own[name] = Contribution(value, ranks.get(memory_id), given)
        return [Candidate(memory_id, own) for memory_id, own in zip(memory_ids, parts, strict=True)]

    def place_outside(self, memory_id: uuid.UUID, cosine: float) -> Candidate:
        """Makes a candidate of a memory outside the ranking, whose score is its cosine relative to the nearest's."""
        weight, nearest = self.weights["dense"], self._raw["dense"].max(initial=signals.LEAST_COSINE)
        parts = {
            "dense": Contribution(cosine, None, weight * max(0.0, cosine) / float(nearest)),
            "lexical": Contribution(0.0, None, 0.0),
        }
        return Candidate(str(memory_id), parts)

    def place_of(self, memory_id: uuid.UUID) -> int | None:
        """Returns the place of a memory (0 is the best), or None if it is not a candidate."""
        wanted = str(memory_id)
        return next((place for place, row in enumerate(self.order) if self.ids[row] == wanted), None)


def dense_weight(familiarity: float, evidence: float) -> float:
    """Returns the weight (0..1) of the search by meaning; the search by words has the rest.

    `familiarity` (0..1) says how well the embedding model knows the question's words: if it knows none, words decide.
    `evidence` (0..1) is the trust in the words that were found: the less of it, the more meaning decides.
    """
    return familiarity / (1 + WORDS * evidence**2)


def word_evidence(terms: Sequence[str], by_words: WordHits, *, best: float, standing_out: float) -> float:
    """Returns how far matching words can be trusted: 0 (no match, or one that chance explains) to 1.

    `best` is the best BM25 score. Two kinds of evidence are joined by a noisy or: coverage, which compares `best` with
    the score of a memory that holds all `terms` once, including terms that no memory holds; and rarity, which is high
    for words that hardly any other memory holds, however long the question is. Coverage counts less the more the
    nearest memories stand out from the tenth (`standing_out`, 0..1), because then the search by meaning has recognised
    something that common words would hide.
    """
    if best <= 0 or by_words.memories <= 0:
        return 0.0
    whole = sum(term_idf(term, holding=by_words.holding.get(term, 0), memories=by_words.memories) for term in terms)
    rare = idf(holding=1, memories=by_words.memories)
    covered = min(1.0, best / whole) * (1 - standing_out) ** 2
    return 1 - (1 - covered) * math.exp(-best / (RARE_WORDS * rare))


def beyond_chance(evidence: float, talk: float) -> float:
    """Returns the part (0..1) of the `evidence` of words that chance does not explain.

    `talk` says how far the candidates belong to conversations: 0 (notes of one person) to 1.
    """
    chance = CHANCE * (1 - talk)
    return max(0.0, evidence - chance) / (1 - chance)


def rank(
    question: Question,
    features: CandidateFeatures,
    *,
    by_words: WordHits,
    ranks: Mapping[str, Mapping[str, int]],
    taking_part: Collection[str],
) -> Ranking:
    """Ranks the candidates by the sum of their parts; among equals, the newer is first.

    `by_words` has the counts of memories that hold the question's terms. `ranks`: the places in each retriever, from 1.
    `taking_part` names the ARMS and SIGNALS that count; a single retriever gets the weight of all retrievers.
    """
    candidates = features.candidates
    raw = {"dense": candidates.cosine, "lexical": candidates.bm25}
    values = {"dense": signals.by_meaning(candidates), "lexical": signals.by_words(candidates)}
    evidence = word_evidence(
        question.terms,
        by_words,
        best=float(candidates.bm25.max(initial=0.0)),
        standing_out=signals.prominence(values["dense"]),
    )
    weights = _arm_weights(question, beyond_chance(evidence, signals.talk(candidates)), taking_part)
    found = sum((weights[arm] * values[arm] for arm in ARMS), start=np.zeros(len(candidates)))
    for name, value in _signals(question, candidates, found).items():
        if name in taking_part and value.any():
            raw[name] = values[name] = value
            weights[name] = SIGNALS[name]
    shares = {name: weights[name] * values[name] for name in weights}
    score = sum(shares.values(), start=np.zeros(len(candidates)))
    # Candidates come oldest first; a stable sort of the reversed array puts the newer of equals first.
    order = (len(score) - 1 - np.argsort(-score[::-1], kind="stable")).tolist()
    return Ranking(order, weights, features.ids, values, raw, shares, ranks)


def _arm_weights(question: Question, evidence: float, taking_part: Collection[str]) -> dict[str, float]:
    dense = dense_weight(question.familiarity, evidence)
    if "lexical" not in taking_part:
        dense = 1.0
    elif "dense" not in taking_part:
        dense = 0.0
    return {"dense": dense, "lexical": 1.0 - dense}


def _signals(question: Question, candidates: Candidates, found: np.ndarray) -> dict[str, np.ndarray]:
    """Computes the value of each signal for each candidate; 0 if a signal does not apply."""
    wants = question.wants
    nothing = np.zeros(len(candidates))
    around, answer = signals.neighbours(candidates, found)
    by_agent = candidates.by_agent
    mixed = by_agent.any() and not by_agent.all()
    return {
        "neighbours": around,
        "answer": answer,
        "session": signals.session(candidates, found),
        "people": candidates.named.astype(float),
        "entities": candidates.mentions,
        "preference": candidates.preference,
        "role": (by_agent if wants.agent else ~by_agent).astype(float) if mixed else nothing,
        "time": candidates.in_span.astype(float),
        "question": (candidates.asks & candidates.spoken).astype(float),
        "recency": signals.recency(candidates) if wants.recent else nothing,
        "importance": candidates.importance - 0.5,
    }
