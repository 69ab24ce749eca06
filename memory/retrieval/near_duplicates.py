"""Finds hits that say the same thing again, and orders hits so that each says something new."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from functools import lru_cache
from sys import intern

from memory.text.analysis import CJK

# The share of words that two texts must have in common to be one statement said twice.
SAME_WORDS = 0.8
# Two texts whose lengths differ more are not compared; nor are long ones, which agree in more than one statement.
SAME_LENGTH = 0.6
LONGEST = 1_000
_WORD = re.compile(rf"[{CJK}]|[^\W{CJK}]+")
_NUMBER = re.compile(
    r"\d|^(one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|dozen|hundred|thousand|million|half"
    r"|first|second|third|once|twice|[零一二三四五六七八九十百千万亿两半])$"
)
# Words that turn a statement into its opposite, or move it to another time: texts that differ in one of them say
# different things.
_TURNS = frozenset(
    "not no never none nor without hardly cannot t don doesn didn isn aren wasn weren won wouldn nobody nothing "
    "before after more less until since stopped quit "
    "yesterday today tomorrow tonight last next ago morning noon afternoon evening night day week weekend month year "
    "monday tuesday wednesday thursday friday saturday sunday january february march april may june july august "
    "september october november december 不 没 無 无 未 非 别 莫 勿 上 下 前 后 今 明 昨 早 晚".split()
)


@lru_cache(maxsize=4_096)
def _turns(word: str) -> bool:
    return word in _TURNS or bool(_NUMBER.search(word))


@lru_cache(maxsize=1_024)
def _share(turning: frozenset[str]) -> frozenset[str]:
    """Shares one set among all equal ones: most memories hold none of these words, or the same few."""
    return turning


class Words:
    """Holds the words of what `speaker` said (of its first LONGEST characters), to be compared with others.

    Cached with each memory of a process: `all`, which takes ten times as much as `sequence`, is made on demand.
    """

    __slots__ = ("asks", "sequence", "speaker", "text", "turning")

    def __init__(self, speaker: str, text: str) -> None:
        self.speaker = speaker
        self.text = text.strip()
        self.asks = self.text.endswith(("?", "？"))
        # Many cached memories share the same words.
        self.sequence = tuple(map(intern, _WORD.findall(self.text[:LONGEST].lower())))
        self.turning = _share(frozenset(filter(_turns, self.sequence)))

    @property
    def all(self) -> frozenset[str]:
        """Returns each word once."""
        return frozenset(self.sequence)

    @property
    def names(self) -> frozenset[str]:
        """Returns the words with a capital inside a sentence, which mostly begin a name."""
        found = _WORD.findall(self.text[:LONGEST])
        return frozenset(word.lower() for word in found[1:] if word[0].isupper() and word != "I")

    def restates(self, other: Words) -> bool:
        """Tells whether both say the same: the same speaker, nearly the same words, the same numbers, names,
        negations and times in the same order, and both or neither a question. Texts without words are compared
        literally."""
        if self.speaker != other.speaker or self.asks != other.asks or self.turning != other.turning:
            return False
        if self.text == other.text:
            return True
        own, others = self.all, other.all
        both = len(own & others)
        if not both or both < SAME_WORDS * (len(own) + len(others) - both):
            return False
        marks = self.names | other.names | self.turning
        return [word for word in self.sequence if word in marks] == [word for word in other.sequence if word in marks]

    def overlap(self, other: Words) -> float:
        """Returns the share (0..1) of the words of both that they have in common (Jaccard)."""
        return _overlap(self.all, other.all)


def _overlap(one: frozenset[str], other: frozenset[str]) -> float:
    both = len(one & other)
    together = len(one) + len(other) - both
    return both / together if together else 0.0


def near_duplicates(hits: Sequence[Words]) -> dict[int, int]:
    """Maps the place of each hit that restates an earlier one to the earlier one's place (from 0).

    Texts of more than LONGEST characters are the same only when they are equal.
    """
    found: dict[int, int] = {}
    long: dict[tuple[str, str], int] = {}
    # Only texts that agree in these can restate each other.
    alike: dict[tuple[str, bool, frozenset[str]], list[tuple[int, Words]]] = {}
    for place, words in enumerate(hits):
        if len(words.text) > LONGEST:
            earlier = long.setdefault((words.speaker, words.text), place)
            if earlier != place:
                found[place] = earlier
            continue
        others = alike.setdefault((words.speaker, words.asks, words.turning), [])
        again = next((one for one, before in others if _near(before, words) and words.restates(before)), None)
        if again is None:
            others.append((place, words))
        else:
            found[place] = again
    return found


def _near(one: Words, other: Words) -> bool:
    short, long = sorted((len(one.text), len(other.text)))
    return short >= SAME_LENGTH * long


class Variety:
    """Takes hits in the order that covers most: each time the best by score less `weight` × its likeness to the
    nearest of those taken. Maximal marginal relevance (Carbonell and Goldstein 1998). Hits may be added while others
    are taken."""

    def __init__(self, weight: float) -> None:
        self._weight = weight
        self._taken: list[frozenset[str]] = []
        # Each place has its words, its score, and its likeness to the nearest hit taken.
        self._left: dict[int, tuple[frozenset[str], float, float]] = {}

    def add(self, place: int, words: Words, score: float) -> None:
        """Adds the hit at `place`."""
        own = words.all
        self._left[place] = own, score, max((_overlap(own, other) for other in self._taken), default=0.0)

    @property
    def best(self) -> float:
        """Returns the score of the hit that `take` takes, less the cost of its likeness; of no hit, minus infinity."""
        return max(map(self._gain, self._left), default=-math.inf)

    def take(self) -> tuple[int, float] | None:
        """Takes the next hit, the first of equals, and returns its place and the cost of its likeness; None when no
        hit is left."""
        if not self._left:
            return None
        place = max(self._left, key=lambda place: (self._gain(place), -place))
        words, _, likeness = self._left.pop(place)
        self._taken.append(words)
        for other, (own, score, nearest_yet) in self._left.items():
            self._left[other] = own, score, max(nearest_yet, _overlap(own, words))
        return place, self._weight * likeness

    def _gain(self, place: int) -> float:
        _, score, likeness = self._left[place]
        return score - self._weight * likeness


def nearest(words: Words, others: Sequence[Words]) -> tuple[int, float]:
    """Finds the one of `others` (at least one) that is most alike, and returns its place and its likeness (0..1)."""
    own = words.all
    likeness = [_overlap(own, other.all) for other in others]
    best = max(range(len(others)), key=likeness.__getitem__)
    return best, likeness[best]
