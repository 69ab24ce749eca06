"""How a newer statement stands to an earlier one of the same namespace, and why. Decides; writes nothing.

What says outright that something changed ("no longer", "moved to", "改成") is sure; another value of an attribute that
holds one at a time is probable; a denial of what was said is a contradiction, which only a person may settle.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from memory.enums import ChangeKind, Relation, Sameness
from memory.governance.duplicates import sameness
from memory.text.analysis import cjk_share, terms
from memory.text.changes import Change, changes, is_prose, object_terms, own_terms
from memory.text.cues import is_negated
from memory.text.sentences import is_question
from memory.text.slots import SINGLE, Slots, slots
from memory.text.utterances import Statement

# Share of the terms of a change's object that an earlier statement must hold to be what is meant.
COVERED = 0.75
FEW = 4
# Share of the terms of two statements that makes them of one topic, and of one frame but for the values.
TOPIC = 0.3
# Share of an earlier statement's own terms that a short object must make up: a statement on it, not one that names it.
FOCUS = 0.1
SHORT = 3
# The same for a plan that is done.
PLAN_FOCUS = 0.25
FRAME = 0.6
# Share of what is denied for all time that the other must speak of.
DENIED = 0.5
# How sure each ground is.
BY_CUE, BY_CONTAINER, BY_SLOT, BY_OPINION, BY_WORD, BY_DENIAL = 0.9, 0.8, 0.75, 0.7, 0.65, 0.6

_NAME = re.compile(r"(?<=[\w,;:'\"“(] )[\"'“]?([A-Z][\w.&'-]+)")
_NEVER = re.compile(
    r"(?:\b(?:never|haven't|hasn't|have not|has not|didn't|did not|not once)\b|从来没|从没|从未|没有?过)"
    r"(?P<what>[^,;.!?，；。！？]*)",
    re.IGNORECASE,
)
# What is new is said of the same thing, not of another: "I used to dislike it, but have come to love it".
_REFERS = re.compile(r"\b(?:it|its|them|their|they|they're|him|his|he|her|she)\b|它|他|她", re.IGNORECASE)
# What is only meant to be done is not denied by who says that it was never done.
_INTENDS = re.compile(r"\b(?:hoping|hope|aiming|aim|about) to\b|想要|打算|希望", re.IGNORECASE)
_QUOTE_CHARS = 80
_OWN_LISTS = frozenset(
    own_terms("to-do todo list task calendar event note memory profile preference record work personal schedule")
)


@dataclass(frozen=True, slots=True)
class Decision:
    """`reason` is one sentence for people; `evidence` are the words that it rests on; `confidence` 0..1.

    `review`: a person should look at it. `change`: what the newer statement says outright, if that decided.
    """

    relation: Relation
    reason: str
    evidence: tuple[str, ...]
    confidence: float
    review: bool = False
    change: Change | None = None


def decide(new: Statement, old: Statement, *, cosine: float | None = None, topic: str = "") -> Decision:
    """How `new`, said later, stands to `old`. `topic`: the text around `old`, to tell which list or plan it belongs to.

    `cosine`: of the two under the embedding model, if it is known; without, restatements in other words are not seen.
    """
    same = sameness(new.text, old.text, cosine=cosine)
    if same in (Sameness.EXACT, Sameness.RESTATES) and new.speaker == old.speaker:
        return Decision(Relation.RESTATES, "Both say the same.", (old.text,), 1.0 if same is Sameness.EXACT else 0.9)
    if is_question(old.text) or is_question(new.text):
        return Decision(Relation.UNRELATED, "One of them only asks.", (), 0.9)
    for change in changes(new.text):
        if is_meant(change, old, topic=topic):
            return by_change(change, new, old)
    mine, theirs = slots(new.text), slots(old.text)
    of_value = _by_value(new, old, mine, theirs)
    return of_value or _by_denial(new, old, mine, theirs) or _by_topic(mine, theirs)


def is_meant(change: Change, old: Statement, *, topic: str = "") -> bool:
    """Whether `old` is what `change` takes back, closes or replaces: it holds the terms of its object (or all its
    names), speaks of the same attribute, and stands where the change says ("from the agenda")."""
    wanted = object_terms(change.old)
    held = own_terms(old.text)
    share = len(wanted & held) / len(wanted) if wanted else 0.0
    if not share or is_question(old.text) or not is_prose(old.text):
        return False
    if not _container_fits(change, f"{topic} {old.text}"):
        return False
    names = _names(change.old)
    named = bool(names) and names <= held
    asked, said = slots(f"{change.cue} {change.old}").attributes, slots(old.text).attributes
    if change.kind is ChangeKind.CLOSES and len(wanted & held) < PLAN_FOCUS * len(held):
        return False
    if change.kind is ChangeKind.CLOSES and (find_denied_terms(old.text) or _closes(old.text)):
        return False
    if change.kind is ChangeKind.CLOSES:
        return share >= COVERED and (bool({"plans", "time"} & said) or bool(asked & said))
    if len(wanted) < SHORT and len(wanted & held) < FOCUS * len(held):
        return False
    # A thing named by few words is another when one of them differs.
    if share >= (COVERED if len(wanted) > FEW else 1.0):
        return len(wanted) > 1 or bool(asked & said) or not asked
    return named and bool(asked & said)


def _closes(sentence: str) -> bool:
    return any(change.kind is ChangeKind.CLOSES for change in changes(sentence))


def one_word(change: Change) -> bool:
    """Whether `change` names what it is about by a single common word ("the deadline"), of which there may be many."""
    return len(object_terms(change.old)) == 1 and not _names(change.old) and change.kind is not ChangeKind.CLOSES


def _is_value(phrase: str) -> bool:
    """Whether `phrase` is a number or a date and no more."""
    bare = phrase.replace(",", "")
    return own_terms(bare) <= {term for value in slots(bare).values for term in terms(value)}


def _names(phrase: str) -> frozenset[str]:
    return own_terms(" ".join(_NAME.findall(f"a {phrase}")))


def _container_fits(change: Change, text: str) -> bool:
    where = object_terms(change.what) - _OWN_LISTS
    return not where or len(where & own_terms(text)) >= len(where) / 2


def find_denied_terms(sentence: str) -> frozenset[str]:
    """The terms of what `sentence` denies for all time ("I have never …"); none if it denies nothing so."""
    never = _NEVER.search(sentence)
    return frozenset(terms(never.group("what"))) if never else frozenset()


def by_denial(new: Statement, old: Statement) -> Decision | None:
    """The decision for an `old` statement that speaks of at least half of what `new` denies for all time, whatever else
    it says of it; None when it does not, only hopes for it, denies it itself, asks, or is another speaker's.

    Weaker than `decide`, which also wants both to be told in one form: of all earlier statements the one that speaks of
    most of it is meant.
    """
    never = find_denied_terms(new.text)
    if not never or new.speaker != old.speaker or not (is_prose(new.text) and is_prose(old.text)):
        return None
    if find_denied_terms(old.text) or is_question(old.text) or _INTENDS.search(old.text):
        return None
    common = never & slots(old.text).about
    return _decide_denial(common) if len(common) >= max(2, DENIED * len(never)) else None


def by_change(change: Change, new: Statement, old: Statement) -> Decision:
    """The decision for an `old` statement that is `meant` by what `new` says outright."""
    says = {
        ChangeKind.RETRACTS: f"takes back {_quote(change.old)}",
        ChangeKind.CLOSES: f"says that {_quote(change.old)} is done",
        ChangeKind.REPLACES: f"puts {_quote(change.new)} in the place of {_quote(change.old)}"
        if change.new
        else f"says that {_quote(change.old)} has changed",
    }[change.kind]
    own = new.speaker == old.speaker
    if change.kind is ChangeKind.REPLACES and (_REFERS.search(change.new) or _is_value(change.old)):
        # Of the same thing, or of a number that says little of what it counts: linked, but no reason to hide the older.
        sure = BY_OPINION
    elif one_word(change):
        sure = BY_WORD
    else:
        sure = BY_CONTAINER if change.what else BY_CUE
    return Decision(
        Relation.UPDATES if own else Relation.CONTRADICTS,
        f"The newer statement {says}" + ("." if own else ", but another speaker said it."),
        (change.cue, change.old),
        sure if own else BY_DENIAL,
        review=not own,
        change=change,
    )


def _by_value(new: Statement, old: Statement, mine: Slots, theirs: Slots) -> Decision | None:
    if mine.subject != theirs.subject:
        return None
    shared = mine.attributes & theirs.attributes
    if "likes" in shared and mine.likes is not theirs.likes and _overlap(mine, theirs) >= TOPIC:
        return _decide_replacement(new, old, "likes", BY_OPINION, (new.text,))
    moved = shared & {"lives", "works"} if mine.places and theirs.places else frozenset()
    if mine.conditions != theirs.conditions or not mine.values or not theirs.values:
        return None
    if (mine.event or theirs.event) and not moved:
        return None
    if mine.values & theirs.values == mine.values:
        return None
    single = shared & SINGLE
    if moved and new.speaker == old.speaker and mine.places.isdisjoint(theirs.places):
        return _decide_replacement(new, old, min(moved), BY_SLOT, tuple(sorted(mine.values | theirs.values)))
    frame = _overlap(mine, theirs)
    if single and frame >= FRAME:
        return _decide_replacement(new, old, min(single), BY_SLOT, tuple(sorted(mine.values ^ theirs.values)))
    return None


def _decide_replacement(
    new: Statement, old: Statement, attribute: str, confidence: float, evidence: tuple[str, ...]
) -> Decision:
    if new.speaker == old.speaker:
        return Decision(
            Relation.UPDATES,
            f"The same speaker gives another value of {attribute!r}, of which there is one at a time.",
            evidence,
            confidence,
        )
    return Decision(Relation.CONTRADICTS, f"Two speakers differ on {attribute!r}.", evidence, BY_DENIAL, review=True)


def _by_denial(new: Statement, old: Statement, mine: Slots, theirs: Slots) -> Decision | None:
    """One denies what the other says; a denial for all time needs only what it is about."""
    one, other = is_negated(new.text), is_negated(old.text)
    if one == other or mine.subject != theirs.subject or mine.conditions != theirs.conditions:
        return None
    denial, claim = (mine, theirs) if one else (theirs, mine)
    if {"plans", "goal"} & claim.attributes or _INTENDS.search(old.text if one else new.text):
        return None
    never = find_denied_terms(new.text if one else old.text)
    common = (never or denial.about) & claim.about
    share = len(common) / len(never) if never else _overlap(mine, theirs)
    if len(common) < 2 or share < (DENIED if never else FRAME):
        return None
    return _decide_denial(common)


def _decide_denial(common: frozenset[str]) -> Decision:
    return Decision(
        Relation.CONTRADICTS,
        "One statement denies what the other says, and neither says that it changed.",
        tuple(sorted(common)),
        BY_DENIAL,
        review=True,
    )


def _by_topic(mine: Slots, theirs: Slots) -> Decision:
    common = tuple(sorted(mine.about & theirs.about))
    if _overlap(mine, theirs) >= TOPIC and len(common) > 1:
        return Decision(Relation.ADDS, "Both speak of the same and hold side by side.", common, 0.6)
    return Decision(Relation.UNRELATED, "They speak of different things.", (), 0.7)


def _overlap(mine: Slots, theirs: Slots) -> float:
    together = len(mine.about | theirs.about)
    return len(mine.about & theirs.about) / together if together else 0.0


def _quote(words: str) -> str:
    marks = "「」" if cjk_share(words) > 0.5 else "“”"
    return f"{marks[0]}{words[:_QUOTE_CHARS]}{marks[1]}"
