"""Shows a fact and a turn that it rests on as one hit: the turn, at the better rank of the two."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import Protocol, TypeVar


class FoundFact(Protocol):
    """Declares the attributes of a hit that matter here. `sources`: the turns that it rests on, if it is a fact."""

    @property
    def id(self) -> uuid.UUID: ...

    @property
    def sources(self) -> Sequence[uuid.UUID]: ...


Found = TypeVar("Found", bound=FoundFact)


def put_turns_first(hits: list[Found]) -> list[Found]:
    """Returns the hits with each fact swapped with the best turn that it rests on, unless one is above it already."""
    if not any(hit.sources for hit in hits):
        return hits
    ordered = list(hits)
    for place in range(len(ordered)):
        turns = set(ordered[place].sources)
        below = next((other for other in range(place + 1, len(ordered)) if ordered[other].id in turns), None)
        if below is not None and not any(hit.id in turns for hit in ordered[:place]):
            ordered[place], ordered[below] = ordered[below], ordered[place]
    return ordered


def match_facts_to_turns(hits: Sequence[FoundFact], again: Mapping[int, int]) -> dict[int, int]:
    """Maps the place of each fact to the place of a turn before it that it rests on.

    `again` maps the place of a restatement to the place of the hit that it restates; if the turn is a restatement, the
    fact is mapped to that hit.
    """
    found: dict[int, int] = {}
    if not any(hit.sources for hit in hits):
        return found
    places = {hit.id: place for place, hit in enumerate(hits)}
    for place, hit in enumerate(hits):
        told = [places[turn] for turn in hit.sources if places.get(turn, place) < place]
        if told:
            found[place] = again.get(min(told), min(told))
    return found
