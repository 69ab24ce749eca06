"""Joins what the arms found into one ranking whose every score can be taken apart."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from memory.retrieval.arms import ArmHit


@dataclass(frozen=True, slots=True)
class Part:
    """What one arm gave to a memory's score: its own score, its place (1 is first), and the weighted share."""

    raw: float
    rank: int
    weighted: float


@dataclass(slots=True)
class Candidate:
    """A memory some arm found. `score` is the sum of the `weighted` of its `parts`, by arm name."""

    memory_id: uuid.UUID
    parts: dict[str, Part] = field(default_factory=dict)

    @property
    def score(self) -> float:
        return sum(part.weighted for part in self.parts.values())


def weights_for(familiarity: float) -> dict[str, float]:
    """The arms' weights (they sum to 1) for a question that the embedding model reads with that familiarity (0..1).

    Both arms count alike in a language that the model has learned; the less it has, the more words decide.
    """
    dense = 0.5 * familiarity
    return {"dense": dense, "lexical": 1.0 - dense}


def fuse(found: Mapping[str, Sequence[ArmHit]], weights: Mapping[str, float]) -> list[Candidate]:
    """All memories that any arm found, best first.

    Each arm's scores are scaled so that its best is 1 and its worst 0 (min-max, Lee 1997), times the arm's weight.
    """
    candidates: dict[uuid.UUID, Candidate] = {}
    for arm, hits in found.items():
        if not hits:
            continue
        low, high = min(hit.score for hit in hits), max(hit.score for hit in hits)
        if arm == "lexical":
            low = 0.0  # no word in common is a true zero of BM25
        spread = high - low
        for rank, hit in enumerate(hits, start=1):
            scaled = (hit.score - low) / spread if spread > 0 else 1.0
            candidate = candidates.setdefault(hit.memory_id, Candidate(hit.memory_id))
            candidate.parts[arm] = Part(hit.score, rank, weights[arm] * scaled)
    # Newer first among equals: ids sort by time.
    return sorted(candidates.values(), key=lambda candidate: (candidate.score, candidate.memory_id), reverse=True)
