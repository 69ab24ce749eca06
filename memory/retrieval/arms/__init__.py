"""The retrievers ("arms"): each maps (scope, question) to scored memory ids of the namespace, best first."""

from __future__ import annotations

from typing import NamedTuple


class ArmHit(NamedTuple):
    """Holds a memory that one retriever found.

    `memory_id`: the id as text, because a string caches its hash, and hundreds of ids are dictionary keys for each
    question. `score`: in the retriever's own unit, higher is better; 0 and below means unrelated. `rank`: its place (1
    is first).
    """

    memory_id: str
    score: float
    rank: int


class WordHits(NamedTuple):
    """Holds the hits of the search by words, best first, in a namespace of `memories` memories.

    `holding`: the number of memories that hold each term of the question, without terms that none holds.
    """

    hits: list[ArmHit]
    memories: float
    holding: dict[str, int]


class ArmStanding(NamedTuple):
    """Holds the exact score of a memory in one retriever, its place (1 is first), and the number of memories ranked."""

    score: float
    rank: int
    of: int
