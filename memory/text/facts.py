"""Checks by strict rules that the facts a language model read in turns are really stated there.

A fact rests on one clause of a turn that it names. The clause contains the value, speaks of the fact's holder, doesn't
ask, suppose, wish, quote or plan it, and agrees with the fact in negation and tense. Every number, name, date and
content word of the fact occurs in one of its turns. Facts that are worded too differently to check are refused: the
turn itself can still be found.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from memory.enums import FactRefusal
from memory.text.analysis import terms
from memory.text.fact_wording import Wording, find_own_words, find_refusal
from memory.text.grounding import find_invented
from memory.text.sentences import is_question
from memory.text.statements import Turn

MAX_FACT_CHARS = 300
MAX_FIELD_CHARS = 120
MAX_ATTRIBUTE_WORDS = 4
MAX_SOURCES = 4
_BARE_FIELDS = ("holder", "attribute", "value", "text")
UNWRITABLE = re.compile(r"[\x00-\x1f\x7f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]")
# The word that the gate puts in place of redacted text.
_REDACTED = re.compile(r"\bredacted\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact that was stated.

    `sources` holds the places of the turns that it rests on, among the turns that the model read. If `alone` is set,
    each of them states all of it; else only all of them together do. `time` is its date.
    """

    holder: str
    attribute: str
    value: str
    text: str
    time: date | None
    sources: tuple[int, ...]
    alone: bool


def check_fact(raw: Mapping[str, Any], turns: Sequence[Turn], *, first_new: int) -> Fact | FactRefusal:
    """Return the fact in a model's `raw` answer, or the reason to refuse it.

    `raw` has a holder, an attribute, a value, a text, a time and turns numbered from 1. `turns` holds all turns that
    the model read, oldest first; those at `first_new` or later are new.
    """
    fields = _fields(raw)
    if fields is None:
        return FactRefusal.MALFORMED
    holder, attribute, value, text, time = fields
    named = raw.get("turns")
    if not isinstance(named, list) or not 1 <= len(named) <= MAX_SOURCES:
        return FactRefusal.MALFORMED
    if not all(isinstance(number, int) and 1 <= number <= len(turns) for number in named):
        return FactRefusal.NO_NEW_SOURCE
    places = sorted({number - 1 for number in named})
    if places[-1] < first_new:
        return FactRefusal.NO_NEW_SOURCE
    sources = [turns[place] for place in places]
    if find_invented(text, sources, turns) or (time is not None and find_invented(f"on {time}", sources, turns)):
        return FactRefusal.INVENTED
    if find_invented(attribute, sources, turns):
        return FactRefusal.INVENTED
    if find_invented(value, sources, turns) or find_own_words(text, sources) or not _names_holder(text, holder):
        return FactRefusal.UNSUPPORTED
    asked = [turn for turn in sources if is_question(turn.text)]
    wording = Wording(holder, value, text)
    refusal = find_refusal(wording, turns, [place for place in places if place >= first_new], asked)
    if refusal is not None:
        return refusal
    bearing = [
        place
        for place in places
        if place >= first_new and bears(text, value, turns[place]) and find_refusal(wording, turns, [place], ()) is None
    ]
    alone = bool(bearing) or len(places) == 1
    return Fact(holder, attribute, value, text, time, tuple(bearing or places), alone)


def bears(text: str, value: str, turn: Turn) -> bool:
    """Tell whether the turn alone contains every content word, number, name and date of a fact."""
    if find_invented(text, [turn]) or find_invented(value, [turn]):
        return False
    return not find_own_words(text, [turn])


def is_still_told(holder: str, value: str, text: str, turns: Sequence[Turn]) -> bool:
    """Tell whether the remaining turns of a fact still state it."""
    if find_invented(text, turns) or find_invented(value, turns):
        return False
    asked = [turn for turn in turns if is_question(turn.text)]
    return find_refusal(Wording(holder, value, text), turns, range(len(turns)), asked) is None


def _fields(raw: Mapping[str, Any]) -> tuple[str, str, str, str, date | None] | None:
    """Return holder, attribute, value, text and time, or None if one of them is malformed."""
    said: list[str] = []
    for name in _BARE_FIELDS:
        value = raw.get(name)
        if not isinstance(value, str) or UNWRITABLE.search(value) or _REDACTED.search(value):
            return None
        said.append(" ".join(value.split()))
    holder, attribute, value, text = said
    if not all(said) or max(map(len, said[:3])) > MAX_FIELD_CHARS or len(text) > MAX_FACT_CHARS:
        return None
    if not terms(value) or not terms(text) or not any(character.isalnum() for character in holder):
        return None
    if len(attribute.split()) > MAX_ATTRIBUTE_WORDS:
        return None
    moment = raw.get("time")
    if moment is None:
        return holder, attribute, value, text, None
    try:
        return holder, attribute, value, text, date.fromisoformat(moment)
    except (TypeError, ValueError):
        return None


def _names_holder(text: str, holder: str) -> bool:
    named = set(terms(holder))
    return not named or bool(named & set(terms(text)))
