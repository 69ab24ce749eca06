"""Which candidates did not come back, and what each of them would have needed."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from memory.enums import Verdict
from memory.retrieval.fusion import Candidate, Contribution
from memory.retrieval.near_duplicates import Words, nearest


@dataclass(frozen=True, slots=True)
class Dropped:
    """A candidate that did not come back.

    `candidate` has its final score. `rank` is its place (1 is the first) among all candidates, before restatements and
    variety. `verdict` is RESTATED, VARIETY, OUTRANKED or IRRELEVANT. `needed` is the score of the last hit. `other` is
    the memory that says the same (RESTATED) or the hit that it is too like (VARIETY), None else.
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
    *,
    again: Mapping[int, int],
    shown: Mapping[int, Candidate],
    variety: float,
) -> list[Dropped]:
    """Those of `candidates` (in their order, best first) that are not `shown`, which has hits by place, best first.

    `said` are the texts of the first of them; the others were not read. `again`: who restates whom, by places.
    `variety`: what likeness to a hit costs (0: nothing).
    """
    if not shown:
        return []
    hits = list(shown.values())
    hits_words = [said[place] for place in shown] if variety else []
    needed = hits[-1].score
    dropped: list[Dropped] = []
    for place, found in enumerate(candidates):
        if place in shown:
            continue
        candidate, alike = found, None
        if variety and place < len(said) and place not in again:
            candidate, alike = _less_likeness(found, said[place], hits, hits_words, variety)
        if place in again:
            other = candidates[again[place]].memory_id
            also = "" if again[place] in shown else ", which did not come back either"
            dropped.append(
                Dropped(
                    candidate, place + 1, Verdict.RESTATED, needed, other, f"It says again what {other} says{also}."
                )
            )
        elif alike and found.score > needed:
            reason = (
                f"The question wants many different memories, and this one is too like {alike}: that takes its score "
                f"from {found.score:.4f} to {candidate.score:.4f}; the last hit has {needed:.4f}."
            )
            dropped.append(Dropped(candidate, place + 1, Verdict.VARIETY, needed, alike, reason))
        else:
            reason = f"Its score is {candidate.score:.4f}; the last hit has {needed:.4f}."
            dropped.append(Dropped(candidate, place + 1, Verdict.OUTRANKED, needed, None, reason))
    return dropped


def _less_likeness(
    candidate: Candidate, said: Words, hits: Sequence[Candidate], hits_words: Sequence[Words], variety: float
) -> tuple[Candidate, uuid.UUID]:
    """The candidate less what its likeness to the nearest hit costs, and that hit."""
    place, likeness = nearest(said, hits_words)
    cost = variety * likeness
    less = candidate.with_part("variety", Contribution(cost, None, -cost)) if cost else candidate
    return less, hits[place].memory_id
