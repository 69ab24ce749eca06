"""Joins what the arms found into one ranking whose every score can be taken apart."""

from __future__ import annotations

import heapq
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from memory.retrieval.arms import ArmHit


class Part(NamedTuple):
    """What one arm gave to a memory's score: its own score, its place (None: not among its best), and the share."""

    raw: float
    rank: int | None
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

    Each arm's scores are divided by its best, so that they run from 0 (no relation) to 1, times the arm's weight.
    """
    scores: dict[uuid.UUID, float] = {}
    scales = {arm: _scale(hits, weights[arm]) for arm, hits in found.items()}
    for arm, hits in found.items():
        scale = scales[arm]
        for memory_id, score, _ in hits:
            scores[memory_id] = scores.get(memory_id, 0.0) + (score * scale if score > 0 else 0.0)
    # Newer first among equals: ids sort by time.
    best = heapq.nlargest(limit, zip(scores.values(), scores, strict=True))
    parts: dict[uuid.UUID, dict[str, Part]] = {memory_id: {} for _, memory_id in best}
    for arm, hits in found.items():
        for memory_id, score, rank in hits:
            if memory_id in parts:
                parts[memory_id][arm] = Part(score, rank, max(score, 0.0) * scales[arm])
    return [Candidate(memory_id, parts[memory_id]) for _, memory_id in best], len(scores)


def _scale(hits: Sequence[ArmHit], weight: float) -> float:
    best = max((hit.score for hit in hits), default=0.0)
    return weight / best if best > 0 else 0.0
