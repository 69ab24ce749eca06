"""Checks the citations of an answer that a language model wrote: numbers of sources, in brackets behind what they say.

A number that no source has is dropped. Whether a source says what cites it is judged by surfaces: numbers, dates and
names of the sentence must stand in what it cites (`grounding`), and so must half of its content words.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from memory.text.analysis import terms
from memory.text.cues import is_negated
from memory.text.grounding import find_invented
from memory.text.sentences import is_small_talk, sentence_ends
from memory.text.statements import Turn
from memory.text.utterances import statements

# The share of a sentence's content words that stand in what it cites, and in each source by itself.
LEAST_HELD, LEAST_SHARE = 0.5, 0.25
# With so many of them in one sentence of the source, both deny or neither does.
SAME_WORDS = 0.8
# No marker is longer; what is, is text.
MOST_MARKER_CHARS = 48
# "[1-3]" names no more sources than this.
MOST_RANGE = 20

_NUMBERS = r"\d{1,4}(?:\s?[-–]\s?\d{1,4})?"
_MARKER = re.compile(rf"(?<!\s)\s*+[\[【［]\s?({_NUMBERS}(?:\s?[,，、;]\s?{_NUMBERS})*)\s?[\]】］]")
_OPENED = re.compile(r"(?<!\s)\s*+(?:[\[【［][\s\d,，、;–-]*+)?\Z")
_OWN_MARKER = re.compile(r"\s*+\[(\d+)\]")


@dataclass(frozen=True, slots=True)
class CheckedCitation:
    """Source `n` is cited at `at`, in characters of the answer. `quote`: the sentence of the source that is nearest to
    what cites it, as it stands there. `supported`: whether the source says it."""

    n: int
    at: int
    quote: str
    supported: bool


@dataclass(frozen=True, slots=True)
class CheckedAnswer:
    """The citations of an answer in their order, and its sentences that cite nothing."""

    citations: list[CheckedCitation]
    uncited: list[str]


class MarkerFilter:
    """Passes an answer on piece by piece, without the numbers of no source and without white space at its ends.

    A marker may come in several pieces: what could be the start of one waits for its end.
    """

    def __init__(self, known: Collection[int]) -> None:
        self._known = known
        self._waiting = ""
        self._has_begun = False

    def feed(self, piece: str) -> str:
        """What of the answer can be passed on now."""
        text = self._waiting + piece
        if not self._has_begun:
            text = text.lstrip()
        opened = _OPENED.search(text, max(0, len(text) - MOST_MARKER_CHARS))
        ready = opened.start() if opened else len(text)
        self._waiting = text[ready:]
        self._has_begun = self._has_begun or ready > 0
        return _MARKER.sub(self._keep_known, text[:ready])

    def _keep_known(self, match: re.Match[str]) -> str:
        numbers = [number for number in _numbers_of(match[1]) if number in self._known]
        before = match[0][: len(match[0]) - len(match[0].lstrip())]
        return before + "".join(f"[{number}]" for number in dict.fromkeys(numbers)) if numbers else ""


def _numbers_of(listed: str) -> Iterator[int]:
    for part in re.split(r"[,，、;]", listed):
        first, _, last = part.replace("–", "-").partition("-")
        yield from range(int(first), min(int(last or first), int(first) + MOST_RANGE) + 1)


def remove_markers(text: str) -> str:
    """`text` without the numbers of its sources."""
    return _OWN_MARKER.sub("", text)


def check_citations(text: str, sources: Mapping[int, Turn]) -> CheckedAnswer:
    """What `text`, which has passed a MarkerFilter, cites of the numbered `sources`, and what it says without.

    A sentence is marked with what stands in or directly behind it.
    """
    plain, markers = _split_markers(text)
    ends = [*sentence_ends(plain), len(plain)]
    cited: dict[int, list[tuple[int, int]]] = {}
    for place, number, at in markers:
        cited.setdefault(min(bisect_left(ends, place), len(ends) - 1), []).append((number, at))
    citations: list[CheckedCitation] = []
    uncited: list[str] = []
    for index, (start, end) in enumerate(zip([0, *ends], ends, strict=False)):
        sentence = plain[start:end].strip()
        if index in cited:
            citations += _check(sentence, cited[index], sources)
        elif terms(sentence) and not is_small_talk(sentence):
            uncited.append(sentence)
    return CheckedAnswer(citations, uncited)


def nearest_sentence(sentence: str, text: str) -> str:
    """The sentence of `text` that shares most content words with `sentence`, as it stands there; the first of equals.
    "" where there is none."""
    wanted = set(terms(sentence))
    found = [text[one.start : one.end].strip() for one in statements(text)]
    return max(found, key=lambda one: len(wanted.intersection(terms(one))), default="")


def is_said(sentence: str, sources: Sequence[Turn]) -> bool:
    """Whether the sources say it together: by its numbers, dates, names and half of its content words."""
    words = _content_words(sentence)
    held = {term for one in sources for term in terms(f"{one.speaker} {one.text}")}
    if not terms(sentence) or len(words & held) < LEAST_HELD * len(words):
        return False
    return find_invented(sentence, sources) is None


def _split_markers(text: str) -> tuple[str, list[tuple[int, int, int]]]:
    """`text` without its markers; and of each its place there, its number and its place in `text`."""
    plain: list[str] = []
    markers: list[tuple[int, int, int]] = []
    length = done = 0
    for match in _OWN_MARKER.finditer(text):
        plain.append(text[done : match.start()])
        length += match.start() - done
        done = match.end()
        markers.append((length, int(match[1]), match.start(1) - 1))
    return "".join([*plain, text[done:]]), markers


def _check(sentence: str, cited: Sequence[tuple[int, int]], sources: Mapping[int, Turn]) -> Iterator[CheckedCitation]:
    words = _content_words(sentence)
    is_true = is_said(sentence, [sources[number] for number, _ in cited])
    for number, at in cited:
        quote = nearest_sentence(sentence, sources[number].text)
        own = words.intersection(terms(f"{sources[number].speaker} {sources[number].text}"))
        supported = is_true and len(own) >= LEAST_SHARE * len(words) and not _denies(sentence, quote)
        yield CheckedCitation(number, at, quote, supported)


def _content_words(sentence: str) -> set[str]:
    """Its terms without numbers and dates, which are looked for by what they mean."""
    return {term for term in terms(sentence) if not any(character.isdigit() for character in term)}


def _denies(sentence: str, quote: str) -> bool:
    """Whether one of them denies what the other says in the same words."""
    words = _content_words(sentence)
    is_same = len(words.intersection(terms(quote))) >= SAME_WORDS * len(words)
    return is_same and is_negated(sentence) != is_negated(quote)
