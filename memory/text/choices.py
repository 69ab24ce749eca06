"""Finds by rules what speakers choose, choose again, turn down or correct; repeated choices show a preference.

A choice is one sentence in which the speaker really chooses something for themselves. A single choice shows nothing:
a preference is shown by the same choice on several occasions, and lasts until the opposite is chosen.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from memory.enums import Attitude
from memory.text import choice_cues as cues
from memory.text import choice_things as things
from memory.text import preference_limits as limits
from memory.text.analysis import FUNCTION_CHARACTERS, is_cjk, terms
from memory.text.preferences import StatedPreference
from memory.text.sentences import is_question
from memory.text.utterances import own_statements

# Longer turns and longer sentences are pasted text rather than choices.
MAX_TURN_CHARS = 400
MAX_SENTENCE_CHARS = 120
MAX_KEY_TERMS = 12
# Number of occasions that show a preference, and of opposite occasions that end one.
NEEDED, ENDING = 3, 2
# Number of different places that a preference needs, however many occasions a single turn counts for.
LEAST_TURNS = 2
# Strength that a single choice would have, the increase for each further one, and the maximum. What people do says less
# than what they say.
STRENGTH, STEP, MOST = 0.25, 0.05, 0.5

_FILLING = frozenset(
    terms(
        "very really any some all kind type sort something anything option one ones version place restaurant dish again"
        " usual please instead same regular"
    )
)

# Separates the name of a thing from what qualifies it: "the seat by the window".
_BESIDE = re.compile(r" (?:of|for (?=breakfast|lunch|dinner)|in|at|on|with|by|about|near|without) ")
# Matches a recipient before the thing: "Anna the window seat".
_TWO_THINGS = re.compile(r"[a-z']+ (?:the|an?|her|his|their) ")
# Matches actions on a thing rather than a choice: "the car fixed", "the report ready".
_BECOMES = re.compile(r"(?!more |less )[a-z'-]+ (?:ready|done|sent|[a-z]{3,}ed)\b")


@dataclass(frozen=True, slots=True)
class TurnChoice:
    """A choice in one turn.

    `object` is the chosen thing, as it was worded. `wanted` is False when it was turned down. `counts` is the number of
    occasions that the choice stands for. `key` holds the terms of the object (single characters for Chinese); choices
    with the same key are of the same thing.
    """

    object: str
    wanted: bool
    counts: int
    key: frozenset[str]


Turn = TypeVar("Turn")


@dataclass(frozen=True, slots=True)
class Occasion(Generic[Turn]):
    """A choice of one thing in a turn.

    `place` says where and when it was made; several choices in the same place count as one.
    """

    turn: Turn
    place: tuple[str, str]
    choice: TurnChoice


@dataclass(frozen=True, slots=True)
class Shown(Generic[Turn]):
    """The result of following the choices of one thing.

    `run` holds the choices of the latest run, which may be too short to show a preference. `ended` is the first choice
    against an earlier preference, if one was ended.
    """

    run: tuple[Occasion[Turn], ...]
    ended: Occasion[Turn] | None = None

    @property
    def is_preference(self) -> bool:
        """Tell whether the run is long enough to show a preference."""
        return is_enough(self.run)


def read_choices(text: str, retired: Sequence[tuple[int, int]] = ()) -> list[TurnChoice]:
    """Return the choices that a turn makes for its speaker, in order; most turns make none.

    Statements at the spans in `retired` are skipped.
    """
    if limits.is_material(text, most_chars=MAX_TURN_CHARS):
        return []
    found: dict[frozenset[str], TurnChoice] = {}
    for statement in own_statements(text, retired):
        if len(statement.text) > MAX_SENTENCE_CHARS:
            continue
        sentence = statement.text.replace("’", "'").strip()
        one = None if limits.QUOTE.search(sentence) else _read_sentence(sentence.lower())
        if one is not None:
            found.setdefault(one.key, one)
    return list(found.values())


def find_occasions(
    turn: Turn, *, text: str, retired: Sequence[tuple[int, int]], place: tuple[str, str]
) -> list[Occasion[Turn]]:
    """Return the occasions for the choices in `text`, without the statements at the spans in `retired`."""
    return [Occasion(turn, place, one) for one in read_choices(text, retired)]


def is_enough(run: Collection[Occasion[Turn]]) -> bool:
    """Tell whether choices of one thing, all taken or all turned down, show a preference."""
    counted: dict[tuple[str, str], int] = {}
    for one in run:
        counted[one.place] = max(one.choice.counts, counted.get(one.place, 0))
    return len(counted) >= LEAST_TURNS and sum(counted.values()) >= NEEDED


def follow_choices(occasions: Iterable[Occasion[Turn]]) -> Shown[Turn]:
    """Follow the choices of one thing, oldest first. `ENDING` opposite choices in a row end a preference."""
    run: list[Occasion[Turn]] = []
    against: list[Occasion[Turn]] = []
    ended: Occasion[Turn] | None = None
    for one in occasions:
        if not run or one.choice.wanted == run[0].choice.wanted:
            run.append(one)
            against = []
            continue
        against.append(one)
        if len({other.place for other in against}) >= ENDING:
            ended = against[0] if is_enough(run) else ended
            run, against = against, []
    return Shown(tuple(run), ended)


def word_preference(run: Sequence[Occasion[Turn]]) -> StatedPreference:
    """Word the preference that a run of choices shows, with the object as its first choice worded it."""
    first = run[0].choice
    if any(map(is_cjk, first.object)):
        text = f"通常会选{first.object}。" if first.wanted else f"通常不要{first.object}。"
    else:
        text = f"Usually chooses {first.object}." if first.wanted else f"Usually turns down {first.object}."
    attitude = Attitude.HABIT if first.wanted else Attitude.DISLIKE
    return StatedPreference(attitude, text, first.object, "", STRENGTH, first.wanted, first.key)


def reduce_key(key: Iterable[str]) -> frozenset[str]:
    """Reduce the terms of a thing for comparing choices: no filler words, Chinese by characters."""
    return frozenset(term for term in key if len(term) == 1 or not is_cjk(term[0])) - _FILLING


def key_of(about: str) -> frozenset[str] | None:
    """Return the terms that identify a chosen thing, or None if there are none or more than `MAX_KEY_TERMS`."""
    found = terms(about)
    if any(map(is_cjk, about)):
        found = [term for term in found if len(term) == 1 and term not in FUNCTION_CHARACTERS]
    key = reduce_key(found)
    return key if 0 < len(key) <= MAX_KEY_TERMS else None


def _read_sentence(sentence: str) -> TurnChoice | None:
    chinese = any(map(is_cjk, sentence))
    if (
        cues.EXCEPTION.search(sentence)
        or cues.FOR_OTHERS.search(sentence)
        or cues.PLAYED.search(sentence)
        or is_unreal(sentence)
    ):
        return None
    for cue in cues.CHINESE if chinese else cues.ENGLISH:
        match = cue.pattern.match(sentence)
        if match is None:
            continue
        if is_question(sentence) and cue.counts == cues.ONE:
            return None
        about = match.group("object").strip()
        key = _key(about, chinese=chinese, wanted=cue.wanted)
        if key is None:
            return None
        return TurnChoice(about, cue.wanted, cue.counts, key)
    return None


def is_unreal(sentence: str) -> bool:
    """Tell whether a sentence is hypothetical, uncertain, hearsay or over; "could you" is taken as a request."""
    asked = re.sub(r"\b(?:could|would) you\b", "", sentence)
    return any(one.search(asked) for one in (limits.SUPPOSED, limits.UNSURE, limits.HEARSAY, limits.OVER))


def _key(about: str, *, chinese: bool, wanted: bool) -> frozenset[str] | None:
    """Return the terms of a chosen object, or None if it isn't a thing that people can prefer."""
    if chinese:
        if cues.NO_OBJECT_ZH.search(about) or (wanted and things.GENERAL_ZH.match(about)):
            return None
        if not (things.THINGS_ZH.search(about) or things.QUALITIES_ZH.match(about)):
            return None
        return key_of(about)
    if (
        limits.SOMETHING.match(about)
        or limits.OF_OTHERS.search(about)
        or cues.ENGLISH_PLAN.search(about)
        or _TWO_THINGS.match(about)
        or _BECOMES.match(about)
    ):
        return None
    head = _BESIDE.split(about)[0]
    if head.split()[0] in cues.NO_FIRST:
        return None
    key = key_of(about)
    if about.rsplit(maxsplit=1)[-1] in things.QUALITIES:
        return key
    words = head.split()
    # The last word says what a thing is: sugar-coating isn't sugar, and an apple tree isn't an apple.
    named = terms(" ".join(words)) if words[-1] in things.CARRIERS else terms(words[-1])[:1]
    if things.THINGS.isdisjoint(named) or key is None or (wanted and key <= things.GENERAL):
        return None
    return key
