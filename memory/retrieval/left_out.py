"""Lists the rejected candidates, and how far each was below the last hit."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from memory.enums import Verdict
from memory.retrieval.fusion import Candidate, Contribution
from memory.retrieval.hits import Hit
from memory.retrieval.near_duplicates import Words, nearest


@dataclass(frozen=True, slots=True)
class Dropped:
    """Holds a rejected candidate.

    `candidate` has its final score. `rank` is its place (from 1) among all candidates, before restatements and variety.
    `verdict` is RESTATED, VARIETY, OUTRANKED or IRRELEVANT. `needed` is the score of the last hit. `other` is the
    memory that says the same (RESTATED), the hit that it resembles too much (VARIETY), or the newer memory that took
    its place; otherwise None.
    """

    candidate: Candidate
    rank: int
    verdict: Verdict
    needed: float
    other: uuid.UUID | None
    reason: str


def list_dropped(
    candidates: Sequence[Candidate],
    said: Sequence[Words],
    hits: Sequence[Hit],
    *,
    again: Mapping[uuid.UUID, uuid.UUID],
    variety: float,
) -> list[Dropped]:
    """Lists the `candidates` that are not among the `hits`, in their order (best first).

    `said`: the words of the first candidates; the others were not read. `again` maps a restatement to the memory that
    it restates. `variety`: the cost of full likeness to a hit (0: none).
    """
    if not hits:
        return []
    shown = {hit.id_text for hit in hits}
    replaced = {hit.replaces: hit.id for hit in hits if hit.replaces}
    hits_words = [hit.memory.words for hit in hits] if variety else []
    needed = hits[-1].score
    dropped: list[Dropped] = []
    for place, found in enumerate(candidates):
        if found.id in shown:
            continue
        candidate, alike, memory_id = found, None, found.memory_id
        if variety and place < len(said) and memory_id not in again:
            candidate, alike = _less_likeness(found, said[place], hits, hits_words, variety)
        if other := again.get(memory_id):
            also = "" if str(other) in shown else ", which did not come back either"
            reason = f"It says again what {other} says{also}."
            dropped.append(Dropped(candidate, place + 1, Verdict.RESTATED, needed, other, reason))
        elif alike and found.score > needed:
            reason = (
                f"The question wants many different memories, and this one is too like {alike}: that takes its score "
                f"from {found.score:.4f} to {candidate.score:.4f}; the last hit has {needed:.4f}."
            )
            dropped.append(Dropped(candidate, place + 1, Verdict.VARIETY, needed, alike, reason))
        else:
            newer = replaced.get(memory_id)
            took = f" {newer} took its place: it says what holds now." if newer else ""
            reason = f"Its score is {candidate.score:.4f}; the last hit has {needed:.4f}.{took}"
            dropped.append(Dropped(candidate, place + 1, Verdict.OUTRANKED, needed, newer, reason))
    return dropped


def _less_likeness(
    candidate: Candidate, said: Words, hits: Sequence[Hit], hits_words: Sequence[Words], variety: float
) -> tuple[Candidate, uuid.UUID]:
    """Returns the candidate with the cost of its likeness to the nearest hit subtracted, and the id of that hit."""
    place, likeness = nearest(said, hits_words)
    cost = variety * likeness
    less = candidate.with_part("variety", Contribution(cost, None, -cost)) if cost else candidate
    return less, hits[place].id
