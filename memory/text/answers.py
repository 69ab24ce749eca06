"""Answers a question in the words of the memories that were found, within a budget.

The informative sentences of the first memory that can be the answer are quoted. Further memories are quoted only for a
part of the question that is still open, or where they are nearly as good as the first. Only dates are reworded.
docs/measure/answers.md measures the rule's errors.
"""

from __future__ import annotations

import re
import uuid
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from itertools import pairwise, takewhile

from memory.text.analysis import cjk_share, terms
from memory.text.answer_fit import Subject, asks_for_several, kinds_asked, kinds_held, lacks_answer, names_nobody_known
from memory.text.event_dates import relative_spans
from memory.text.sentences import is_question, is_small_talk
from memory.text.timespan import Span, asks_when
from memory.text.utterances import Statement, statements
from memory.text.written_dates import write_day, write_span

Count = Callable[[str], int]

# The first quoted memory needs REACH of the best score; a further one needs NEAR of the first one's.
REACH, NEAR = 0.6, 0.85
MOST_LINES, MOST_LINES_OF_SEVERAL = 2, 4
# Maximum numbers of sentences of one memory that are read, and that are quoted.
MOST_READ, MOST_QUOTED = 8, 4

_CUT = re.compile(r"(?:[,;:]| -| –|—|\.\.\.)\s++|[，；：,;](?=[^\s\d])")
_ENDS = ".!…。！"
_MARKS = " ,;:-–—，；："


@dataclass(frozen=True, slots=True)
class Newer:
    """A newer memory that says `text`, since `said` (timezone-aware), instead of the `words` of an older one."""

    memory_id: uuid.UUID
    words: str
    text: str
    said: datetime


@dataclass(frozen=True, slots=True)
class Source:
    """A memory that was found, with its text, speaker, time (timezone-aware) and score; the best comes first.

    `label` precedes the quotes from it; `marked` puts them in quotation marks.
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
class Quotable:
    """A sentence that could be quoted, at [start, end) in the text of the source at index `source`.

    `text` has its white space normalised, and is cut if it is long.
    """

    source: int
    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Citation:
    """A citation: `quote` is a literal part of a memory, followed by the number `n` in the answer.

    `said` is when it was said (timezone-aware).
    """

    n: int
    memory_id: uuid.UUID
    quote: str
    said: datetime
    marked: bool


@dataclass(frozen=True, slots=True)
class Composed:
    """An answer with a line for each memory, in the order in which they were found, and its cost in tokens."""

    text: str
    tokens: int
    citations: list[Citation]


def excerpts(question: str, sources: Sequence[Source]) -> list[Quotable]:
    """Return the sentences that could be quoted from the sources that can be the answer, in order.

    They are informative: small talk is left out, and so are questions unless there is nothing else.
    """
    told = [_tell(question, source, asking=False) for source in sources]
    if not any(told):
        told = [_tell(question, source, asking=True) for source in sources]
    told_of = "\n".join(f"{source.speaker}: {source.text}" for source in sources)
    if all(source.speaker for source in sources) and names_nobody_known(question, told_of):
        return []
    subject = Subject(question, [source.speaker for source in sources])
    least = REACH * next((source.score for source, ones in zip(sources, told, strict=True) if ones), 0.0)
    return [
        Quotable(place, one.start, one.end, one.text)
        for place, (source, ones) in enumerate(zip(sources, told, strict=True))
        if source.score >= least and subject.may_be(source.text, source.speaker)
        for one in ones
    ]


def compose(
    question: str,
    sources: Sequence[Source],
    found: Sequence[Quotable],
    *,
    likeness: Sequence[float] | None,
    max_tokens: int,
    count: Count,
) -> Composed | None:
    """Compose an answer from the excerpts in `found` within `max_tokens`; return None if none fits or answers.

    If the question asks when, each line says when it was said, and resolves its relative times. `likeness` holds the
    cosine similarity of each excerpt to the question, or is None if there are no vectors.
    """
    writer = _AnswerWriter(sources, dated=asks_when(question), chinese=cjk_share(question) > 0.5)
    near = dict(zip(found, likeness or [_share_words(question, one.text) for one in found], strict=True))
    chosen: list[Quotable] = []
    said: set[object] = set()

    def fits(part: Quotable) -> bool:
        return count(writer.write([*chosen, part])[0]) <= max_tokens

    for one in _choose(question, sources, near):
        shown = writer.show(one)
        parts = [one] if fits(one) else takewhile(fits, _shorten(question, sources[one.source].text, one))
        for longest in deque(parts if shown not in said else (), maxlen=1):
            chosen.append(longest)
            said.add(shown)
    if not chosen:
        return None
    text, citations = writer.write(chosen)
    return Composed(text, count(text), citations)


def _tell(question: str, source: Source, *, asking: bool) -> list[Statement]:
    """Return the informative sentences of a source; with `asking`, also questions that ask more than this one."""
    asked = frozenset(terms(question))
    told = [
        one
        for one in statements(source.text)
        if terms(one.text)
        and not is_small_talk(one.text)
        and not (is_question(one.text) and (not asking or asked.issuperset(terms(one.text))))
    ]
    likest = sorted(told, key=lambda one: _share_words(question, one.text), reverse=True)[:MOST_READ]
    return sorted(likest, key=lambda one: one.start)


def _choose(question: str, sources: Sequence[Source], near: Mapping[Quotable, float]) -> Iterator[Quotable]:
    """Yield the excerpts to quote, line by line and the most similar first, which is the order they use up the budget.

    All informative sentences of a memory are candidates, because the answer is often next to the most similar one.
    Nothing is quoted if the question asks for a reliably recognised kind of answer that no excerpt holds
    (`lacks_answer`). The first line is from the first source that holds all kinds asked for, else from the first that
    holds one of them, else from the first. A further line must hold a kind that is still open, or be nearly as good; if
    only one thing is asked for, it must also be at least as similar to the question, since the first may be wrong.
    """
    kinds, several = kinds_asked(question), asks_for_several(question)
    lines: dict[int, list[Quotable]] = {}
    for one in near:
        lines.setdefault(one.source, []).append(one)
    held = {place: kinds & kinds_held("\n".join(one.text for one in own)) for place, own in lines.items()}
    if lacks_answer(kinds, frozenset().union(*held.values())) or not lines:
        return
    like = {place: max(near[one] for one in own) for place, own in lines.items()}
    first = max(lines, key=lambda place: (held[place] == kinds, bool(held[place]), -place))
    chosen, served = [first], set(held[first])
    for place in lines:
        serves = not held[place] <= served
        is_near = held[place] >= held[first] and sources[place].score >= NEAR * sources[first].score
        if place != first and (serves or (is_near and (several or like[place] >= like[first]))):
            chosen.append(place)
            served |= held[place]
    for place in chosen[: MOST_LINES_OF_SEVERAL if several else MOST_LINES]:
        yield from sorted(lines[place], key=near.__getitem__, reverse=True)[:MOST_QUOTED]


def _even_out(text: str) -> str:
    return " ".join(text.split())


def _share_words(question: str, text: str) -> float:
    """Return the share (0..1) of the terms of `question` that `text` contains."""
    asked = frozenset(terms(question))
    return len(asked.intersection(terms(text))) / max(1, len(asked))


def _shorten(question: str, text: str, one: Quotable) -> Iterator[Quotable]:
    """Yield ever longer parts of a sentence that doesn't fit, from the clause with most words of the question on."""
    cuts = [one.start, *(mark.end() for mark in _CUT.finditer(text, one.start, one.end)), one.end]
    clauses = list(pairwise(cuts))
    best = max(range(len(clauses)), key=lambda place: _share_words(question, text[slice(*clauses[place])]))
    start = clauses[best][0]
    for _, end in clauses[best:]:
        quote = text[start:end].rstrip(_MARKS)
        yield Quotable(one.source, start, start + len(quote), _even_out(quote))


class _AnswerWriter:
    """Writes excerpts as lines, each with its number, its label and, if `dated`, its dates."""

    def __init__(self, sources: Sequence[Source], *, dated: bool, chinese: bool) -> None:
        self._sources = sources
        self._chinese = chinese
        self._dated = dated

    def write(self, chosen: Sequence[Quotable]) -> tuple[str, list[Citation]]:
        """Return the answer and its citations."""
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
        """Return the line of the source at index `place`."""
        source = self._sources[place]
        if self._dated:
            day = write_day(source.said.date(), chinese=self._chinese)
            notes = [*notes, f"{day}说" if self._chinese else f"said on {day}"]
        words = f"“{quoted}”" if source.marked else quoted
        return f"{source.label}{words} [{number}]{self._in_brackets(notes)}"

    def show(self, one: Quotable) -> tuple[str, str, date | None, frozenset[uuid.UUID]]:
        """Return all that a reader sees of an excerpt: words, label, day if dated, and newer memories."""
        source = self._sources[one.source]
        newer = frozenset(newer.memory_id for newer, _ in self._find_later_words([one]))
        return one.text.rstrip(_ENDS).casefold(), source.label, source.said.date() if self._dated else None, newer

    def _find_later_words(self, quoted: Sequence[Quotable]) -> list[tuple[Newer, str]]:
        """Return the newer memories that replace words of these excerpts of one source, with their closest sentence."""
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

    def _dates(self, quoted: Sequence[Quotable]) -> list[str]:
        """Return the dates that excerpts of one source name relatively, each after its phrase if there are several."""
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


def _join_excerpts(text: str, own: Sequence[Quotable]) -> list[tuple[int, int]]:
    """Return [start, end) of each quote, joining excerpts that only punctuation separates."""
    quotes: list[tuple[int, int]] = []
    for one in own:
        if quotes and not any(letter.isalnum() for letter in text[quotes[-1][1] : one.start]):
            quotes[-1] = (quotes[-1][0], one.end)
        else:
            quotes.append((one.start, one.end))
    return quotes
