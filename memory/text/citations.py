"""Checks the citations of an answer by a language model: source numbers in brackets after what they support.

Numbers of no source are dropped. A source supports a sentence if its text contains the sentence's numbers, dates and
names (`grounding`), and half of the content words.
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

# Minimum share of a sentence's content words found in all its sources together, and in each of them alone.
LEAST_HELD, LEAST_SHARE = 0.5, 0.25
# Sentences that share this many words of one must agree in whether they are negated.
SAME_WORDS = 0.8
# Anything longer is text rather than a marker.
MOST_MARKER_CHARS = 48
# Maximum number of sources that a range like "[1-3]" names.
MOST_RANGE = 20

_NUMBERS = r"\d{1,4}(?:\s?[-–]\s?\d{1,4})?"
_MARKER = re.compile(rf"(?<!\s)\s*+[\[【［]\s?({_NUMBERS}(?:\s?[,，、;]\s?{_NUMBERS})*)\s?[\]】］]")
_OPENED = re.compile(r"(?<!\s)\s*+(?:[\[【［][\s\d,，、;–-]*+)?\Z")
_OWN_MARKER = re.compile(r"\s*+\[(\d+)\]")


@dataclass(frozen=True, slots=True)
class CheckedCitation:
    """A citation of source `n` at character `at` of the answer.

    `quote` is the sentence of the source that is closest to the citing one, verbatim. `supported` tells whether the
    source supports the citing sentence.
    """

    n: int
    at: int
    quote: str
    supported: bool


@dataclass(frozen=True, slots=True)
class CheckedAnswer:
    """The citations of an answer in order, and its sentences without a citation."""

    citations: list[CheckedCitation]
    uncited: list[str]


class MarkerFilter:
    """Passes a streamed answer on without numbers of unknown sources, and without white space at its ends.

    A marker may arrive in several pieces, so a possible start of one waits until it is complete.
    """

    def __init__(self, known: Collection[int]) -> None:
        self._known = known
        self._waiting = ""
        self._has_begun = False

    def feed(self, piece: str) -> str:
        """Take the next piece and return the text that can be passed on now."""
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
    """Return `text` without its citation markers."""
    return _OWN_MARKER.sub("", text)


def check_citations(text: str, sources: Mapping[int, Turn]) -> CheckedAnswer:
    """Return the citations of `text` and its sentences without any; `text` has passed a `MarkerFilter`.

    A citation belongs to the sentence that it is in, or directly after.
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
    """Return the sentence of `text` that shares most content words with `sentence`, verbatim.

    The first wins a tie; "" is returned if there is no sentence.
    """
    wanted = set(terms(sentence))
    found = [text[one.start : one.end].strip() for one in statements(text)]
    return max(found, key=lambda one: len(wanted.intersection(terms(one))), default="")


def is_said(sentence: str, sources: Sequence[Turn]) -> bool:
    """Tell whether the sources contain the sentence's numbers, dates and names, and half of its content words."""
    words = _content_words(sentence)
    held = {term for one in sources for term in terms(f"{one.speaker} {one.text}")}
    if not terms(sentence) or len(words & held) < LEAST_HELD * len(words):
        return False
    return find_invented(sentence, sources) is None


def _split_markers(text: str) -> tuple[str, list[tuple[int, int, int]]]:
    """Return `text` without markers, and for each marker its place there, its number and its place in `text`."""
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
    """Return the sentence's terms without numbers and dates, which are compared by value instead."""
    return {term for term in terms(sentence) if not any(character.isdigit() for character in term)}


def _denies(sentence: str, quote: str) -> bool:
    """Tell whether one of them negates what the other says in the same words."""
    words = _content_words(sentence)
    is_same = len(words.intersection(terms(quote))) >= SAME_WORDS * len(words)
    return is_same and is_negated(sentence) != is_negated(quote)
