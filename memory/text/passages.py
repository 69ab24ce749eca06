"""Cuts long texts into passages that an embedding model reads whole.

The cuts are those of `semantic_text_splitter`: between blocks where that is possible, else between sentences, words,
and only then inside a word; neighbours overlap by whole sentences or words. Its time grows with the square of a line's
length and of a run of white space: it is given neither (`_parts`, `_Plain`).
"""

from __future__ import annotations

import logging
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import pairwise
from typing import Self

from semantic_text_splitter import MarkdownSplitter, TextSplitter

# A passage and what it repeats of the one before, in estimated tokens. The bundled model reads 256 with its own marks.
PASSAGE_TOKENS = 75
OVERLAP_TOKENS = 15
# Longer lines are cut into parts of this many characters.
MAX_LINE_CHARS = 5_000
# So many characters outside ASCII without a sentence's end or white space are cut, too.
MAX_WIDE_CHARS = 500
# Of a long text the splitter is given parts of one to two times as many characters.
PART_CHARS = 20_000
# Of longer runs of white space the splitter sees the two ends.
MAX_SPACE_CHARS = 32

log = logging.getLogger("memos.text")

_WIDE_RUN = re.compile(rf"[^\x00-\x7f\s。！？]{{{MAX_WIDE_CHARS}}}")
_LONG_SPACE = re.compile(rf"\s{{{MAX_SPACE_CHARS + 1},}}+")
# White space that is no ASCII. The Markdown splitter ends in a panic on some of it.
_WIDE_SPACE = re.compile(r"[^\S\x00-\x7f]")
# After the last sentence of what fits, else after its last word, else anywhere.
_LINE_PART = re.compile(
    "|".join(rf".{{{MAX_LINE_CHARS // 2},{MAX_LINE_CHARS}}}(?<={end})" for end in (r"[.!?]\s", r"[。！？]", r"\s"))
    + rf"|.{{1,{MAX_LINE_CHARS}}}",
    re.DOTALL,
)


def estimate_tokens(text: str) -> int:
    """About how many tokens a word-piece model makes of `text`: four ASCII characters a token, any other character one.

    For English and Chinese that is rather more than it makes.
    """
    if text.isascii():
        return (len(text) + 3) // 4
    ascii_only = len(text.encode("ascii", "ignore"))
    return len(text) - ascii_only + (ascii_only + 3) // 4


def passages(text: str) -> list[str]:
    """What is embedded of `text`: the text itself when it is no longer than one passage, else its passages in order."""
    if len(text) <= PASSAGE_TOKENS or estimate_tokens(text) <= PASSAGE_TOKENS:
        return [text]
    return [text[start:end] for start, end in spans(text)] or [text]


def spans(
    text: str,
    *,
    markdown: bool = False,
    tokens: int = PASSAGE_TOKENS,
    overlap: int = OVERLAP_TOKENS,
    sections: Sequence[int] = (),
) -> list[tuple[int, int]]:
    """Where the parts of `text` are: [start, end) in characters, in order, without white space at their ends.

    None is longer than `tokens`; they share up to `overlap` with the one before, as far as whole sentences or words fit
    into that; only white space lies outside all of them. `markdown` keeps to the blocks and
    headings of CommonMark; where its sections start is best for a long text to be cut at first.
    """
    splitter = _splitter(markdown, tokens, overlap)
    plain = _Plain.of(text)
    seen = _WIDE_SPACE.sub(" ", plain.text) if markdown else plain.text
    found = []
    for start, end in _parts(seen, [plain.place(start) for start in sections]):
        for offset, length in _cuts(splitter, seen[start:end], tokens):
            found += plain.fitting(start + offset, start + offset + length, tokens)
    return found


@cache
def _splitter(markdown: bool, tokens: int, overlap: int) -> TextSplitter | MarkdownSplitter:
    kind = MarkdownSplitter if markdown else TextSplitter
    return kind.from_callback(estimate_tokens, tokens, overlap)


class _Plain:
    """A text without the middles of its long runs of white space, and where its characters are in the text itself."""

    def __init__(self, whole: str, text: str, starts: list[int], places: list[int]) -> None:
        self.text = text
        self._whole = whole
        # text[starts[i]:starts[i + 1]] is whole[places[i]:…].
        self._starts = starts
        self._places = places

    @classmethod
    def of(cls, whole: str) -> Self:
        kept, starts, places = [], [0], [0]
        taken = length = 0
        for run in _LONG_SPACE.finditer(whole):
            before = run.start() + MAX_SPACE_CHARS // 2
            kept.append(whole[taken:before])
            length += before - taken
            taken = run.end() - MAX_SPACE_CHARS // 2
            starts.append(length)
            places.append(taken)
        kept.append(whole[taken:])
        return cls(whole, "".join(kept), starts, places)

    def place(self, start: int) -> int:
        """Where the character `start` of the whole text is in this one (or what was left out there)."""
        part = bisect_right(self._places, start) - 1
        following = self._starts[part + 1] if part + 1 < len(self._starts) else len(self.text)
        return min(self._starts[part] + start - self._places[part], following)

    def fitting(self, start: int, end: int, tokens: int) -> list[tuple[int, int]]:
        """Where text[start:end] is in the whole text; cut at what was left out if it is longer than `tokens` there."""
        first, last = (bisect_right(self._starts, place) - 1 for place in (start, end - 1))
        begin, until = (
            self._places[part] - self._starts[part] + place for part, place in ((first, start), (last, end))
        )
        if first == last or estimate_tokens(self._whole[begin:until]) <= tokens:
            return [(begin, until)]
        # Parts begin and end with the white space that is kept of a run.
        parts = [begin, *self._places[first + 1 : last + 1], until]
        return [(left, right) for part in pairwise(parts) for left, right in [self._bare(*part)] if left < right]

    def _bare(self, start: int, end: int) -> tuple[int, int]:
        """The place without white space at its ends."""
        text = self._whole[start:end]
        bare = text.lstrip()
        start += len(text) - len(bare)
        return start, start + len(bare.rstrip())


def _cuts(splitter: TextSplitter | MarkdownSplitter, text: str, tokens: int) -> list[tuple[int, int]]:
    """Offset and length of the parts that the splitter makes of `text`; at lines and words, should it fail."""
    try:
        return [(offset, len(part)) for offset, part in splitter.chunk_indices(text)]
    except BaseException as error:
        # A panic of the library is no Exception, and would end the thread.
        if type(error).__name__ != "PanicException":
            raise
        log.warning("the splitter failed", extra={"characters": len(text)})
        return [(match.start(), len(match.group().rstrip())) for match in _words(tokens).finditer(text)]


@cache
def _words(tokens: int) -> re.Pattern[str]:
    """Parts of up to `tokens` characters that begin with no white space and end before some where they can."""
    return re.compile(rf"\S(?:[\s\S]{{0,{tokens - 1}}}(?=\s|\Z)|[\s\S]{{0,{tokens - 1}}})")


def _parts(text: str, sections: Sequence[int]) -> list[tuple[int, int]]:
    """The text as one part, unless it is long or has lines that are: those end parts within themselves."""
    cuts = {0, *_breaks(text, sections)}
    if not text.isascii():
        cuts.update(run.end() for run in _WIDE_RUN.finditer(text))
    start = 0
    for line in text.split("\n") if len(text) > MAX_LINE_CHARS else ():
        if len(line) > MAX_LINE_CHARS:
            cuts.update(start + part.end() for part in list(_LINE_PART.finditer(line))[:-1])
        start += len(line) + 1
    return list(pairwise(sorted({*cuts, len(text)})))


def _breaks(text: str, sections: Sequence[int]) -> Iterator[int]:
    """Where a long text is cut: between sections, else at its last blank line or end of a line within the bounds."""
    cut = 0
    while len(text) - cut > 2 * PART_CHARS:
        least, most = cut + PART_CHARS, cut + 2 * PART_CHARS
        following = bisect_left(sections, least)
        if following < len(sections) and sections[following] <= most:
            cut = sections[following]
        else:
            blank, line = text.rfind("\n\n", least, most), text.rfind("\n", least, most)
            cut = blank + 2 if blank >= 0 else line + 1 if line >= 0 else most
        yield cut
