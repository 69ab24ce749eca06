"""Which of several hits that give a value for what is asked comes first: the newest.

Statements that no rule can link ("my target is 1,200 words", "I found out that it was adjusted to 1,350") meet when a
question asks for the value: those that speak of it about equally well change places, so that the newest stands first.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from memory.text.analysis import terms
from memory.text.utterances import Statement

# Share of the question's terms that a hit's best sentence with a value must hold, and of the best hit's share.
LEAST_SHARE = 0.5
OF_BEST = 0.7

_PRESENT_VALUE = re.compile(
    r"^\W*(?:how (?:many|much|often|old)|what|which|when|where)\b.*\b(?:is|are|am|have|has|do|does|should)\b"
    r"|多少|几[个点号岁次]|什么时候|哪天|何时|哪里",
    re.IGNORECASE,
)
_PAST_OR_ALL = re.compile(
    r"\b(?:did|was|were|first|original(?:ly)?|initial(?:ly)?|order|between|before|after|total|so far|used to)\b"
    r"|以前|原来|最初|之前|曾经|一共|总共",
    re.IGNORECASE,
)
_VALUE = re.compile(r"\d|[一二三四五六七八九十百千]+[个点号月日岁次]")


@dataclass(frozen=True, slots=True)
class DatedHit:
    """A hit: its statements, and when it was said."""

    statements: Sequence[Statement]
    moment: datetime


def asks_for_value(question: str) -> bool:
    """Whether `question` asks for a number, a date or the like as it is now."""
    return _PRESENT_VALUE.search(question) is not None and _PAST_OR_ALL.search(question) is None


def latest_first(question: str, hits: Sequence[DatedHit]) -> list[int]:
    """The places of `hits` (best first) in the order they should have.

    Only hits in which a person gives a value for what is asked change places, and only among themselves.
    """
    places = list(range(len(hits)))
    wanted = set(terms(question))
    if not wanted or not asks_for_value(question):
        return places
    shares = [_share(wanted, hit) for hit in hits]
    least = max(LEAST_SHARE, OF_BEST * max(shares, default=0.0))
    rivals = [place for place in places if shares[place] >= least]
    newest = iter(sorted(rivals, key=lambda place: hits[place].moment, reverse=True))
    taking_part = set(rivals)
    return [next(newest) if place in taking_part else place for place in places]


def _share(wanted: set[str], hit: DatedHit) -> float:
    """The largest share of the `wanted` terms that one statement with a value holds."""
    found = (
        len(wanted.intersection(terms(one.text))) / len(wanted)
        for one in hit.statements
        if not one.by_agent and _VALUE.search(one.text)
    )
    return max(found, default=0.0)
