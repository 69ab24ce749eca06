"""Search arms. Each maps (scope, question) to scored memory ids of the namespace, best first."""

from __future__ import annotations

import uuid
from typing import NamedTuple


class ArmHit(NamedTuple):
    """One memory as one arm sees it: `score` in the arm's own unit, higher is better; 0 and below is no relation.

    `rank` is its place in the arm (1 is first), None for a memory that the arm was only asked to score.
    """

    memory_id: uuid.UUID
    score: float
    rank: int | None


class Standing(NamedTuple):
    """Where one memory stands in an arm, exactly: its score there, its place (1 is first) and of how many."""

    score: float
    rank: int
    of: int
