"""Search arms. Each maps (scope, question) to scored memory ids of the namespace, best first."""

from __future__ import annotations

from typing import NamedTuple


class ArmHit(NamedTuple):
    """One memory as one arm sees it: `score` in the arm's own unit, higher is better; 0 and below is no relation.

    `memory_id` is the id as text: hundreds of them are keys of a question's dictionaries, and text is hashed once.
    `rank` is its place in the arm (1 is first).
    """

    memory_id: str
    score: float
    rank: int


class WordHits(NamedTuple):
    """What the search by words found, best first, in a namespace of `memories` memories.

    `holding`: by term of the question, how many memories hold it; a term that none holds is not there.
    """

    hits: list[ArmHit]
    memories: float
    holding: dict[str, int]


class ArmStanding(NamedTuple):
    """Where one memory stands in an arm, exactly: its score there, its place (1 is first) and of how many."""

    score: float
    rank: int
    of: int
