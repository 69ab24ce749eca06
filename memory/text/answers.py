"""Answers a question in the words of the memories that were found: the excerpts that say most, under a budget.

Nothing is put into words of its own but dates. An excerpt is a sentence, or the part of a long one between commas and
conjunctions, as it stands in its memory. How well the weights below do is measured in docs/measure/answers.md.
"""

from __future__ import annotations

import math
import re
import uuid
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from itertools import pairwise

from memory.text.analysis import CJK, cjk_share, terms
from memory.text.event_dates import list_spans, relative_spans
from memory.text.sentences import is_question, is_small_talk
from memory.text.timespan import Span, asks_when
from memory.text.utterances import MAX_READ_CHARS, statements
from memory.text.written_dates import write_day, write_span

Count = Callable[[str], int]

# A sentence of more words is cut, where no part gets fewer than FEWEST_WORDS; parts of more than MOST_WORDS anywhere.
UNCUT_WORDS, FEWEST_WORDS, MOST_WORDS = 16, 4, 40
# What an excerpt is worth, in units of the best memory's score: the score of its own memory less what an irrelevant one
# has; what of the question it holds, by meaning (a cosine) and by rare words (0..1); words that the question lacks, all
# of NEW with MOST_NEW of them; a time, where one is asked for. A question and small talk say nothing.
IRRELEVANT = 0.6
MEANING, OVERLAP, NEW, TIME = 0.8, 0.4, 0.2, 0.2
MOST_NEW = 15
# The cosine of an excerpt that has no vector.
USUAL_LIKENESS = 0.3
# So many are compared with the question by meaning: vectors take time, and more gain nothing.
MOST_EXCERPTS = 12
SAYS_NOTHING = 1.0
# What those before it have said counts so much less; and tokens cost, to this power.
SAID_AGAIN = 0.4
PRICE = 0.1
# What is worth less than so much of the best excerpt is not quoted, whatever the budget.
WORTH_QUOTING = 0.4

_CUT = re.compile(
    r"(?:,|;|:| -| –|—|\.\.\.)\s++|[，；：]"
    r"|(?<!\s)\s++(?=(?:and|but|so|because|which|while)\s+(?:i|we|she|he|they|it|the|my|our)\b)",
    re.IGNORECASE,
)
_ENDS = ".!…。！"
_WORD = re.compile(rf"[{CJK}]{{1,2}}|[^\W{CJK}]+(?:['’\-][^\W{CJK}]+)*")


@dataclass(frozen=True, slots=True)
class Newer:
    """What the memory `memory_id` says (`text`, since `said`, aware) in the place of the `words` of another one."""

    memory_id: uuid.UUID
    words: str
    text: str
    said: datetime


@dataclass(frozen=True, slots=True)
class Source:
    """A memory that was found: its text, when it was `said` (aware), and its score (the best one's is the largest).

    `label` stands before what is quoted of it; `marked` puts that in quotation marks.
    """

    memory_id: uuid.UUID
    text: str
    said: datetime
    score: float
    label: str = ""
    marked: bool = False
    newer: Sequence[Newer] = ()


@dataclass(frozen=True, slots=True)
class Excerpt:
    """What stands at [start, end) of the text of the source at that place, in a longer `sentence` or as a whole one.

    `text` has its white space evened out.
    """

    source: int
    start: int
    end: int
    text: str
    sentence: str


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
    """What could be quoted of the sources, in order: the MOST_EXCERPTS that look best without their vectors.

    Not the question itself, as it was asked before.
    """
    asked = frozenset(terms(question))
    cut = [
        Excerpt(place, start, end, _even_out(source.text[start:end]), one.text)
        for place, source in enumerate(sources)
        for one in statements(source.text)
        for start, end in _cut(source.text, one.start, one.end)
        if end - start <= MAX_READ_CHARS
    ]
    found = [one for one in cut if not (is_question(one.text) and asked.issuperset(terms(one.text)))]
    worth = _worth(question, sources, found, [frozenset(terms(one.text)) for one in found], None, timed=False)
    best = sorted(range(len(found)), key=worth.__getitem__, reverse=True)[:MOST_EXCERPTS]
    return [found[place] for place in sorted(best)]


def compose(
    question: str,
    sources: Sequence[Source],
    found: Sequence[Excerpt],
    *,
    likeness: Sequence[float] | None,
    max_tokens: int,
    count: Count,
) -> Composed | None:
    """The excerpts that answer best, in at most `max_tokens`; None when none is worth quoting, or none fits.

    Where the question asks when, each line says when it was said and what times it names relatively. `likeness`: the
    cosine of each excerpt to the question; None when there are no vectors.
    """
    chinese = cjk_share(question) > 0.5
    writer = _Composer(sources, dated=asks_when(question), chinese=chinese)
    chosen = _choose(question, sources, found, likeness, max_tokens=max_tokens, count=count, writer=writer)
    while chosen:
        text, citations = writer.write([found[place] for place in chosen])
        tokens = count(text)
        if tokens <= max_tokens:
            return Composed(text, tokens, citations)
        chosen.pop()
    return None


def _cut(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The parts of a sentence at [start, end) of `text`, without the marks between them."""
    words = [word.start() for word in _WORD.finditer(text, start, end)]
    first, before = start, 0
    for mark in _CUT.finditer(text, start, end) if len(words) > UNCUT_WORDS else ():
        until, after = bisect_left(words, mark.start()), bisect_left(words, mark.end())
        if until - before >= FEWEST_WORDS and len(words) - after >= FEWEST_WORDS:
            yield from _clip(text, first, mark.start(), words[before:until])
            first, before = mark.end(), after
    yield from _clip(text, first, end, words[before:])


def _clip(text: str, start: int, end: int, words: Sequence[int]) -> Iterator[tuple[int, int]]:
    for first, last in pairwise((start, *words[MOST_WORDS::MOST_WORDS], end)):
        yield first, first + len(text[first:last].rstrip())


def _even_out(text: str) -> str:
    return " ".join(text.split())


def _choose(
    question: str,
    sources: Sequence[Source],
    found: Sequence[Excerpt],
    likeness: Sequence[float] | None,
    *,
    max_tokens: int,
    count: Count,
    writer: _Composer,
) -> list[int]:
    """The places of the excerpts to quote, the most worth first: each next one is worth most for what it costs.

    Of those that would stand there with the same words and marks one is quoted.
    """
    held = [frozenset(terms(one.text)) for one in found]
    worth = _worth(question, sources, found, held, likeness, timed=writer.dated)
    costs = [writer.cost(one, count) for one in found]
    lines = [count(writer.line(place, "", 1)) for place in range(len(sources))]
    chosen: list[int] = []
    said: set[str] = set()
    begun: set[int] = set()
    left = max_tokens

    def cost(place: int) -> int:
        return costs[place] + (0 if found[place].source in begun else lines[found[place].source])

    def gain(place: int) -> float:
        again = len(held[place] & said) / max(1, len(held[place]))
        return worth[place] * (1 - SAID_AGAIN * again) / cost(place) ** PRICE

    least = WORTH_QUOTING * max(worth, default=0.0)
    waiting = {place for place, value in enumerate(worth) if value > max(0.0, least) and held[place]}
    shown = [(one.text.rstrip(_ENDS).casefold(), writer.find_marks(one)) for one in found]
    while fitting := [place for place in sorted(waiting) if cost(place) <= left]:
        best = max(fitting, key=gain)
        left -= cost(best)
        chosen.append(best)
        waiting = {place for place in waiting if shown[place] != shown[best]}
        said |= held[best]
        begun.add(found[best].source)
    return chosen


def _worth(
    question: str,
    sources: Sequence[Source],
    found: Sequence[Excerpt],
    held: Sequence[frozenset[str]],
    likeness: Sequence[float] | None,
    *,
    timed: bool,
) -> list[float]:
    """What each excerpt is worth; nothing is quoted of what is worth 0 or less."""
    asked = frozenset(terms(question))
    counts = Counter(term for one in held for term in one)
    rarity = {term: math.log(1 + len(found) / (1 + counts[term])) for term in asked}
    best = max((source.score for source in sources), default=0.0)
    values = []
    for place, (one, holds) in enumerate(zip(found, held, strict=True)):
        source = sources[one.source]
        value = (source.score / best if best > 0 else 1.0) - IRRELEVANT
        value += MEANING * (USUAL_LIKENESS if likeness is None else likeness[place])
        value += OVERLAP * sum(rarity[term] for term in asked & holds) / max(sum(rarity.values()), 1e-9)
        value += NEW * min(len(holds - asked), MOST_NEW) / MOST_NEW
        value -= SAYS_NOTHING * (is_question(one.text) or is_small_talk(one.text))
        if timed and list_spans(one.sentence, source.said):
            value += TIME
        values.append(value)
    return values


class _Composer:
    """Writes excerpts down as lines, each with its number, its label and, when `dated`, its dates."""

    def __init__(self, sources: Sequence[Source], *, dated: bool, chinese: bool) -> None:
        self._sources = sources
        self._chinese = chinese
        self.dated = dated

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
            lines.append(self.line(place, " … ".join(_even_out(quote) for quote in quotes), number, notes))
        return "\n".join(lines), citations

    def line(self, place: int, quoted: str, number: int, notes: Sequence[str] = ()) -> str:
        """The line of the source at `place`."""
        source = self._sources[place]
        if self.dated:
            day = write_day(source.said.date(), chinese=self._chinese)
            notes = [*notes, f"{day}说" if self._chinese else f"said on {day}"]
        words = f"“{quoted}”" if source.marked else quoted
        return f"{source.label}{words} [{number}]{self._in_brackets(notes)}"

    def cost(self, one: Excerpt, count: Count) -> int:
        """What an excerpt costs besides its line."""
        later = [self._later(newer, quote, len(self._sources)) for newer, quote in self._find_later_words([one])]
        return count(one.text + self._in_brackets(self._dates([one]) + later))

    def find_marks(self, one: Excerpt) -> tuple[str, date | None, frozenset[uuid.UUID]]:
        """What stands beside the words of an excerpt: its label, the day on which it was said where days are written,
        and the memories that say something newer.
        """
        source = self._sources[one.source]
        newer = frozenset(newer.memory_id for newer, _ in self._find_later_words([one]))
        return source.label, source.said.date() if self.dated else None, newer

    def _find_later_words(self, quoted: Sequence[Excerpt]) -> list[tuple[Newer, str]]:
        """What newer memories say in the place of words of these excerpts of one source: of each the nearest part."""
        source = self._sources[quoted[0].source]
        found = []
        for newer in source.newer:
            start = source.text.find(newer.words)
            held = [one for one in quoted if one.start < start + len(newer.words) and start < one.end]
            if start >= 0 and held:
                parts = [
                    newer.text[first:last]
                    for one in statements(newer.text)
                    for first, last in _cut(newer.text, one.start, one.end)
                ]
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
        if not self.dated:
            return []
        said = self._sources[quoted[0].source].said
        meant: dict[str, Span] = {}
        for one in quoted:
            meant |= relative_spans(one.text, said) or relative_spans(one.sentence, said)
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
