"""Which of several hits that give a value for what is asked comes first: the newest.

Statements that no rule can link ("my target is 1,200 words", "I found out that it was adjusted to 1,350") meet when a
question asks for the value: those that speak of it about equally well change places, so that the newest stands first.
So does, before the best hit, a newer one that says that something changed. Either only moves hits: where it is wrong,
what it passed stands right behind it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from memory.text.analysis import terms
from memory.text.claims import Claim, claims
from memory.text.holders import is_another, is_exception, is_same_holder
from memory.text.update_cues import OUTRIGHT, cues
from memory.text.utterances import Statement

# Share of the question's terms that a hit's best sentence with a value must hold, and of the best hit's share.
LEAST_SHARE = 0.5
OF_BEST = 0.7

# Share of the question's terms that a newer statement of a change must hold.
CHANGE_SHARE = 0.3
# Longer texts are documents and whole conversations: they tell of more than what is asked.
MOST_CHARS = 800
# What holds by habit or is only thought of is no change.
_NO_CHANGE = frozenset(("plan", "as before"))

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
_PRESENT = re.compile(
    r"\b(?:is|are|am|have|has|do|does|should|can|will|'s|to|shall|must|still)\b|[\u4e00-\u9fff]", re.IGNORECASE
)
_PAST = re.compile(rf"{_PAST_OR_ALL.pattern}|\b(?:had|ago|ever|happened|went|last)\b|了[吗么]|过", re.IGNORECASE)
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


def asks_how_it_is(question: str) -> bool:
    """Whether `question` asks how something is now, rather than what was or happened."""
    return _PRESENT.search(question) is not None and _PAST.search(question) is None


def change_first(question: str, hits: Sequence[DatedHit]) -> list[int]:
    """The places of `hits` (best first) in the order they should have: the newest of those that tell of a change since
    the best hit was said, of the same person or thing and of what is asked, comes before it."""
    places = list(range(len(hits)))
    wanted = set(terms(question))
    if len(hits) < 2 or not wanted or not _may_give_way(hits[0]) or not asks_how_it_is(question):
        return places
    former = [(said, claim) for said in hits[0].statements for claim in claims(said.text)]
    later = [
        place
        for place in places[1:]
        if hits[place].moment > hits[0].moment
        and _may_give_way(hits[place])
        and any(_tells_change(said, wanted, former) for said in hits[place].statements)
    ]
    if not later:
        return places
    newest = max(later, key=lambda place: hits[place].moment)
    return [newest, *(place for place in places if place != newest)]


def _may_give_way(hit: DatedHit) -> bool:
    """Whether it is a person's message, and not a document."""
    spoken = [said for said in hit.statements if not said.by_agent]
    return bool(spoken) and max(said.end for said in hit.statements) <= MOST_CHARS


def _tells_change(said: Statement, wanted: set[str], former: Sequence[tuple[Statement, Claim]]) -> bool:
    """Whether a statement tells outright of a change in what is `wanted`, of whom one of the `former` claims is."""
    if said.by_agent or len(wanted.intersection(terms(said.text))) < max(1, CHANGE_SHARE * len(wanted)):
        return False
    found = cues(said.text)
    if OUTRIGHT.isdisjoint(found) or not _NO_CHANGE.isdisjoint(found):
        return False
    return any(_may_replace(said, new, old_said, old) for new in claims(said.text) for old_said, old in former)


def _may_replace(said: Statement, new: Claim, old_said: Statement, old: Claim) -> bool:
    if new.quotes or new.asks or new.past or new.adds or is_exception(new, old) or is_another(new, old):
        return False
    if said.speaker != old_said.speaker and "own" in (new.owner, old.owner):
        # Each speaks of their own.
        return False
    return is_same_holder(new, old)


def _share(wanted: set[str], hit: DatedHit) -> float:
    """The largest share of the `wanted` terms that one statement with a value holds."""
    found = (
        len(wanted.intersection(terms(one.text))) / len(wanted)
        for one in hit.statements
        if not one.by_agent and _VALUE.search(one.text)
    )
    return max(found, default=0.0)
