"""What somebody takes, has again, turns down or corrects, of which repetition shows a preference: rules, no model.

A choice is one sentence in which the speaker chooses for themselves and for real. One choice says nothing yet: what is
chosen on several occasions does, until the opposite is.
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

# Longer turns are no choices, but texts, and so are longer sentences.
MAX_TURN_CHARS = 400
MAX_SENTENCE_CHARS = 120
MAX_KEY_TERMS = 12
# Occasions that show a preference, and those that end one when the opposite is chosen.
NEEDED, ENDING = 3, 2
# Turns on which a preference rests at least, whatever they say of themselves.
LEAST_TURNS = 2
# How strong a preference is that one choice would show; each further one that it rests on adds a step, up to the most:
# what is done says less than what is said.
STRENGTH, STEP, MOST = 0.25, 0.05, 0.5

_FILLING = frozenset(
    terms(
        "very really any some all kind type sort something anything option one ones version place restaurant dish again"
        " usual please instead same regular"
    )
)

# What stands behind the name of a thing: "the seat by the window".
_BESIDE = re.compile(r" (?:of|for (?=breakfast|lunch|dinner)|in|at|on|with|by|about|near|without) ")
# Whom it is for, then what: "Anna the window seat".
_TWO_THINGS = re.compile(r"[a-z']+ (?:the|an?|her|his|their) ")
# What becomes of a thing that is not chosen: "the car fixed", "the report ready".
_BECOMES = re.compile(r"(?!more |less )[a-z'-]+ (?:ready|done|sent|[a-z]{3,}ed)\b")


@dataclass(frozen=True, slots=True)
class TurnChoice:
    """One choice: `object`, as it was worded; `wanted`: taken, or turned down; `counts`: for how many occasions.

    `key`: the terms of the object, Chinese by characters; choices with the same key are of the same thing.
    """

    object: str
    wanted: bool
    counts: int
    key: frozenset[str]


Turn = TypeVar("Turn")


@dataclass(frozen=True, slots=True)
class Occasion(Generic[Turn]):
    """A choice of one thing in a turn. `place`: where and when it was made; what is chosen twice in one place was
    chosen once."""

    turn: Turn
    place: tuple[str, str]
    choice: TurnChoice


@dataclass(frozen=True, slots=True)
class Shown(Generic[Turn]):
    """What the choices of one thing come to: those of the latest run, if that shows a preference; and where an earlier
    one that the opposite was shown by ended."""

    run: tuple[Occasion[Turn], ...]
    ended: Occasion[Turn] | None = None

    @property
    def is_preference(self) -> bool:
        """Whether the run is long enough."""
        return is_enough(self.run)


def read_choices(text: str, retired: Sequence[tuple[int, int]] = ()) -> list[TurnChoice]:
    """The choices that a turn makes for its speaker, in order, without the statements at `retired`; most turns make
    none."""
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
    """The choices of a turn that says `text`, without the statements at `retired`."""
    return [Occasion(turn, place, one) for one in read_choices(text, retired)]


def is_enough(run: Collection[Occasion[Turn]]) -> bool:
    """Whether choices of one thing, all taken or all turned down, show a preference."""
    counted: dict[tuple[str, str], int] = {}
    for one in run:
        counted[one.place] = max(one.choice.counts, counted.get(one.place, 0))
    return len(counted) >= LEAST_TURNS and sum(counted.values()) >= NEEDED


def follow_choices(occasions: Iterable[Occasion[Turn]]) -> Shown[Turn]:
    """What choices of one thing, oldest first, come to. One exception ends no preference; ENDING of them do."""
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
    """The preference that a run of choices shows, in the words of the first of them."""
    first = run[0].choice
    if any(map(is_cjk, first.object)):
        text = f"通常会选{first.object}。" if first.wanted else f"通常不要{first.object}。"
    else:
        text = f"Usually chooses {first.object}." if first.wanted else f"Usually turns down {first.object}."
    attitude = Attitude.HABIT if first.wanted else Attitude.DISLIKE
    return StatedPreference(attitude, text, first.object, "", STRENGTH, first.wanted, first.key)


def reduce_key(key: Iterable[str]) -> frozenset[str]:
    """The key by which what is said of a thing is compared with what is chosen: Chinese by characters."""
    return frozenset(term for term in key if len(term) == 1 or not is_cjk(term[0])) - _FILLING


def key_of(about: str) -> frozenset[str] | None:
    """The terms by which what is chosen is known, at most MAX_KEY_TERMS; None of what has none, or more."""
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
    """Whether it is supposed or told of others: "could you" asks for something all the same."""
    asked = re.sub(r"\b(?:could|would) you\b", "", sentence)
    return any(one.search(asked) for one in (limits.SUPPOSED, limits.UNSURE, limits.HEARSAY, limits.OVER))


def _key(about: str, *, chinese: bool, wanted: bool) -> frozenset[str] | None:
    """The terms of what is chosen; None of what is no thing that one can prefer."""
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
    # "Sugar-coating" is no sugar, and an apple tree no apple: the last word says what it is.
    named = terms(" ".join(words)) if words[-1] in things.CARRIERS else terms(words[-1])[:1]
    if things.THINGS.isdisjoint(named) or key is None or (wanted and key <= things.GENERAL):
        return None
    return key
