"""Finds hits that repeat a statement, and orders hits so that each adds something new."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Sequence
from sys import intern

from memory.text.analysis import CJK
from memory.text.statement_form import statement_form

# Likeness is measured on the first LONGEST characters of a text.
LONGEST = 1_000
_WORD = re.compile(rf"[{CJK}]|[^\W{CJK}]+")


class Words:
    """Holds the words of the first LONGEST characters of a text, for comparison with other texts.

    `owner` stands for everything besides the text that two records must share to be one statement. Instances are cached
    with memories, so `all`, which takes ten times as much memory as `sequence`, is computed on demand.
    """

    __slots__ = ("asks", "sequence", "statement", "text")

    def __init__(self, owner: str, text: str) -> None:
        self.text = text.strip()
        self.asks = self.text.endswith(("?", "？"))
        # Interning saves space, because cached memories share many words.
        self.sequence = tuple(map(intern, _WORD.findall(self.text[:LONGEST].lower())))
        said = f"{owner}\0{statement_form(self.text)}"
        self.statement = hashlib.sha256(said.encode("utf-8", "surrogatepass")).digest()

    @property
    def all(self) -> frozenset[str]:
        """Returns the distinct words."""
        return frozenset(self.sequence)

    @property
    def names(self) -> frozenset[str]:
        """Returns the capitalised words after the first, in lower case; most of them begin a name."""
        found = _WORD.findall(self.text[:LONGEST])
        return frozenset(word.lower() for word in found[1:] if word[0].isupper() and word != "I")

    def overlap(self, other: Words) -> float:
        """Returns the Jaccard similarity (0..1) of the two sets of words."""
        return _overlap(self.all, other.all)


def _overlap(one: frozenset[str], other: frozenset[str]) -> float:
    both = len(one & other)
    together = len(one) + len(other) - both
    return both / together if together else 0.0


def near_duplicates(hits: Sequence[Words]) -> dict[int, int]:
    """Maps the place of each hit that repeats an earlier hit's statement to the place of the earlier one (from 0)."""
    first: dict[bytes, int] = {}
    places = {place: first.setdefault(words.statement, place) for place, words in enumerate(hits)}
    return {place: earlier for place, earlier in places.items() if earlier != place}


class Variety:
    """Orders hits by maximal marginal relevance (Carbonell and Goldstein 1998).

    Each step takes the hit with the highest score less `weight` × its likeness to the most similar hit taken before.
    Hits may be added between steps.
    """

    def __init__(self, weight: float) -> None:
        self._weight = weight
        self._taken: list[frozenset[str]] = []
        # Maps a place to its words, its score, and its likeness to the most similar hit taken.
        self._left: dict[int, tuple[frozenset[str], float, float]] = {}

    def add(self, place: int, words: Words, score: float) -> None:
        """Adds the hit at `place`."""
        own = words.all
        self._left[place] = own, score, max((_overlap(own, other) for other in self._taken), default=0.0)

    @property
    def best(self) -> float:
        """Returns the score of the next hit less the cost of its likeness, or minus infinity if no hit is left."""
        return max(map(self._gain, self._left), default=-math.inf)

    def take(self) -> tuple[int, float] | None:
        """Takes the next hit, the first of equals; returns its place and the cost of its likeness, or None if empty."""
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
    """Returns the place of the most similar of `others` (at least one), and its likeness (0..1)."""
    own = words.all
    likeness = [_overlap(own, other.all) for other in others]
    best = max(range(len(others)), key=likeness.__getitem__)
    return best, likeness[best]
