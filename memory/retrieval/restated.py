"""Which hits say the same thing again, and which say something new."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from memory.text.analysis import CJK

# Share of words that two texts must have in common to be one statement said twice.
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


@dataclass(frozen=True, slots=True)
class Said:
    """A hit as far as it matters here: who said what."""

    speaker: str
    text: str


class Words:
    """The words of a text (of its first LONGEST characters), compared with those of others."""

    __slots__ = ("all", "asks", "names", "sequence", "speaker", "text", "turning")

    def __init__(self, said: Said) -> None:
        self.speaker = said.speaker
        self.text = said.text.strip()
        self.asks = self.text.endswith(("?", "？"))
        found = _WORD.findall(self.text[:LONGEST])
        self.sequence = [word.lower() for word in found]
        self.all = frozenset(self.sequence)
        self.turning = frozenset(word for word in self.all if word in _TURNS or _NUMBER.search(word))
        # A capital inside a sentence mostly begins a name.
        self.names = frozenset(word.lower() for word in found[1:] if word[0].isupper() and word != "I")

    def restates(self, other: Words) -> bool:
        """Whether both say the same: the same speaker, nearly the same words, the same numbers, names, negations and
        times in the same order, and both or neither a question. Texts without words are the same or are not."""
        if self.speaker != other.speaker or self.asks != other.asks:
            return False
        if self.text == other.text:
            return True
        few, many = sorted((len(self.all), len(other.all)))
        if not few or few < SAME_WORDS * many:
            return False
        if len(self.all & other.all) < SAME_WORDS * len(self.all | other.all):
            return False
        if self.turning != other.turning:
            return False
        marks = self.names | other.names | self.turning
        return [word for word in self.sequence if word in marks] == [word for word in other.sequence if word in marks]

    def overlap(self, other: Words) -> float:
        """The share (0..1) of the words of both that they have in common (Jaccard)."""
        together = len(self.all | other.all)
        return len(self.all & other.all) / together if together else 0.0


def restatements(hits: Sequence[Said]) -> dict[int, int]:
    """For each hit that says again what an earlier one says: its place, and that one's (places from 0).

    Texts of more than LONGEST characters are the same only when they are equal.
    """
    words: dict[int, Words] = {}
    found: dict[int, int] = {}
    for place, said in enumerate(hits):
        for earlier in range(place):
            if earlier not in found and _alike(hits[earlier], said) and _restates(hits, words, earlier, place):
                found[place] = earlier
                break
    return found


def _alike(one: Said, other: Said) -> bool:
    """Whether two texts may say the same, by what costs nothing to compare."""
    short, long = sorted((len(one.text), len(other.text)))
    return one.speaker == other.speaker and (short >= SAME_LENGTH * long)


def _restates(hits: Sequence[Said], words: dict[int, Words], one: int, other: int) -> bool:
    if hits[one].text == hits[other].text:
        return True
    if len(hits[one].text) > LONGEST or len(hits[other].text) > LONGEST:
        return False
    for place in (one, other):
        if place not in words:
            words[place] = Words(hits[place])
    return words[other].restates(words[one])


def spread(hits: Sequence[Said], scores: Sequence[float], *, wanted: int, weight: float) -> list[tuple[int, float]]:
    """`wanted` places in the order that covers most: each time the best by score less `weight` × its likeness to the
    nearest of those chosen; with what was taken off. Maximal marginal relevance (Carbonell and Goldstein 1998)."""
    words = [Words(said) for said in hits]
    likeness = [0.0] * len(hits)
    left = list(range(len(hits)))
    chosen: list[tuple[int, float]] = []
    while left and len(chosen) < wanted:
        best = max(left, key=lambda place: (scores[place] - weight * likeness[place], -place))
        left.remove(best)
        chosen.append((best, weight * likeness[best]))
        for place in left:
            likeness[place] = max(likeness[place], words[place].overlap(words[best]))
    return chosen


def nearest(said: Said, others: Sequence[Words]) -> tuple[int, float]:
    """The place of that one of `others` (at least one) which is most alike, and how much (0..1), as `spread` counts."""
    words = Words(said)
    likeness = [words.overlap(other) for other in others]
    best = max(range(len(others)), key=likeness.__getitem__)
    return best, likeness[best]
