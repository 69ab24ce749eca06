"""Whether a newer claim gives another value of what an earlier one says, or ends it. Decides; writes nothing.

Two claims are of one thing when they are about the same person, their topics share what tells them apart and neither
names what the other cannot mean. Then a value of the same kind replaces the other, if the newer one says that
something changed, or if the thing has one value at a time. What is not sure is linked and hides nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from memory.text.analysis import is_cjk, terms
from memory.text.attributes import Attribute, attributes
from memory.text.claims import Claim, strong, telling
from memory.text.holders import is_another, is_exception, is_other_thing, is_same_holder, subject_of
from memory.text.values import Value, with_preposition

# What is at least so sure may leave search (see `comparison.LEAST_CONFIDENCE`).
SURE, PROBABLE, UNSURE = 0.9, 0.8, 0.6
# Share of the telling terms of the narrower topic that the other must hold.
SHARED = 0.5
# Verbs whose object is one at a time.
_ONE_AT_A_TIME = frozenset([*terms("reside bank commute sleep"), "住", "开"])
# Verbs of many objects: another one takes the place only of what is used for the same.
_ONE_FOR_A_PURPOSE = frozenset(
    [*terms("use take go run ride own wear attend train lead"), "用", "坐", "学", "骑", "穿", "做"]
)
# Attributes of which another value ends the former even where nothing says so.
_ALWAYS_ONE = frozenset(("lives", "works"))
_CHANGING = frozenset(terms("moved changed switched converted migrated renamed replaced upgraded transferred shifted"))
# More terms than these besides what was changed say more than one thing.
_FEW_TERMS = 3
_JOINS = re.compile(r"\b(?:and|plus|with|but)\b|[,;&、，；]\s?(?=\S)|和|以及|加上", re.IGNORECASE)
_FOR_NOW = re.compile(r"^(?:this|next) |^[这本下]周$|^tomorrow$|^明天$")
_CONTACTS = frozenset(("phone", "address"))
_RECURRING = re.compile(r"(?:mon|tues|wednes|thurs|fri|satur|sun)days\b|\bweekends?\b", re.IGNORECASE)
_BODY = re.compile(r"\s(?:of|for|at)\s(.+)$")
_PHRASE = re.compile(r"\s(?:as|at|in|on|for|with|to|near)\s(?:an?\s|the\s|my\s|our\s)?$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Update:
    """The earlier claim gives way, so `confidence` sure. `words`: [first, last) of its clause that hold the old value
    alone, when it says more than that; None: the whole clause does."""

    reason: str
    confidence: float
    evidence: tuple[str, ...]
    words: tuple[int, int] | None = None
    partial: bool = False


def update(new: Claim, old: Claim) -> Update | None:
    """What `new`, said later by whom may say so, does to `old`; None when both may hold."""
    if not new.asserts or new.past or new.adds or is_another(new, old) or old.asks or old.quotes or old.past:
        return None
    if not is_same_holder(new, old) or is_other_thing(new, old) or is_exception(new, old):
        return None
    return (
        _by_value(new, old)
        or _by_attribute(new, old)
        or _by_verb(new, old)
        or _by_name(new, old)
        or _by_change(new, old)
    )


def is_other_record(newer: str, older: str, values: Sequence[str]) -> bool:
    """Whether two sentences each name something besides the `values` that the other does not: "Order 17: 40 euros" and
    "Order 18: 55 euros" are two records, and none corrects the other unless it says so."""
    told = frozenset(terms(" ".join(values)))
    mine, theirs = frozenset(terms(newer)) - told, frozenset(terms(older)) - told
    return bool(mine - theirs) and bool(theirs - mine)


def _by_attribute(new: Claim, old: Claim) -> Update | None:
    """Another value of an attribute that a person or a thing has one of at a time, or its end."""
    if old.tense == "past" or not old.asserts:
        return None
    held = [(mine, theirs) for mine in attributes(new.clause.text) for theirs in attributes(old.clause.text)]
    for mine, theirs in held:
        if theirs.ends or not _same_attribute(mine, theirs, new, old) or _is_further(new, old):
            continue
        if mine.ends or (mine.begins and not mine.value):
            return _build_update(mine, theirs, old)
        if old.negated or new.negated or not theirs.value or not mine.value:
            continue
        value, former = frozenset(terms(mine.value)), frozenset(terms(theirs.value))
        if not value or not former or value & former >= min(value, former, key=len):
            continue
        if mine.name == "role" and _of_another_body(mine, old):
            continue
        if mine.begins or new.changes or (mine.name in _ALWAYS_ONE and _are_both_names(mine, theirs, new, old)):
            return _build_update(mine, theirs, old)
    return None


def _is_further(new: Claim, old: Claim) -> bool:
    """Whether the newer tells its subject apart from that of the earlier: the backup server is not the server."""
    further = strong(new.subject) - telling(old.topic) - new.names
    return bool(further) and bool(strong(new.subject) & strong(old.subject))


def _of_another_body(mine: Attribute, old: Claim) -> bool:
    """Whether it is the role in something that the earlier claim does not speak of ("treasurer of the choir")."""
    match = _BODY.search(mine.value)
    return match is not None and not frozenset(terms(match.group(1))) <= old.topic


def _are_both_names(mine: Attribute, theirs: Attribute, new: Claim, old: Claim) -> bool:
    """Whether both values are names: a home in a studio may be a home in Leeds."""
    written = new.clause.text[mine.start : mine.start + 1], old.clause.text[theirs.start : theirs.start + 1]
    return all(first.isupper() or is_cjk(first) for first in written if first)


def _same_attribute(mine: Attribute, theirs: Attribute, new: Claim, old: Claim) -> bool:
    places = {"lives", "where"}
    subject, former = telling(new.subject), telling(old.subject)
    if mine.name in places and theirs.name in places and {mine.name, theirs.name} != {"lives"}:
        return bool(former) and former <= telling(new.topic) and not old.people
    if mine.name != theirs.name:
        return False
    if new.owner == old.owner == "own" and not (subject or former):
        return True
    return bool((subject | new.people | new.names) & (former | old.people | (old.names & old.subject)))


def _build_update(mine: Attribute, theirs: Attribute, old: Claim) -> Update:
    text = old.clause.text
    others = [one for one in attributes(text) if one.name not in (theirs.name, "where")]
    words = (_phrase_start(text, theirs.start), theirs.end) if others and theirs.value else None
    reason = "The newer statement says what it is now." if mine.value else "The newer statement says that it is over."
    return Update(reason, PROBABLE, (theirs.value, mine.value), words, partial=bool(others))


def _phrase_start(text: str, start: int) -> int:
    match = _PHRASE.search(text[:start])
    return match.start() if match else start


def _by_value(new: Claim, old: Claim) -> Update | None:
    """Another value of the same kind for the same topic."""
    pairs = [] if new.negated or old.negated else differing(new.values, old.values)
    if not pairs or not (old.asserts or new.changes) or not _is_one_topic(new, old, pairs):
        return None
    sure = _sureness(new, old, pairs)
    if sure is None:
        return None
    given, said = {value.kind for value, _ in pairs}, {_plain(value) for value in new.values}
    others = [value for value in old.values if value.kind not in given and _plain(value) not in said]
    value, former = pairs[0]
    words = _phrase(old.clause.text, former) if others else None
    left = telling(old.topic) - telling(new.topic) - {old.verb}
    reason = f"The newer statement gives another {_WORDS.get(value.kind, 'value')}."
    return Update(reason, sure, (former.text, value.text), words, partial=bool(others) or says_more(old, left))


def _phrase(clause: str, value: Value) -> tuple[int, int]:
    """Where the phrase of a value stands, with the space before it."""
    start = with_preposition(clause, value)
    return (start - 1 if clause[start - 1 : start] == " " else start), value.end


def _is_one_topic(new: Claim, old: Claim, pairs: Sequence[tuple[Value, Value]]) -> bool:
    """Whether both speak of one thing, by the terms that tell it apart."""
    mine, theirs = telling(new.topic), telling(old.topic)
    common = mine & theirs
    contact = new.changes and all(value.kind in _CONTACTS for value, _ in pairs)
    named = contact and strong(new.topic) == strong(old.topic)
    if not named and (not common - {new.verb, old.verb} or len(common) < SHARED * min(len(mine), len(theirs))):
        return False
    if not named and not _are_parallel(new, old):
        return False
    if not (subject_of(new) or subject_of(old)) and mine - theirs and theirs - mine:
        # "I pay 30 for the gym", "I pay 12 for music now".
        return False
    apart = (
        (new.names, old.names, old.names, new.names),
        (strong(new.subject), theirs, strong(old.subject), mine),
        (telling(new.of), theirs, telling(old.of), mine),
    )
    return not any(one - other and former - latter for one, other, former, latter in apart)


def _are_parallel(new: Claim, old: Claim) -> bool:
    """Whether what both say is said of the same subject, or, of the speaker, by the same verb: "the gym opens at 8" is
    not about when somebody goes there."""
    mine, theirs = subject_of(new), subject_of(old)
    if mine and theirs:
        return bool(mine & theirs) or bool(new.names & old.names)
    return not (mine or theirs) and (new.verb == old.verb or new.verb in _CHANGING | {"be", ""})


def _sureness(new: Claim, old: Claim, pairs: Sequence[tuple[Value, Value]]) -> float | None:
    """How sure another value of one topic replaces the former; None when both may hold."""
    theirs = telling(old.topic)
    further = strong(new.subject) - theirs
    counted = any(value.kind == "amount" and (value.unit or former.unit) for value, former in pairs)
    alike = _functional(new, old)
    if _only_on_days(new, old) or (counted and not new.changes and not alike):
        return None
    if further and strong(new.subject) & strong(old.subject):
        # The database server, where the earlier speaks of a server.
        return None
    if new.names - old.names or telling(new.of) - theirs:
        return UNSURE
    if new.changes:
        return SURE
    return PROBABLE if alike and not further else None


def says_more(old: Claim, left: frozenset[str]) -> bool:
    """Whether a clause says so much besides the old value that it cannot go as a whole."""
    return len(left) > (1 if is_joined(old) else _FEW_TERMS)


def is_joined(claim: Claim) -> bool:
    """Whether a clause lists or joins things."""
    return _JOINS.search(claim.clause.text) is not None


def _only_on_days(new: Claim, old: Claim) -> bool:
    """Whether the newer holds on some days only that the earlier does not name."""
    days = {value.text for value in new.values if value.kind == "day"}
    former = {value.text for value in old.values if value.kind == "day"}
    if any(_FOR_NOW.search(day) for day in days) and len(days) > 1:
        return True
    if not days or former:
        return False
    return not new.changes or any(_RECURRING.search(day) for day in days)


_WORDS = {"clock": "time", "day": "day", "phone": "number", "money": "amount", "address": "address"}


def differing(new: Sequence[Value], old: Sequence[Value]) -> list[tuple[Value, Value]]:
    """Values of one kind that differ, where none of the newer ones is one of the earlier ones."""
    found = []
    for value in new:
        same = [other for other in old if other.kind == value.kind and _same_unit(value, other)]
        if any(_plain(other) == _plain(value) for other in same):
            continue
        found += [(value, other) for other in same]
    return found


def _same_unit(value: Value, other: Value) -> bool:
    return not value.unit or not other.unit or value.unit == other.unit


def _plain(value: Value) -> str:
    return value.text.removeprefix("the ")


def _functional(new: Claim, old: Claim) -> bool:
    """Whether both speak of one definite thing in the same way, which has one such value at a time."""
    subject = telling(new.subject) & telling(old.subject)
    return bool(subject) and new.verb == old.verb and new.tense == old.tense != "past"


def _by_verb(new: Claim, old: Claim) -> Update | None:
    """Another object of the same verb, which has one at a time, where the newer says "now"."""
    if not new.changes or new.negated or old.negated or old.tense == "past" or not old.asserts:
        return None
    if new.verb != old.verb or new.verb not in _ONE_AT_A_TIME | _ONE_FOR_A_PURPOSE:
        return None
    shared = telling(new.objects) & telling(old.objects) & old.topic
    if new.verb in _ONE_FOR_A_PURPOSE and not (shared or subject_of(old)):
        return None
    if not new.objects or not old.objects or new.objects & old.objects >= old.objects:
        return None
    if telling(new.subject) != telling(old.subject):
        return None
    return Update("The newer statement says what it is now.", PROBABLE, tuple(sorted(new.objects)))


def _by_name(new: Claim, old: Claim) -> Update | None:
    """Another name for what a definite subject is ("My dentist is …")."""
    if new.verb != "be" or old.verb != "be" or new.negated or old.negated or new.people or not old.asserts:
        return None
    subject, former = telling(new.subject), telling(old.subject)
    if not subject or not former or not (subject == former or (new.changes and subject <= former)):
        return None
    if not new.objects or not old.objects or telling(new.objects) & telling(old.objects):
        return None
    named = bool(new.names - new.subject) and bool(old.names - old.subject)
    if not (new.changes or named):
        return None
    return Update("The newer statement says what it is now.", PROBABLE, tuple(sorted(new.objects)))


def _by_change(new: Claim, old: Claim) -> Update | None:
    """Something else in the place of what the earlier says of the thing that was changed."""
    if (
        new.verb not in _CHANGING
        or not new.objects
        or attributes(new.clause.text)
        or new.values
        or old.values
        or not old.asserts
        or new.negated
        or old.negated
    ):
        return None
    thing, said = telling(new.subject), telling(old.topic)
    left = said - thing - {old.verb}
    if (
        not thing
        or not thing <= said
        or not left
        or left & new.objects
        or len(left) > _FEW_TERMS
        or old.tense == "past"
    ):
        return None
    sure = PROBABLE if len(thing) > 1 or thing <= telling(old.subject) else UNSURE
    return Update("The newer statement says what takes its place.", sure, tuple(sorted(new.objects)))
