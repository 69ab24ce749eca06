"""Tells a fact and a turn that it rests on once: by the turn, at the place of the better of the two."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import Protocol, TypeVar


class FoundFact(Protocol):
    """A hit as far as it matters here. `sources`: the turns that it rests on, when it is a fact."""

    @property
    def id(self) -> uuid.UUID: ...

    @property
    def sources(self) -> Sequence[uuid.UUID]: ...


Found = TypeVar("Found", bound=FoundFact)


def put_turns_first(hits: list[Found]) -> list[Found]:
    """The hits, best first, each fact behind the turn that it rests on, which takes its place; else as they were."""
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
    """For each fact whose turn stands before it: its place, and that of the turn, or of what says the same as the turn.

    `again`: the places of hits that say what an earlier one says, with that one's.
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
