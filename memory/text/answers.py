"""Answers a question in the words of the memories that were found, under a budget.

The rule: of the first memory that can be the answer the sentences are quoted that tell something. A further memory is
quoted only for a part of the question that those before it leave open, or where the first does not lead it. Nothing is
put into words of its own but dates. What this rule gets wrong is measured in docs/measure/answers.md.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from itertools import pairwise

from memory.text.analysis import cjk_share, terms
from memory.text.answer_fit import Subject, kinds_asked, kinds_held
from memory.text.asking import asks_for_many
from memory.text.event_dates import relative_spans
from memory.text.sentences import is_question, is_small_talk
from memory.text.timespan import Span, asks_when
from memory.text.utterances import Statement, statements
from memory.text.written_dates import write_day, write_span

Count = Callable[[str], int]

# Shares of the best score: what a memory must have to answer at all in the place of the first; to be quoted beside a
# first one that does not lead it; and so many lines at most.
REACH, NEAR, MOST_LINES = 0.6, 0.9, 3
# Sentences of one memory at most: of a long one those most like the question.
MOST_SENTENCES = 4

_CUT = re.compile(r"(?:[,;:]| -| –|—|\.\.\.)\s++|[，；：,;](?=[^\s\d])")
_ENDS = ".!…。！"
_MARKS = " ,;:-–—，；："


@dataclass(frozen=True, slots=True)
class Newer:
    """What the memory `memory_id` says (`text`, since `said`, aware) in the place of the `words` of another one."""

    memory_id: uuid.UUID
    words: str
    text: str
    said: datetime


@dataclass(frozen=True, slots=True)
class Source:
    """A memory that was found: its text, who said it and when (aware), and its score, the best first.

    `label` stands before what is quoted of it; `marked` puts that in quotation marks.
    """

    memory_id: uuid.UUID
    text: str
    said: datetime
    score: float
    speaker: str = ""
    label: str = ""
    marked: bool = False
    newer: Sequence[Newer] = ()


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A sentence that could be quoted: [start, end) of the text of the source at that place.

    `text` has its white space evened out.
    """

    source: int
    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Citation:
    """`quote` stands like this in the memory, and behind it the number `n` in the answer. `said`: when, aware."""

    n: int
    memory_id: uuid.UUID
    quote: str
    said: datetime
    marked: bool


@dataclass(frozen=True, slots=True)
class Composed:
    """An answer: a line for each memory, in the order in which they were found; and its cost."""

    text: str
    tokens: int
    citations: list[Citation]


def excerpts(question: str, sources: Sequence[Source]) -> list[Excerpt]:
    """The sentences of the sources' lines, in order: see `compose`. None when no source can be the answer."""
    told = [_tell(source, asking=False) for source in sources]
    if not any(told):
        asked = frozenset(terms(question))
        told = [[one for one in _tell(source, asking=True) if not asked.issuperset(terms(one.text))] for source in sources]
    return [
        Excerpt(place, one.start, one.end, _even_out(sources[place].text[one.start : one.end]))
        for place in _choose_lines(question, sources, told)
        for one in told[place]
    ]


def compose(
    question: str,
    sources: Sequence[Source],
    found: Sequence[Excerpt],
    *,
    likeness: Sequence[float] | None,
    max_tokens: int,
    count: Count,
) -> Composed | None:
    """The excerpts of `found` in at most `max_tokens`; None when there is none, or none fits.

    Where the question asks when, each line says when it was said and what times it names relatively. `likeness`: the
    cosine of each excerpt to the question; None when there are no vectors.
    """
    writer = _Writer(sources, dated=asks_when(question), chinese=cjk_share(question) > 0.5)
    near = dict(zip(found, likeness or [_share_words(question, one.text) for one in found], strict=True))
    chosen: list[Excerpt] = []
    said: set[object] = set()
    written: tuple[str, list[Citation]] | None = None
    for one in _order(question, found, near):
        shown = writer.show(one)
        for part in (one, *_shorten(question, sources[one.source].text, one)) if shown not in said else ():
            tried = writer.write([*chosen, part])
            if count(tried[0]) <= max_tokens:
                chosen, written = [*chosen, part], tried
                said.add(shown)
                break
    return Composed(written[0], count(written[0]), written[1]) if written else None


def _tell(source: Source, *, asking: bool) -> list[Statement]:
    """The sentences of a source that tell something: no small talk, and no questions unless `asking`."""
    return [
        one
        for one in statements(source.text)
        if (asking or not is_question(one.text)) and not is_small_talk(one.text) and terms(one.text)
    ]


def _choose_lines(question: str, sources: Sequence[Source], told: Sequence[Sequence[Statement]]) -> list[int]:
    """The places of the sources to quote, in order.

    The first is the one that holds all kinds of answer that are asked for, else one of them; where none does, it is the
    first that speaks of what is asked.
    """
    subject = Subject(question, [source.speaker for source in sources])
    kinds = kinds_asked(question)
    telling = [place for place, ones in enumerate(told) if ones]
    if not telling:
        return []
    best = sources[telling[0]].score
    held = {
        place: kinds & kinds_held(" ".join(one.text for one in told[place]))
        for place in telling
        if sources[place].score >= REACH * best and subject.may_be(sources[place].text, sources[place].speaker)
    }
    if not held:
        return []
    first = max(held, key=lambda place: (held[place] == kinds, bool(held[place]), -place))
    near = (REACH if asks_for_many(question) else NEAR) * sources[first].score
    lines, served = [first], set(held[first])
    for place, own in held.items():
        if place != first and (own - served or (own >= held[first] and sources[place].score >= near)):
            lines.append(place)
            served |= own
    return sorted(lines[:MOST_LINES])


def _order(question: str, found: Sequence[Excerpt], near: dict[Excerpt, float]) -> Iterator[Excerpt]:
    """The excerpts in the order in which they take their part of the budget: line by line, the likest of each first.

    What tells something and stands beside the likest sentence often holds what was asked.
    """
    for place in dict.fromkeys(one.source for one in found):
        own = [one for one in found if one.source == place]
        yield from sorted(own, key=near.__getitem__, reverse=True)[:MOST_SENTENCES]


def _even_out(text: str) -> str:
    return " ".join(text.split())


def _share_words(question: str, text: str) -> float:
    """The share (0..1) of the terms of `question` that `text` has."""
    asked = frozenset(terms(question))
    return len(asked.intersection(terms(text))) / max(1, len(asked))


def _shorten(question: str, text: str, one: Excerpt) -> Iterator[Excerpt]:
    """Shorter parts of a sentence that has no room, the longest first: from the clause that has most of the question's
    words on."""
    cuts = [one.start, *(mark.end() for mark in _CUT.finditer(text, one.start, one.end)), one.end]
    clauses = list(pairwise(cuts))
    if len(clauses) > 1:
        best = max(range(len(clauses)), key=lambda place: _share_words(question, text[slice(*clauses[place])]))
        for last in range(len(clauses), best, -1):
            start, end = clauses[best][0], clauses[last - 1][1]
            quote = text[start:end].rstrip(_MARKS)
            yield Excerpt(one.source, start, start + len(quote), _even_out(quote))


class _Writer:
    """Writes excerpts down as lines, each with its number, its label and, when `dated`, its dates."""

    def __init__(self, sources: Sequence[Source], *, dated: bool, chinese: bool) -> None:
        self._sources = sources
        self._chinese = chinese
        self._dated = dated

    def write(self, chosen: Sequence[Excerpt]) -> tuple[str, list[Citation]]:
        """The answer and what it quotes."""
        lines: list[str] = []
        citations: list[Citation] = []
        numbers: dict[uuid.UUID, int] = {}
        for place in sorted({one.source for one in chosen}):
            source = self._sources[place]
            own = sorted((one for one in chosen if one.source == place), key=lambda one: one.start)
            number = numbers.setdefault(source.memory_id, len(numbers) + 1)
            quotes = [source.text[start:end] for start, end in _join_excerpts(source.text, own)]
            citations += [Citation(number, source.memory_id, quote, source.said, source.marked) for quote in quotes]
            notes = self._dates(own)
            for newer, quote in self._find_later_words(own):
                later = numbers.setdefault(newer.memory_id, len(numbers) + 1)
                citations.append(Citation(later, newer.memory_id, quote, newer.said, True))
                notes.append(self._later(newer, quote, later))
            lines.append(self._line(place, " … ".join(_even_out(quote) for quote in quotes), number, notes))
        return "\n".join(lines), citations

    def _line(self, place: int, quoted: str, number: int, notes: Sequence[str] = ()) -> str:
        """The line of the source at `place`."""
        source = self._sources[place]
        if self._dated:
            day = write_day(source.said.date(), chinese=self._chinese)
            notes = [*notes, f"{day}说" if self._chinese else f"said on {day}"]
        words = f"“{quoted}”" if source.marked else quoted
        return f"{source.label}{words} [{number}]{self._in_brackets(notes)}"

    def show(self, one: Excerpt) -> tuple[str, str, date | None, frozenset[uuid.UUID]]:
        """What a reader sees of an excerpt: its words, its label, its day where days are written, and what is newer."""
        source = self._sources[one.source]
        newer = frozenset(newer.memory_id for newer, _ in self._find_later_words([one]))
        return one.text.rstrip(_ENDS).casefold(), source.label, source.said.date() if self._dated else None, newer

    def _find_later_words(self, quoted: Sequence[Excerpt]) -> list[tuple[Newer, str]]:
        """What newer memories say in the place of words of these excerpts of one source: of each the nearest sentence."""
        source = self._sources[quoted[0].source]
        found = []
        for newer in source.newer:
            start = source.text.find(newer.words)
            held = [one for one in quoted if one.start < start + len(newer.words) and start < one.end]
            if start >= 0 and held:
                parts = [newer.text[one.start : one.end] for one in statements(newer.text)]
                alike = {term for one in held for term in terms(one.text)}
                found += [(newer, max(parts, key=lambda part: len(alike & set(terms(part)))))] if parts else []
        return found

    def _later(self, newer: Newer, quote: str, number: int) -> str:
        day = write_day(newer.said.date(), chinese=self._chinese)
        if self._chinese:
            return f"{day}改说：“{_even_out(quote)}” [{number}]"
        return f"later, {day}: “{_even_out(quote)}” [{number}]"

    def _dates(self, quoted: Sequence[Excerpt]) -> list[str]:
        """The times that excerpts of one source name relatively, each behind its phrase where there are several."""
        if not self._dated:
            return []
        said = self._sources[quoted[0].source].said
        meant: dict[str, Span] = {}
        for one in quoted:
            meant |= relative_spans(one.text, said)
        written = {phrase: write_span(span, chinese=self._chinese) for phrase, span in meant.items()}
        dates = {phrase: date for phrase, date in written.items() if date}
        if len(dates) == 1:
            return list(dates.values())
        return [f"{phrase}{'：' if self._chinese else ': '}{date}" for phrase, date in dates.items()]

    def _in_brackets(self, notes: Sequence[str]) -> str:
        if not notes:
            return ""
        return f"（{'；'.join(notes)}）" if self._chinese else f" ({'; '.join(notes)})"


def _join_excerpts(text: str, own: Sequence[Excerpt]) -> list[tuple[int, int]]:
    """[start, end) of each quote: excerpts that only marks part are one."""
    quotes: list[tuple[int, int]] = []
    for one in own:
        if quotes and not any(letter.isalnum() for letter in text[quotes[-1][1] : one.start]):
            quotes[-1] = (quotes[-1][0], one.end)
        else:
            quotes.append((one.start, one.end))
    return quotes
