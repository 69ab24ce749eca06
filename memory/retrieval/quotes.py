"""Ranks echoes behind the memories that they repeat: replies that quote them, and questions asked before."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol, TypeVar

from memory.retrieval.near_duplicates import Words

# A remembered question with at least this share of words in common with the current one asks the same.
SAME_QUESTION = 0.7


class QuotingHit(Protocol):
    """Declares the attributes of a hit that matter here. `sources`: the memories that it quotes or was derived from."""

    @property
    def id(self) -> uuid.UUID: ...

    @property
    def sources(self) -> Sequence[uuid.UUID]: ...

    @property
    def words(self) -> Words: ...


Found = TypeVar("Found", bound=QuotingHit)


def put_echoes_last(asked: str, hits: list[Found]) -> list[Found]:
    """Moves hits that only ask the current question behind all others, because they resemble it and answer nothing.

    The order is kept otherwise, so that the first hits do not depend on how many are requested.
    """
    if not any(hit.words.asks for hit in hits):
        return hits
    question = Words("", asked)
    echoes = [hit.words.asks and hit.words.overlap(question) >= SAME_QUESTION for hit in hits]
    return [hit for last in (False, True) for hit, echo in zip(hits, echoes, strict=True) if echo is last]


def bring_sources(hits: Sequence[Found], read: Callable[[list[uuid.UUID]], Iterable[Found]]) -> list[Found]:
    """Returns the distinct hits, each followed by those of its sources that are candidates but not among the hits.

    `read` returns the candidates among the given ids as hits, however low they rank.
    """
    known = {hit.id for hit in hits}
    wanted = [one for hit in hits for one in hit.sources if one not in known]
    brought = {hit.id: hit for hit in read(list(dict.fromkeys(wanted)))} if wanted else {}
    together = {one.id: one for hit in hits for one in (hit, *(brought[own] for own in hit.sources if own in brought))}
    return list(together.values())
