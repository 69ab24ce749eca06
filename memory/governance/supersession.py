"""Which statements of memories are no longer valid once a newer memory is known. Decides; writes nothing.

The grain is the statement, not the memory: of a long session only the sentences that were taken back or replaced leave
the default results. What takes something back leaves them too, once it did: it says nothing about the present, and it
names what shall be forgotten. It stays findable by the name of its object. What says that something is done is an
event, and stays; so does what puts something new in the place of the old.
"""

from __future__ import annotations

import re
import time
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from memory.enums import ChangeKind, Relation
from memory.governance.conflicts import BY_WORD, Decision, by_change, decide, denied_terms, meant
from memory.text.changes import Change, changes, is_prose, object_terms, own_terms
from memory.text.slots import slots
from memory.text.utterances import Statement

Key = TypeVar("Key", bound=Hashable)

# What must be as sure as this is carried out; anything less is for a person to see.
LEAST_CONFIDENCE = 0.75
# So many turns after a statement may still be about it.
TURNS_ABOUT = 3
# What fits statements of more memories than this names a topic, and no statement.
MOST_MEMORIES = 3
# Attributes whose new value ends the old one even where nothing says so.
_HELD_ALONE = frozenset(("lives", "works"))
_REFERS = re.compile(
    r"\b(?:it|its|it's|they|them|their|they're|he|him|his|he's|she|her|she's|this|that|that's|these|those|there's|such)\b|它|他|她|这|那",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Retired(Generic[Key]):
    """The statement at [start, end) of the memory `key` is not valid any more, for the reason that `decision` gives.

    `by`: the statement of the newer memory that did it. `names`: index terms by which it stays findable (those of the
    object, for a statement that took something back; none for what was taken back).
    """

    key: Key
    start: int
    end: int
    by: Statement
    decision: Decision
    names: frozenset[str]


@dataclass(frozen=True, slots=True)
class Settled(Generic[Key]):
    """`retired`: what leaves the default results; `linked`: what an earlier statement gives way to, retired or not;
    `review`: what a person must settle; both as (key, old, new, decision)."""

    retired: list[Retired[Key]] = field(default_factory=list)
    linked: list[tuple[Key, Statement, Statement, Decision]] = field(default_factory=list)
    review: list[tuple[Key, Statement, Statement, Decision]] = field(default_factory=list)


def wanted_terms(statements: Sequence[Statement]) -> list[frozenset[str]]:
    """For each change or denial in the statements of a new memory, the terms that find what it may be about."""
    told = [said.text for said in statements if not said.by_agent]
    found = [object_terms(change.old) for text in told for change in changes(text)]
    return [terms for terms in (*found, *map(denied_terms, told)) if terms]


def settle(
    key: Key, new: Sequence[Statement], earlier: Mapping[Key, Sequence[Statement]], *, until: float = float("inf")
) -> Settled[Key]:
    """What the statements `new` of the memory `key` do to `earlier` memories (statements in reading order).

    Only what people say is judged, sentence against sentence; what the agent said goes with what it was about. What is
    not judged `until` then, in seconds of the monotonic clock, changes nothing.
    """
    settled: Settled[Key] = Settled()
    for place, said in enumerate(new):
        if time.monotonic() > until:
            break
        if said.by_agent:
            continue
        announced = changes(said.text)
        for change in announced:
            _carry_out(settled, key, new, place=place, change=change, earlier=earlier, until=until)
        if not announced and (slots(said.text).attributes & _HELD_ALONE or denied_terms(said.text)):
            _give_way(settled, said, earlier, until=until)
    _announcements(settled, key, new)
    return settled


def _carry_out(
    settled: Settled[Key],
    key: Key,
    new: Sequence[Statement],
    *,
    place: int,
    change: Change,
    earlier: Mapping[Key, Sequence[Statement]],
    until: float,
) -> None:
    """Adds to `settled` what the `change` that `new` announces at `place` does."""
    said, terms = new[place], object_terms(change.old)
    found = _meant(change, said, earlier, until=until)
    settled.review.extend((other, old, said, decision) for other, _, old, decision in found if decision.review)
    settled.linked.extend((other, old, said, decision) for other, _, old, decision in found if not decision.review)
    done = _sure(found)
    for other, number, _, decision in done:
        around = [earlier[other][one] for one in _about(earlier[other], number, terms)]
        if change.kind is ChangeKind.CLOSES:
            # The plan is over; what else was said of it may hold.
            around = [one for one in around if one.by_agent]
        about = [earlier[other][number], *around]
        _retire(settled, other, about, by=said, decision=decision)
    if done and change.kind is ChangeKind.CLOSES:
        about = [new[one] for one in _about(new, place, terms) if new[one].by_agent]
        _retire(settled, key, about, by=said, decision=done[0][3])
    if done and change.kind is ChangeKind.RETRACTS:
        about = [said, *(new[one] for one in _about(new, place, terms))]
        _retire(settled, key, about, by=said, decision=done[0][3], names=terms)


def _give_way(
    settled: Settled[Key], said: Statement, earlier: Mapping[Key, Sequence[Statement]], *, until: float
) -> None:
    """Adds what gives way to `said`, which announces nothing: the former value of what has one at a time. What it
    denies is for review."""
    for other, statements in earlier.items():
        if time.monotonic() > until:
            return
        for old in statements:
            decision = None if old.by_agent else decide(said, old)
            if decision is not None and decision.review:
                settled.review.append((other, old, said, decision))
            if decision is None or decision.relation is not Relation.UPDATES:
                continue
            settled.linked.append((other, old, said, decision))
            if decision.confidence >= LEAST_CONFIDENCE:
                _retire(settled, other, [old], by=said, decision=decision)


def _retire(
    settled: Settled[Key],
    key: Key,
    gone: Iterable[Statement],
    *,
    by: Statement,
    decision: Decision,
    names: frozenset[str] = frozenset(),
) -> None:
    known = {(one.key, one.start) for one in settled.retired}
    settled.retired.extend(
        Retired(key, one.start, one.end, by, decision, names) for one in gone if (key, one.start) not in known
    )


def _sure(
    found: Sequence[tuple[Key, int, Statement, Decision]],
) -> list[tuple[Key, int, Statement, Decision]]:
    """Those of the earlier statements that were `found` that leave: what is sure enough, and what was named by a single
    common word if it can mean one memory only."""
    updates = [one for one in found if one[3].relation is Relation.UPDATES]
    certain = [one for one in updates if one[3].confidence >= LEAST_CONFIDENCE]
    named = [one for one in updates if one[3].confidence == BY_WORD]
    return [
        *(certain if len({key for key, *_ in certain}) <= MOST_MEMORIES else []),
        *(named if len({key for key, *_ in named}) == 1 else []),
    ]


def _meant(
    change: Change, said: Statement, earlier: Mapping[Key, Sequence[Statement]], *, until: float
) -> list[tuple[Key, int, Statement, Decision]]:
    """The earlier statements that `change` is about: (memory, place in it, statement, decision)."""
    if not object_terms(change.old):
        return []
    found = []
    for other, statements in earlier.items():
        if time.monotonic() > until:
            # What is not looked at could show that what was found names a topic, and no statement.
            return []
        topic = " ".join(one.text for one in statements) if change.what else ""
        for number, old in enumerate(statements):
            if not old.by_agent and meant(change, old, topic=topic):
                found.append((other, number, old, by_change(change, said, old)))
    return found


def _about(statements: Sequence[Statement], place: int, terms: frozenset[str]) -> list[int]:
    """The statements around that at `place` that are about it too: the agent's question that it answers, the agent's
    reply to it, and of what follows what names it, or points back by a pronoun before anything else is spoken of."""
    at = statements[place].turn
    found = [
        number
        for number, said in enumerate(statements)
        if said.by_agent and (said.turn == at + 1 or (said.turn == at - 1 and said.text.endswith(("?", "？"))))
    ]
    unbroken = True
    for number in range(place + 1, len(statements)):
        said = statements[number]
        if said.turn - at > TURNS_ABOUT:
            break
        if said.by_agent and said.turn == at + 1:
            # What the agent asks back is about it, and so is the answer.
            unbroken = True
            continue
        if not is_prose(said.text):
            continue
        names = bool(terms) and len(terms & own_terms(said.text)) * 2 >= len(terms)
        if names or (unbroken and _REFERS.search(said.text)):
            found.append(number)
        elif not said.by_agent:
            unbroken = False
    return found


def _announcements(settled: Settled[Key], key: Key, new: Sequence[Statement]) -> None:
    """Retires what only says that something will be taken back ("remove some information from …", "remove it")."""
    done = next((one for one in settled.retired if one.key == key and one.names), None)
    if done is None:
        return
    spare = [
        said
        for said in new
        if not said.by_agent
        and any(change.kind is ChangeKind.RETRACTS and not object_terms(change.old) for change in changes(said.text))
    ]
    _retire(settled, key, spare, by=done.by, decision=done.decision, names=done.names)
