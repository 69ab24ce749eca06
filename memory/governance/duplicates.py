"""Whether two texts say the same: letter by letter, by their words, or nearly so by words and meaning.

Only EXACT and RESTATES are safe to merge unseen; NEAR is for people and for ranking. In a long text one changed detail
makes another statement, so there nearly every word has to be there, in the same order (the traps of PAWS: Zhang,
Baldridge and He 2019); short ones may be worded anew when the embedding model finds them alike. Numbers, negations and
times must agree always. `bench/duplicates.py` measures all this.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections import Counter

from memory.enums import Sameness
from memory.retrieval.near_duplicates import Words
from memory.text.analysis import FUNCTION_CHARACTERS, STOP_WORDS
from memory.text.sentences import is_question

# Content words of both texts together from which they count as long.
LONG = 24
# Cosine, and share of the content words that only one has, at which short texts are near.
NEAR_COSINE = 0.8
NEAR_DIFFERENCE = 0.5
# The same share for long texts.
LONG_DIFFERENCE = 0.03

_SPACE = re.compile(r"\s+")
_END_MARKS = ".!?。！？~～…;； "
_EMPTY = STOP_WORDS | FUNCTION_CHARACTERS
_STATES = re.compile(r"[.。!！]\s*$")


def normalise(text: str) -> str:
    """`text` without what does not change its letters' meaning: width, case, white space, marks at its end."""
    return _SPACE.sub(" ", unicodedata.normalize("NFKC", text)).strip().casefold().rstrip(_END_MARKS)


def fingerprint(text: str) -> bytes:
    """SHA-256 of the normalised text: exact duplicates share it."""
    return hashlib.sha256(normalise(text).encode()).digest()


def sameness(one: str, other: str, *, cosine: float | None = None) -> Sameness:
    """How alike two texts of one speaker are. `cosine`: of their vectors (−1..1); without it NEAR is not found."""
    first, second = Words("", one), Words("", other)
    if _asks_and_states(one, other):
        return Sameness.DIFFERENT
    if normalise(one) == normalise(other):
        return Sameness.EXACT
    if first.turning != second.turning:
        return Sameness.DIFFERENT
    mine, theirs = _content(first), _content(second)
    difference, in_order = _compare(mine, theirs)
    long = len(mine) + len(theirs) >= LONG
    kept = in_order and difference <= LONG_DIFFERENCE
    if first.restates(second) and in_order and (kept or not long):
        return Sameness.RESTATES
    alike = cosine is not None and cosine >= NEAR_COSINE
    return Sameness.NEAR if alike and (kept if long else difference <= NEAR_DIFFERENCE) else Sameness.DIFFERENT


def _content(words: Words) -> list[str]:
    return [word for word in words.sequence if word not in _EMPTY]


def _compare(mine: list[str], theirs: list[str]) -> tuple[float, bool]:
    """The share of the words that only one has, and whether those of both come in the same order."""
    ours = Counter(mine) & Counter(theirs)
    everything = len(mine) + len(theirs)
    in_order = [word for word in mine if word in ours] == [word for word in theirs if word in ours]
    return (everything - 2 * ours.total()) / max(everything, 1), in_order


def _asks_and_states(one: str, other: str) -> bool:
    return any(is_question(a) and not is_question(b) and _STATES.search(b) for a, b in ((one, other), (other, one)))
