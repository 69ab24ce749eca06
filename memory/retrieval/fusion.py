"""Joins what the arms found into one ranking whose every score can be taken apart."""

from __future__ import annotations

import heapq
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from memory.retrieval.arms import ArmHit


class Part(NamedTuple):
    """What one arm gave to a memory's score: its own score, its place (1 is first), and the weighted share."""

    raw: float
    rank: int
    weighted: float


@dataclass(frozen=True, slots=True)
class Candidate:
    """A memory some arm found. `score` is the sum of the `weighted` of its `parts`, by arm name."""

    memory_id: uuid.UUID
    parts: dict[str, Part]

    @property
    def score(self) -> float:
        return sum(part.weighted for part in self.parts.values())


def weights_for(familiarity: float) -> dict[str, float]:
    """The arms' weights (they sum to 1) for a question that the embedding model reads with that familiarity (0..1).

    Both arms count alike in a language that the model has learned; the less it has, the more words decide.
    """
    dense = 0.5 * familiarity
    return {"dense": dense, "lexical": 1.0 - dense}


def fuse(
    found: Mapping[str, Sequence[ArmHit]], weights: Mapping[str, float], *, limit: int
) -> tuple[list[Candidate], int]:
    """The `limit` best of the memories that any arm found, best first; and how many those were.

    Each arm's scores are scaled so that its best is 1 and its worst 0 (min-max, Lee 1997), times the arm's weight.
    """
    scores: dict[uuid.UUID, float] = {}
    scales = {arm: _scale(arm, hits, weights[arm]) for arm, hits in found.items()}
    for arm, hits in found.items():
        low, scale, floor = scales[arm]
        for memory_id, score in hits:
            scores[memory_id] = scores.get(memory_id, 0.0) + floor + (score - low) * scale
    # Newer first among equals: ids sort by time.
    best = heapq.nlargest(limit, zip(scores.values(), scores, strict=True))
    parts: dict[uuid.UUID, dict[str, Part]] = {memory_id: {} for _, memory_id in best}
    for arm, hits in found.items():
        low, scale, floor = scales[arm]
        for rank, (memory_id, score) in enumerate(hits, start=1):
            if memory_id in parts:
                parts[memory_id][arm] = Part(score, rank, floor + (score - low) * scale)
    return [Candidate(memory_id, parts[memory_id]) for _, memory_id in best], len(scores)


def _scale(arm: str, hits: Sequence[ArmHit], weight: float) -> tuple[float, float, float]:
    """(low, scale, floor): a score counts floor + (score − low) · scale, so 0..weight; all equal ones count weight."""
    if not hits:
        return 0.0, 0.0, 0.0
    # No word in common is a true zero of BM25; a cosine's zero means nothing, so the pool's worst stands in.
    low, high = 0.0 if arm == "lexical" else hits[-1].score, hits[0].score
    return (low, weight / (high - low), 0.0) if high > low else (low, 0.0, weight)
