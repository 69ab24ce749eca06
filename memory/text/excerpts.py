"""Cuts the part that answers a question from a long text, at the ends of sentences."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Mapping
from typing import NamedTuple

from memory.text.analysis import terms
from memory.text.passages import spans
from memory.text.sentences import sentence_ends

# An agent gets at most this many characters of one memory.
MAX_HIT_CHARS = 1_000
ELLIPSIS = "…"
# The weight of the share of a question's terms in a passage, added to their cosine similarity.
_TERMS_WEIGHT = 0.3


class Excerpt(NamedTuple):
    """The part text[start:end] of a text of `characters`, with an ellipsis wherever something was cut."""

    text: str
    start: int
    end: int
    characters: int

    def to_dict(self) -> dict[str, int]:
        """Return the position of the excerpt, for a hit's metadata."""
        return {"start": self.start, "end": self.end, "characters": self.characters}


def make_excerpt(text: str, *, asked: Collection[str], similarities: Mapping[int, float]) -> Excerpt:
    """Return the passage of `text` that fits a question best, with whole sentences around it, up to `MAX_HIT_CHARS`.

    `asked` holds the question's terms, and `similarities` its known similarities to the text's passages, by index.
    """
    places = spans(text) or [(0, len(text))]
    wanted = set(asked)

    def fit(place: int) -> float:
        start, end = places[place]
        share = len(wanted.intersection(terms(text[start:end]))) / len(wanted) if wanted else 0.0
        return similarities.get(place, 0.0) + _TERMS_WEIGHT * share

    start, end = _grow(text, *places[max(range(len(places)), key=fit)])
    part = text[start:end].strip()
    before = ELLIPSIS + " " if text[:start].strip() else ""
    after = " " + ELLIPSIS if text[end:].strip() else ""
    return Excerpt(f"{before}{part}{after}", start, end, len(text))


def _grow(text: str, start: int, end: int) -> tuple[int, int]:
    """Extend [start, end) to whole sentences, then by sentences after and before it in turn, as long as they fit."""
    room = MAX_HIT_CHARS - 2 * (len(ELLIPSIS) + 1)
    ends = sorted({0, *sentence_ends(text), len(text)})
    first, last = bisect_right(ends, start) - 1, bisect_left(ends, end)
    if ends[last] - ends[first] > room:
        # The sentence is longer than an excerpt, but the passage itself ends between words.
        return start, min(end, start + room)
    moved = True
    while moved:
        moved = False
        if last + 1 < len(ends) and ends[last + 1] - ends[first] <= room:
            last, moved = last + 1, True
        if first > 0 and ends[last] - ends[first - 1] <= room:
            first, moved = first - 1, True
    return ends[first], ends[last]
