"""Ranks echoes of a memory behind it: replies that quote it, and questions that were asked about it."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol, TypeVar

from memory.retrieval.near_duplicates import Words

# The least share of words that a remembered question and the current one have in common, if they ask the same.
SAME_QUESTION = 0.7


class QuotingHit(Protocol):
    """Declares the attributes of a hit that matter here. `sources`: what it quotes, or was read in."""

    @property
    def id(self) -> uuid.UUID: ...

    @property
    def sources(self) -> Sequence[uuid.UUID]: ...

    @property
    def words(self) -> Words: ...


Found = TypeVar("Found", bound=QuotingHit)


def put_echoes_last(asked: str, hits: list[Found]) -> list[Found]:
    """Moves hits that only ask the current question behind all others: they are like the question, and answer
    nothing. Otherwise keeps the order, so that the first of them do not depend on how many are wanted."""
    if not any(hit.words.asks for hit in hits):
        return hits
    question = Words("", asked)
    echoes = [hit.words.asks and hit.words.overlap(question) >= SAME_QUESTION for hit in hits]
    return [hit for last in (False, True) for hit, echo in zip(hits, echoes, strict=True) if echo is last]


def bring_sources(hits: Sequence[Found], read: Callable[[list[uuid.UUID]], Iterable[Found]]) -> list[Found]:
    """Returns the hits, each once, and behind each the candidates among its sources that rank too low to be a hit
    themselves.

    `read` reads candidates, however low they rank.
    """
    known = {hit.id for hit in hits}
    wanted = [one for hit in hits for one in hit.sources if one not in known]
    brought = {hit.id: hit for hit in read(list(dict.fromkeys(wanted)))} if wanted else {}
    together = {one.id: one for hit in hits for one in (hit, *(brought[own] for own in hit.sources if own in brought))}
    return list(together.values())
