"""Rates whether a turn is worth long-term memory, as a plain sum of a few named parts that can be shown.

Questions, greetings, thanks and reactions are set aside (`memory.text.sentences`), and the parts rate the remaining
statements, which can answer later questions. The points are rounded by hand from a logistic regression
(`bench/gate_worth.py`), towards equal trust in each part, so that the style of a single set of conversations doesn't
decide.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

from memory.enums import Role
from memory.gate import worth_cues as cues
from memory.text import sentences
from memory.text.analysis import CJK
from memory.text.orders import is_standing_order

# Points of each part. Counted parts give a share of their points, and all of them from FULL_COUNT numbers or names, or
# FULL_LENGTH words on.
POINTS = {
    "statement": 0.10,
    "action": 0.20,
    "preference": 0.20,
    "plan": 0.10,
    "change": 0.05,
    "record": 0.10,
    "stated": 0.10,
    "order": 0.30,
    "number": 0.30,
    "named": 0.20,
    "length": 0.30,
    "musing": -0.15,
    "small_talk": -0.20,
    "question": -0.25,
    "addressed": -0.05,
    "agent": -0.15,
    "impersonal": -0.40,
}
FULL_COUNT = 3
FULL_LENGTH = 40
# Further text doesn't change a turn's worth.
MAX_CHARS = 2000

_CJK_RUNS = re.compile(rf"[{CJK}]+")
# A Chinese word has about 1.6 characters.
_CJK_WORD = 1.6
_PRESENT = (
    ("action", cues.ACTION),
    ("preference", cues.PREFERENCE),
    ("plan", cues.PLAN),
    ("change", cues.CHANGE),
    ("record", cues.RECORD),
    ("stated", cues.STATED),
    ("musing", cues.MUSING),
    ("small_talk", cues.SMALL_TALK),
    ("addressed", cues.ADDRESSED),
)


@dataclass(frozen=True, slots=True)
class Worth:
    """The `score` (0..1) and the `parts` whose sum it is, limited to 0..1."""

    score: float
    parts: tuple[tuple[str, float], ...]


def worth(text: str, *, role: str = Role.USER) -> Worth:
    """Rate how much a turn is worth long-term memory, in linear time and by its first `MAX_CHARS` characters."""
    parts = tuple((name, round(POINTS[name] * share, 3)) for name, share in shares(text, role=role).items())
    return Worth(min(1.0, max(0.0, round(sum(points for _, points in parts), 3))), parts)


def shares(text: str, *, role: str) -> dict[str, float]:
    """Return the share (0..1) that each part of `POINTS` has of its points; parts with none are left out."""
    asked, kept = _sort_out(text[:MAX_CHARS])
    found = dict(_measure_parts(" ".join(kept))) if kept else {}
    if role == Role.USER and any(map(is_standing_order, kept)):
        found["order"] = 1.0
    if asked:
        found["question"] = asked / (asked + len(kept))
    if role != Role.USER:
        found["agent" if any(map(sentences.is_first_person, kept)) else "impersonal"] = 1.0
    return found


def _sort_out(text: str) -> tuple[int, list[str]]:
    """Return the number of questions, and the statements without fillers, small talk and reactions."""
    asked = 0
    kept = []
    for sentence in sentences.split_sentences(text):
        body = sentences.strip_fillers(sentence)
        if sentences.is_question(body):
            asked += 1
        elif any(map(str.isalnum, body)) and not sentences.is_small_talk(body) and not sentences.is_reaction(body):
            kept.append(body)
    return asked, kept


def _measure_parts(said: str) -> Iterator[tuple[str, float]]:
    lowered = said.lower().replace("’", "'")
    yield "statement", 1.0
    chinese = _CJK_RUNS.search(said) is not None
    yield from ((name, 1.0) for name, cue in _PRESENT if cue.is_in(lowered, chinese=chinese))
    if numbers := len(cues.numbers(lowered, chinese=chinese)):
        yield "number", min(1.0, numbers / FULL_COUNT)
    if names := len(cues.names(said, chinese=chinese)):
        yield "named", min(1.0, names / FULL_COUNT)
    yield "length", min(1.0, math.log1p(_words(said)) / math.log1p(FULL_LENGTH))


def _words(text: str) -> float:
    runs = _CJK_RUNS.findall(text)
    return len(_CJK_RUNS.sub(" ", text).split()) + sum(map(len, runs)) / _CJK_WORD
