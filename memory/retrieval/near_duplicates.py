"""Finds hits that make the same statement again, and orders hits so that each says something new."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Sequence
from sys import intern

from memory.text.analysis import CJK
from memory.text.statement_form import statement_form

# Likeness is measured on this many characters of a text.
LONGEST = 1_000
_WORD = re.compile(rf"[{CJK}]|[^\W{CJK}]+")


class Words:
    """Holds the words of a text (of its first LONGEST characters), to be compared with others.

    `owner` stands for everything but the text that two records must share to be one statement. Cached with each memory
    of a process: `all`, which takes ten times as much as `sequence`, is made on demand.
    """

    __slots__ = ("asks", "sequence", "statement", "text")

    def __init__(self, owner: str, text: str) -> None:
        self.text = text.strip()
        self.asks = self.text.endswith(("?", "？"))
        # Many cached memories share the same words.
        self.sequence = tuple(map(intern, _WORD.findall(self.text[:LONGEST].lower())))
        said = f"{owner}\0{statement_form(self.text)}"
        self.statement = hashlib.sha256(said.encode("utf-8", "surrogatepass")).digest()

    @property
    def all(self) -> frozenset[str]:
        """Returns each word once."""
        return frozenset(self.sequence)

    @property
    def names(self) -> frozenset[str]:
        """Returns the words with a capital inside a sentence, which mostly begin a name."""
        found = _WORD.findall(self.text[:LONGEST])
        return frozenset(word.lower() for word in found[1:] if word[0].isupper() and word != "I")

    def overlap(self, other: Words) -> float:
        """Returns the share (0..1) of the words of both that they have in common (Jaccard)."""
        return _overlap(self.all, other.all)


def _overlap(one: frozenset[str], other: frozenset[str]) -> float:
    both = len(one & other)
    together = len(one) + len(other) - both
    return both / together if together else 0.0


def near_duplicates(hits: Sequence[Words]) -> dict[int, int]:
    """Maps the place of each hit that makes an earlier one's statement to the earlier one's place (from 0)."""
    first: dict[bytes, int] = {}
    places = {place: first.setdefault(words.statement, place) for place, words in enumerate(hits)}
    return {place: earlier for place, earlier in places.items() if earlier != place}


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
