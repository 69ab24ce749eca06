"""Finds by rules what speakers say that they like, dislike, can't have or usually do.

A preference is one clause whose subject is the speaker, stated as true in general. Questions, suppositions, wishes,
quotations, hearsay, jokes, and statements about the past or a single time don't count. Unclear clauses are left out:
the turn itself can still be found.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from memory.enums import Attitude, FactRefusal
from memory.text import preference_cues as cues
from memory.text import preference_limits as limits
from memory.text.analysis import FUNCTION_CHARACTERS, is_cjk, terms
from memory.text.facts import MAX_SOURCES, Fact, check_fact
from memory.text.model_evidence import read_evidence
from memory.text.preference_evidence import find_attitude
from memory.text.sentences import is_first_person, is_question
from memory.text.statements import Turn
from memory.text.utterances import own_statements

MAX_OBJECT_CHARS = 200
MAX_PER_TURN = 8
# Longer turns are pasted documents, which seldom speak of the speaker.
MAX_TURN_CHARS = 2_000
_MAX_CLAUSES = 12
_LEAST_CLAUSE_CHARS = 3
# A supposition within this many characters after "I" is about what the speaker does: "I might …", "I think I could …".
_BESIDE_SUBJECT = 12

_SCOPE = re.compile(
    r"\b(?:when(?:ever)? (?:i(?:'m| am)? )?[a-z][a-z ]{2,40}|(?:for|at) (?:breakfast|lunch|dinner|work|home|school|night)"
    r"|(?:on|at|during) (?:(?:long|short) )?(?:week ?days|weekends?|flights?|holidays?|trips?|mondays|sundays|the weekend)"
    r"|in (?:the )?(?:mornings?|evenings?|afternoons?|summer|winter|public|restaurants|hotels|winters|summers)|before bed)\b"
    r"|(?:出差|旅行|旅游|在家|工作|上班|周末|晚上|早上|中午|夏天|冬天|在外面?|运动|睡前)(?:时候?|的时候)?"
)
# Matches a clause that says when the next one applies: "When I travel, …".
_CONDITION = re.compile(r"when(?:ever)? i [^,]{2,40}$|(?:on|during|at|for) [^,]{3,30}$|[^，]{0,10}(?:时候?|的时候)$")
_REASON = re.compile(
    r",? (?:because|since|as|due to|owing to|so that|in order to|given)\b.*$|[，,]?(?:因为|由于|所以).*$", re.DOTALL
)
_AGAINST = re.compile(r" (?:over|rather than|instead of|more than|to) (?=[a-z])|(?:而不是|胜过|多过|，不要)")
_EDGES = " \t.!?,;:…-–—。！？，；：、~～)）(（"
_FILLING = frozenset(
    terms("very really much any some all a the kind kinds type types sort of thing things especially lot")
)


@dataclass(frozen=True, slots=True)
class StatedPreference:
    """A preference as it was said.

    `text` is its clause, `object` what it is about, and `scope` when it applies (empty: always). `strength` is between
    0 and 1. `wanted` says whether the holder wants the object or avoids it. `key` holds the terms of the object; two
    preferences with the same key are about the same thing. `topic` is what a favourite is the favourite of, else empty.
    """

    attitude: Attitude
    text: str
    object: str
    scope: str
    strength: float
    wanted: bool
    key: frozenset[str]
    topic: str = ""


def read_preferences(text: str, retired: Sequence[tuple[int, int]] = ()) -> list[StatedPreference]:
    """Return the preferences that a turn states of its speaker, in order; most turns have none.

    Statements at the spans in `retired` are skipped.
    """
    if limits.is_material(text, most_chars=MAX_TURN_CHARS):
        return []
    found: list[StatedPreference] = []
    for statement in own_statements(text, retired):
        if not is_question(statement.text):
            found += _read_sentence(statement.text)
    return list({(one.attitude, one.key, one.scope): one for one in found}.values())[:MAX_PER_TURN]


def check_preference(
    raw: Mapping[str, Any], turns: Sequence[Turn], *, first_new: int
) -> dict[int, StatedPreference] | FactRefusal:
    """Return a language model's preference by the place of each turn that it names, or the reason to refuse it.

    `raw` has a holder, an attitude, `wanted`, an object, a text, a strength from 0 to 1, and turns numbered from 1.
    Each of these turns must be new (at `first_new` or later), be the holder's, support the text by the rules for facts,
    and show that the holder wants or avoids the object. The attitude is stored only as far as the words of the turn
    support it.
    """
    text, strength = raw.get("text"), raw.get("strength")
    if not isinstance(text, str) or raw.get("attitude") not in Attitude.values:
        return FactRefusal.MALFORMED
    if isinstance(strength, bool) or not isinstance(strength, int | float) or not 0 <= strength <= 1:
        return FactRefusal.MALFORMED
    named = read_evidence(raw, turns, first_new=first_new, most_turns=MAX_SOURCES, all_new=True)
    if isinstance(named, FactRefusal):
        return named
    attitude, about, wanted = Attitude(raw["attitude"]), named.about, named.wanted
    made = _make(attitude, text, about.lower(), min(float(strength), cues.STRONG), wanted=wanted)
    if made is None:
        return FactRefusal.MALFORMED
    found: dict[int, StatedPreference] = {}
    for place in named.places:
        refusal = _refuse(raw, turns, place)
        if refusal is not None:
            return refusal
        borne = find_attitude(turns[place].text, about=about, attitude=attitude, wanted=wanted)
        if isinstance(borne, FactRefusal):
            return borne
        found[place] = replace(made, attitude=borne)
    return found


def _refuse(raw: Mapping[str, Any], turns: Sequence[Turn], place: int) -> FactRefusal | None:
    """Return why a turn doesn't say of its speaker what a model read there, or None if it does."""
    turn, text = turns[place], str(raw["text"])
    if not is_first_person(turn.text) or limits.OF_USERS.search(turn.text):
        return FactRefusal.HOLDER
    if limits.is_material(turn.text, most_chars=MAX_TURN_CHARS):
        return FactRefusal.SUPPOSED
    spelt = {"holder": raw["holder"], "attribute": raw["object"].split()[0], "value": raw["object"], "text": text}
    checked = check_fact({**spelt, "time": None, "turns": [place + 1]}, turns, first_new=0)
    if not isinstance(checked, Fact):
        return checked
    if limits.ONCE.search(text.lower()):
        return FactRefusal.UNSUPPORTED
    return FactRefusal.PAST if limits.OVER.search(text.lower()) else None


def _read_sentence(sentence: str) -> Iterator[StatedPreference]:
    plain = sentence.replace("’", "'")
    if limits.QUOTE.search(plain):
        return
    chinese = any(map(is_cjk, plain))
    lowered = plain.lower()
    breaks = cues.CHINESE_BREAK if chinese else cues.ENGLISH_BREAK
    start, heard = 0, False
    subject_told, condition = False, ""
    for number, (end, begins) in enumerate([*(one.span() for one in breaks.finditer(lowered)), (len(lowered),) * 2]):
        clause, words = lowered[start:end].strip(_EDGES), plain[start:end].strip(_EDGES)
        # A supposition or hearsay extends to the end of its sentence.
        heard = heard or _is_heard(clause)
        if heard or number >= _MAX_CLAUSES:
            return
        start = begins
        one = _read_clause(clause, words, chinese=chinese, continues=subject_told)
        subject_told = subject_told or one is not None or clause.startswith(("i ", "i'm "))
        if one is not None and condition and not one.scope:
            one = replace(one, scope=condition.lower(), text=f"{condition}{'，' if chinese else ', '}{words}")
        if one is not None:
            yield one
        condition = words if one is None and _CONDITION.match(clause) else ""


def _is_heard(clause: str) -> bool:
    before = cues.ENGLISH_SUBJECT.search(clause)
    supposed = limits.SUPPOSED.search(clause)
    # A supposition after a statement only narrows it: "I avoid restaurants if they are loud".
    if supposed and not (before and before.end() + _BESIDE_SUBJECT < supposed.start()):
        return True
    if limits.UNSURE.search(clause):
        return True
    return limits.HEARSAY.search(clause) is not None


def _read_clause(clause: str, words: str, *, chinese: bool, continues: bool) -> StatedPreference | None:
    """Read one clause. `continues` means that the speaker is the subject of an earlier clause of the sentence."""
    if len(clause) < _LEAST_CLAUSE_CHARS or limits.ONCE.search(clause):
        return None
    over = limits.OVER.search(clause)
    no_more = limits.NO_MORE.search(clause)
    if over and not no_more:
        return None
    return (_read_chinese if chinese else _read_english)(
        clause, words, continues=continues, no_more=no_more is not None
    )


def _read_english(clause: str, words: str, *, continues: bool, no_more: bool) -> StatedPreference | None:
    opening = cues.ENGLISH_OPENING.match(clause)
    at = opening.end() if opening else 0
    favourite = cues.FAVOURITE.match(clause, at)
    if favourite:
        topic = favourite.group("topic")
        return _make(Attitude.LIKE, words, favourite.group("object"), cues.PLAIN, wanted=True, topic=topic)
    rest = clause[at:].replace("i'm ", "i am ", 1).replace("i'd ", "i would ", 1)
    subject = cues.ENGLISH_SUBJECT.match(rest)
    if subject is None and not continues:
        return None
    behind = rest[subject.end() :] if subject else re.sub(r"^(?:instead|rather|also) ", "", rest)
    if subject and subject.group("since"):
        behind = re.sub(r"^(really )?([a-z]+)", lambda verb: cues.PARTICIPLES.get(verb.group(2), ""), behind)
        behind = f"don't {behind}" if subject.group("since") == "never" else behind
    finds = cues.FINDS.match(behind) or cues.FINDS_DOING.match(behind)
    if finds and finds.group("how") in cues.FOUND_BAD | cues.FOUND_GOOD:
        wanted = finds.group("how") in cues.FOUND_GOOD
        attitude = Attitude.LIKE if wanted else Attitude.DISLIKE
        return _make(attitude, words, finds.group("object"), cues.PLAIN, wanted=wanted)
    return _match(cues.ENGLISH, behind, words, no_more=no_more)


def _read_chinese(clause: str, words: str, *, continues: bool, no_more: bool) -> StatedPreference | None:
    opening = cues.CHINESE_OPENING.match(clause)
    at = opening.end() if opening else 0
    favourite = cues.FAVOURITE_ZH.match(clause, at)
    if favourite:
        topic = favourite.group("topic")
        return _make(Attitude.LIKE, words, favourite.group("object"), cues.PLAIN, wanted=True, topic=topic)
    subject = cues.CHINESE_SUBJECT.match(clause, at)
    if subject is None and not continues:
        return None
    behind = clause[subject.end() if subject else at :]
    found = _match(cues.CHINESE, behind, words, no_more=no_more)
    if found is None and cues.REGULARLY_ZH.search(clause[: len(clause) - len(behind)]) and cues.ACTS_ZH.match(behind):
        return _make(Attitude.HABIT, words, behind, cues.MILD, wanted=True)
    return found


def _match(among: Sequence[cues.PreferenceCue], behind: str, words: str, *, no_more: bool) -> StatedPreference | None:
    for cue in among:
        match = cue.pattern.match(behind)
        if match is None:
            continue
        named = next((name for name, value in match.groupdict().items() if value), None)
        said = match.group(named) if named else behind[match.end() :]
        said = limits.NO_MORE.sub("", said)
        # "I don't avoid it any more" ends a preference without stating a new one.
        if no_more and cue.wanted:
            return None
        strength = cue.strength
        if re.match(r"(?:usually|mostly|generally|tend to|try to|often)\b", behind):
            strength = min(strength, cues.MILD)
        return _make(cue.attitude, words, said, strength, wanted=cue.wanted, whole=named is not None)
    return None


def _make(
    attitude: Attitude, words: str, said: str, strength: float, *, wanted: bool, topic: str = "", whole: bool = False
) -> StatedPreference | None:
    """Build the preference, or return None if it isn't about anything in general."""
    said = re.sub(r"^to (?=[a-z])|[ ,](?:and|but|so|or)$", "", said.strip(_EDGES)).strip(_EDGES)
    general = re.match(r"(?:it )?when(?:ever)? ", said)
    scope = None if general else _SCOPE.search(said) or (None if whole else _SCOPE.search(words.lower()))
    about = _REASON.sub("", said).strip(_EDGES)
    if scope and scope.group() in about and about != scope.group():
        about = about.replace(scope.group(), "").strip(_EDGES)
    if general:
        about = re.sub(r"^it ", "", about)
    elif not about or limits.SOMETHING.match(about) or limits.OF_OTHERS.search(about):
        return None
    key = key_of(about, wanted=wanted)
    if not key or len(about) > MAX_OBJECT_CHARS:
        return None
    return StatedPreference(
        attitude, words, about, scope.group() if scope else "", strength, wanted, key, topic.strip()
    )


def key_of(about: str, *, wanted: bool) -> frozenset[str]:
    """Return the terms that identify a wanted or avoided object, without what it is preferred to."""
    named = _AGAINST.split(about)[0] if wanted else about
    return frozenset(term for term in terms(named) if term not in _FILLING and term not in FUNCTION_CHARACTERS)
