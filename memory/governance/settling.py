"""Decides what a newer memory does to earlier ones; `memory.services.memories` applies the decisions.

Only explicit statements remove anything from search: a person who ends or takes back their own statement retires it. A
probable new value is only linked: both stay searchable, and the newer one ranks above the older. A list isn't an
update, and people can't retire what others said of themselves.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from memory.governance.update_score import (
    LINKED_FROM,
    can_reach,
    find_obstacle,
    is_correction,
    may_update,
    score_update,
)
from memory.text.analysis import is_cjk, terms
from memory.text.cues import is_negated
from memory.text.disowned import disowns, find_denied_claim
from memory.text.endings import Ending, find_endings, telling_terms
from memory.text.english_verbs import SIMPLE_PAST
from memory.text.moods import Mood, find_moods
from memory.text.sentences import is_question
from memory.text.subjects import content_terms, find_people, find_subject, is_of_speaker, is_third_person, names_others
from memory.text.translatable import gettext_noop as _
from memory.text.utterances import Statement

Key = TypeVar("Key", bound=Hashable)

# Confidence of an explicit ending, and of a denial.
OUTRIGHT, DENIED = 0.9, 0.6
# An ending that fits more memories names a topic; a request to forget may mean more of them.
MAX_ENDED, MAX_FORGOTTEN = 3, 10
# Share of the thing's terms that an earlier statement must contain; of FEW_TERMS or fewer it must contain all.
COVERED, FEW_TERMS = 0.75, 2
# Share of a denial's terms that the earlier statement must contain.
DENIED_SHARE = 0.5

ENDED = _("The newer statement says that it is over.")
TAKEN_BACK = _("The newer statement takes it back.")
CORRECTED = _("The newer statement was said to correct it.")
NEW_VALUE = _("The newer statement probably gives the new value.")
DENIES = _("One statement denies what the other says, and neither says that it changed.")

# A sentence that joins two things can't leave search because of one of them.
_JOINT = re.compile(r"[,;:] |\b(?:and|but|while|whereas|plus)\b|[，；：、]|和|以及")
# Places where a sentence that joins statements may be cut.
_PART = re.compile(r"[,;] (?:and |but |while |plus )?|[，；](?:而且|但是|不过|另外)?")
# Places where clauses are cut to find the one that a new value replaces.
_ANY_PART = re.compile(r"[,;] (?:and |but )?| (?:and|but) |[，；]")
_ONCE = re.compile(
    r"\b(?:today|tonight|tomorrow|this (?:morning|afternoon|evening|week|weekend|time))\b"
    r"|今[天晚早]|明[天早晚]|这[次周回]",
    re.IGNORECASE,
)
_WAS = re.compile(r"\b(?:was|were|had|did|used to)\b", re.IGNORECASE)
# Matches a word that makes the thing part of another: "coffee machine", 咖啡机.
_AFTER_THING = re.compile(
    r"(?!(?:and|or|on|in|at|for|with|to|of|from|by|about|as|is|are|am|every|each|all|a|an|the|my|our|once|twice|since|until"
    r"|which|who|that|where|when|because|but|so|than|this|these|those|any|anymore|too|also|again|now|here|there|together"
    r"|regularly|daily|weekly|i|we|it|per|three|two|four|five|six|\d)\b)[a-z]"
    r"|[机店馆厂位库场证费卡票包箱架会展赛人员师友圈牌险主道站祸队]|钥匙",
    re.IGNORECASE,
)
_NEVER = re.compile(
    r"(?:\b(?:never|haven't|hasn't|have not|has not|didn't|did not|not once)\b|从来没|从没|从未|没有?过)"
    r"(?P<what>[^,;.!?，；。！？]*)",
    re.IGNORECASE,
)
_INTENDS = re.compile(r"\b(?:hoping|hope|aiming|aim|about|plan(?:ning)?|want) to\b|想要|打算|希望|计划", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Decision:
    """The reason why an earlier statement gives way, in one sentence that quotes neither, and the confidence (0..1)."""

    reason: str
    confidence: float


@dataclass(frozen=True, slots=True)
class Retired(Generic[Key]):
    """The text at [start, end) of the memory `key`, which a statement `by` of the newer memory makes untrue.

    `names` holds index terms by which the memory can still be found.
    """

    key: Key
    start: int
    end: int
    by: Statement
    decision: Decision
    names: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Linked(Generic[Key]):
    """A new value: `by` replaces the statement at [start, end) of the memory `key`, which stays searchable."""

    key: Key
    start: int
    end: int
    by: Statement
    decision: Decision


@dataclass(frozen=True, slots=True)
class Disputed(Generic[Key]):
    """A dispute for a person to decide: `by` denies the statement `old` of the memory `key`."""

    key: Key
    old: Statement
    by: Statement
    decision: Decision


@dataclass(frozen=True, slots=True)
class Settled(Generic[Key]):
    """The decisions: `retired` leaves search, `linked` ranks below the newer memory, and `review` is for people."""

    retired: list[Retired[Key]] = field(default_factory=list)
    linked: list[Linked[Key]] = field(default_factory=list)
    review: list[Disputed[Key]] = field(default_factory=list)


# Computes the cosines of a newer statement with earlier ones, in order; None if the model's cosines aren't known.
Cosines = Callable[[str, Sequence[str]], Sequence[float] | None]


@dataclass(frozen=True, slots=True)
class Earlier(Generic[Key]):
    """Statements of earlier memories, oldest first, and links between memories as `successions` (newer, older).

    `conversation` has the memories of the newer one's session.
    """

    statements: Mapping[Key, Sequence[Statement]]
    near: Collection[Key] = ()
    named: Collection[Key] = ()
    conversation: Collection[Key] = ()
    successions: Collection[tuple[Key, Key]] = ()


def settle(
    key: Key,
    new: Sequence[Statement],
    earlier: Earlier[Key],
    *,
    measure_cosines: Cosines,
    until: float = float("inf"),
) -> Settled[Key]:
    """Decide what the statements `new` of the memory `key` do to earlier memories.

    Only statements by people count. Nothing more is decided once this thread has used CPU time (`time.thread_time`) up
    to `until`, in seconds.
    """
    settled: Settled[Key] = Settled()
    disowning = _list_disowning(new)
    for said in new:
        if said.by_agent:
            continue
        if time.thread_time() > until:
            break
        ended = _end_things(settled, key, said, earlier) or _correct_named(settled, said, earlier)
        if said.turn in disowning:
            ended = _take_back_claims(settled, said, earlier) or ended
        linked = None if ended else _find_former(said, earlier, measure_cosines)
        if linked is not None:
            settled.linked.append(linked)
        disputed = _find_denied(said, earlier)
        if disputed is not None:
            settled.review.append(disputed)
    return settled


def list_search_terms(statements: Sequence[Statement]) -> list[frozenset[str]]:
    """Return the terms that find what the statements end or deny, one set for each ending and denial."""
    told = [said.text for said in statements if not said.by_agent]
    found = [ending.terms for text in told for ending in find_endings(text)]
    disowning = _list_disowning(statements)
    denied = [find_denied_claim(said.text) for said in statements if said.turn in disowning]
    claims = [telling_terms(claim) for claim in denied if claim]
    return [wanted for wanted in (*found, *claims, *map(find_denied_terms, told)) if wanted]


def is_update(statement: Statement) -> bool:
    """Tell whether a statement may give the new value of something."""
    return not statement.by_agent and may_update(statement.text)


def _correct_named(settled: Settled[Key], said: Statement, earlier: Earlier[Key]) -> bool:
    """Retire what `said` corrects in the memories that the newer one names; tell whether it corrects anything."""
    decision, done = Decision(CORRECTED, OUTRIGHT), False
    for key in earlier.named:
        for old in earlier.statements.get(key, ()):
            if said.speaker == old.speaker and not old.by_agent and is_correction(said.text, old.text):
                settled.linked.append(Linked(key, old.start, old.end, said, decision))
                settled.retired.append(Retired(key, old.start, old.end, said, decision))
                done = True
    return done


def _list_disowning(statements: Sequence[Statement]) -> frozenset[int]:
    """Return the turns in which a person disowns what was said."""
    own = [said for said in statements if not said.by_agent]
    return frozenset(said.turn for said in own if disowns([said.text]))


def _take_back_claims(settled: Settled[Key], said: Statement, earlier: Earlier[Key]) -> bool:
    """Retire claims of the conversation that `said` denies in a turn that disowns them; tell whether there were any."""
    claim = find_denied_claim(said.text)
    ending = Ending(claim, request=True) if claim else None
    if ending is None or not ending.terms:
        return False
    found = [
        (key, old, span)
        for key in earlier.conversation
        for old in earlier.statements.get(key, ())
        if not old.by_agent and is_of_speaker(old.text) and not is_negated(old.text) and not find_moods(old.text)
        if _means(ending, said, old) and (span := _find_span(ending, old))
    ]
    if len({key for key, _, _ in found}) > MAX_ENDED:
        return False
    decision = Decision(TAKEN_BACK, OUTRIGHT)
    for key, old, span in found:
        start, end = old.span(*span)
        settled.linked.append(Linked(key, start, end, said, decision))
        settled.retired.append(Retired(key, start, end, said, decision))
    return bool(found)


def _end_things(settled: Settled[Key], key: Key, said: Statement, earlier: Earlier[Key]) -> bool:
    """Retire everything that `said` explicitly ends; tell whether there was anything."""
    done = False
    for ending in find_endings(said.text):
        found = [
            (other, old)
            for other, statements in earlier.statements.items()
            for old in statements
            if not old.by_agent and _means(ending, said, old)
        ]
        if not found or len({other for other, _ in found}) > (MAX_FORGOTTEN if ending.request else MAX_ENDED):
            continue
        decision = Decision(TAKEN_BACK if ending.request else ENDED, OUTRIGHT)
        for other, old in found:
            span = _find_span(ending, old)
            start, end = old.span(*span) if span else (old.start, old.end)
            settled.linked.append(Linked(other, start, end, said, decision))
            if span and (ending.request or not _ONCE.search(said.text)):
                settled.retired.append(Retired(other, start, end, said, decision))
        if ending.request and settled.retired and can_leave(said.text):
            # The request itself repeats what it asks to forget, so it is retired, too.
            settled.retired.append(Retired(key, said.start, said.end, said, decision, ending.terms))
        done = True
    return done


def _find_span(ending: Ending, old: Statement) -> tuple[int, int] | None:
    """Return the text [first, last) of `old` that the ending retires, or None if that is unclear.

    It is the whole text, or one part of a sentence that joins several if the others read well without it.
    """
    text = old.text.rstrip(".。!！ ")
    joints = list(_PART.finditer(text))
    if not joints:
        return (0, len(old.text)) if can_leave(old.text) else None
    bounds = [0, *(joint.end() for joint in joints), len(text)]
    parts = list(zip(bounds, [*(joint.start() for joint in joints), len(text)], bounds[1:], strict=False))
    naming = [part for part in parts if _hold(ending, text[part[0] : part[1]])]
    others = [text[start:end] for start, end, _ in parts if (start, end) != naming[0][:2]] if naming else []
    if len(naming) != 1 or not can_leave(text[naming[0][0] : naming[0][1]]) or not all(map(_stands_alone, others)):
        return None
    start, _, after = naming[0]
    return (start, after) if after < len(text) else (joints[-1].start(), len(text))


def _stands_alone(part: str) -> bool:
    """Tell whether a part of a sentence has a subject other than a pronoun."""
    subject = find_subject(part)
    return bool(content_terms(subject)) and not is_third_person(part)


def _hold(ending: Ending, text: str) -> frozenset[str]:
    """Return the terms of the ended thing that `text` contains, or an empty set if they are too few."""
    wanted = ending.terms
    # Single-character Chinese words aren't indexed next to longer words.
    held = wanted & telling_terms(text) | {term for term in wanted if len(term) == 1 and term in text}
    return held if len(held) >= (len(wanted) if len(wanted) <= FEW_TERMS else COVERED * len(wanted)) else frozenset()


def can_leave(statement: str) -> bool:
    """Tell whether a statement says one thing only, so that nothing else leaves search with it."""
    return _JOINT.search(statement.rstrip(".。!！ ")) is None


def _means(ending: Ending, said: Statement, old: Statement) -> bool:
    """Tell whether `old` is its speaker's own present statement of what the `ending` in `said` ends."""
    held = _hold(ending, old.text)
    if not held:
        return False
    if said.speaker != old.speaker or is_question(old.text) or _is_about_others(said, old):
        return False
    if ending.request:
        return True
    if ending.verb not in old.text or (is_of_speaker(old.text) and is_third_person(said.text)):
        return False
    present = not _WAS.search(old.text) and not SIMPLE_PAST & set(old.text.lower().split())
    return present and is_of_speaker(old.text) and not find_moods(old.text) and not _is_part(held, old.text)


def _is_about_others(said: Statement, old: Statement) -> bool:
    mine, theirs = find_people(said.text), find_people(find_subject(old.text))
    subject = find_people(find_subject(said.text))
    return bool(theirs - mine or subject - find_people(old.text)) or names_others(said.text) != names_others(old.text)


def _is_part(held: frozenset[str], text: str) -> bool:
    """Tell whether the words of the thing only belong to another name, as "coffee" in "the coffee machine"."""
    last = 0
    for match in re.finditer(r"[^\W_]+", text):
        word = match.group()
        if is_cjk(word[0]):
            ends = [match.start() + word.rfind(term) + len(term) for term in held if term in word]
            last = max([last, *ends])
        elif held & set(terms(word)):
            last = match.end()
    following = text[last:]
    glued = following.startswith(" ") or (bool(following) and is_cjk(following[0]))
    return glued and _AFTER_THING.match(following.lstrip()) is not None


def _find_former(said: Statement, earlier: Earlier[Key], measure_cosines: Cosines) -> Linked[Key] | None:
    """Return a link to the earlier statement that `said` probably gives a new value of.

    Return None if there is none, or if there are several that form a list.
    """
    if not may_update(said.text):
        return None
    candidates = [
        (key, old)
        for key in earlier.near
        for old in earlier.statements.get(key, ())
        if _may_speak_for(said, old) and not find_obstacle(said.text, old.text) and can_reach(said.text, old.text)
    ]
    cosines = measure_cosines(said.text, [old.text for _, old in candidates]) if candidates else None
    if cosines is None:
        return None
    scores = [score_update(said.text, old.text, cosine) for (_, old), cosine in zip(candidates, cosines, strict=True)]
    probable = [place for place, score in enumerate(scores) if score >= LINKED_FROM]
    keys = list(dict.fromkeys(candidates[place][0] for place in probable))
    if not probable or not _is_one_value(keys, earlier.successions):
        return None
    best = max(probable, key=scores.__getitem__)
    key, old = candidates[best]
    newest = _find_newest(key, earlier)
    if newest != key:
        key, old = newest, earlier.statements[newest][0]
    start, end = old.span(*_find_part(old.text, said.text))
    return Linked(key, start, end, said, Decision(NEW_VALUE, round(scores[best], 3)))


def _find_part(text: str, newer: str) -> tuple[int, int]:
    """Return [first, last) of the part of a sentence that shares most terms with `newer`."""
    joints = list(_ANY_PART.finditer(text))
    starts, ends = [0, *(joint.end() for joint in joints)], [*(joint.start() for joint in joints), len(text)]
    shared = frozenset(terms(newer))
    parts = list(zip(starts, ends, strict=True))
    return max(parts, key=lambda part: len(shared & frozenset(terms(text[part[0] : part[1]]))))


def _find_newest(key: Key, earlier: Earlier[Key]) -> Key:
    """Return the newest memory in the chain of successors of the memory `key`."""
    later = {older: newer for newer, older in earlier.successions if newer in earlier.statements}
    seen = {key}
    while key in later and later[key] not in seen and earlier.statements[later[key]]:
        key = later[key]
        seen.add(key)
    return key


def _is_one_value(keys: Sequence[Key], successions: Collection[tuple[Key, Key]]) -> bool:
    """Tell whether the memories are values of one thing, each linked to another of them; otherwise they are a list."""
    linked = {key for pair in successions if set(pair) <= set(keys) for key in pair}
    return len(keys) < 2 or linked == set(keys)


def _may_speak_for(said: Statement, old: Statement) -> bool:
    """Tell whether the speaker of `said` may update `old`: their own statement, or a thing of neither speaker."""
    if old.by_agent:
        return False
    return said.speaker == old.speaker or not (is_of_speaker(said.text) or is_of_speaker(old.text))


def _find_denied(said: Statement, earlier: Earlier[Key]) -> Disputed[Key] | None:
    """Return the newest of the same speaker's statements that best match what `said` denies for all time, or None."""
    never = find_denied_terms(said.text)
    best: tuple[int, Disputed[Key]] | None = None
    for key, old in _list_statements(earlier) if never else ():
        common = len(never & telling_terms(old.text))
        if common < max(2, DENIED_SHARE * len(never)) or said.speaker != old.speaker or is_negated(old.text):
            continue
        if is_question(old.text) or _INTENDS.search(old.text) or Mood.SUPPOSES in find_moods(old.text):
            continue
        if best is None or common >= best[0]:
            best = common, Disputed(key, old, said, Decision(DENIES, DENIED))
    return best[1] if best else None


def find_denied_terms(sentence: str) -> frozenset[str]:
    """Return the terms that `sentence` denies for all time ("I have never …"); empty without such a denial."""
    never = _NEVER.search(sentence)
    return telling_terms(never["what"]) if never else frozenset()


def _list_statements(earlier: Earlier[Key]) -> Iterator[tuple[Key, Statement]]:
    for key, statements in earlier.statements.items():
        yield from ((key, old) for old in statements if not old.by_agent)
