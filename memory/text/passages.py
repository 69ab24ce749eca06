"""Cuts long texts into passages that fit an embedding model.

`semantic_text_splitter` makes the cuts: between blocks if possible, else between sentences, words, and only then inside
a word. Neighbouring passages overlap by whole sentences or words. The splitter's time grows with the square of the
length of a line and of a run of white space, so it never gets long ones (`_parts`, `_Plain`).
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

# Size of a passage and of its overlap with the one before, in estimated tokens. The bundled model reads 256 tokens
# including its special ones.
PASSAGE_TOKENS = 75
OVERLAP_TOKENS = 15
# Longer lines are cut into parts of this many characters.
MAX_LINE_CHARS = 5_000
# A run of this many characters outside ASCII is cut, if it has neither the end of a sentence nor white space.
MAX_WIDE_CHARS = 500
# The splitter gets a long text in parts of one to two times this many characters.
PART_CHARS = 20_000
# The splitter sees only the two ends of longer runs of white space.
MAX_SPACE_CHARS = 32

log = logging.getLogger("memos.text")

_WIDE_RUN = re.compile(rf"[^\x00-\x7f\s。！？]{{{MAX_WIDE_CHARS}}}")
_LONG_SPACE = re.compile(rf"\s{{{MAX_SPACE_CHARS + 1},}}+")
# White space outside ASCII. The Markdown splitter panics on some of it.
_WIDE_SPACE = re.compile(r"[^\S\x00-\x7f]")
# Ends after the last sentence that fits, else after the last word, else anywhere.
_LINE_PART = re.compile(
    "|".join(rf".{{{MAX_LINE_CHARS // 2},{MAX_LINE_CHARS}}}(?<={end})" for end in (r"[.!?]\s", r"[。！？]", r"\s"))
    + rf"|.{{1,{MAX_LINE_CHARS}}}",
    re.DOTALL,
)


def estimate_tokens(text: str) -> int:
    """Estimate how many tokens a word-piece model makes of `text`.

    Four ASCII characters count as one token, and any other character as one. That overestimates slightly for English
    and Chinese.
    """
    if text.isascii():
        return (len(text) + 3) // 4
    ascii_only = len(text.encode("ascii", "ignore"))
    return len(text) - ascii_only + (ascii_only + 3) // 4


def passages(text: str) -> list[str]:
    """Return the parts of `text` to embed: the text itself if it fits into one passage, else its passages in order."""
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
    """Return where the parts of `text` are, as [start, end) in characters, in order and stripped of white space.

    No part is longer than `tokens`. A part repeats up to `overlap` tokens of the one before, as far as whole sentences
    or words fit into that. Together the parts cover everything but white space. With `markdown`, the cuts respect the
    blocks and headings of CommonMark, and a long text is preferably cut where its `sections` start.
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
    """A text without the middle of its long runs of white space, which maps its characters to the original text."""

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
        """Return where the character `start` of the original is in this text; in a gap, the position of the gap."""
        part = bisect_right(self._places, start) - 1
        following = self._starts[part + 1] if part + 1 < len(self._starts) else len(self.text)
        return min(self._starts[part] + start - self._places[part], following)

    def fitting(self, start: int, end: int, tokens: int) -> list[tuple[int, int]]:
        """Return where text[start:end] is in the original, cut at the gaps if it is longer than `tokens` there."""
        first, last = (bisect_right(self._starts, place) - 1 for place in (start, end - 1))
        begin, until = (
            self._places[part] - self._starts[part] + place for part, place in ((first, start), (last, end))
        )
        if first == last or estimate_tokens(self._whole[begin:until]) <= tokens:
            return [(begin, until)]
        # Parts begin and end with the white space that was kept of a run.
        parts = [begin, *self._places[first + 1 : last + 1], until]
        return [(left, right) for part in pairwise(parts) for left, right in [self._bare(*part)] if left < right]

    def _bare(self, start: int, end: int) -> tuple[int, int]:
        """Return the span stripped of white space."""
        text = self._whole[start:end]
        bare = text.lstrip()
        start += len(text) - len(bare)
        return start, start + len(bare.rstrip())


def _cuts(splitter: TextSplitter | MarkdownSplitter, text: str, tokens: int) -> list[tuple[int, int]]:
    """Return offset and length of the splitter's parts of `text`; if the splitter panics, cut between words instead."""
    try:
        return [(offset, len(part)) for offset, part in splitter.chunk_indices(text)]
    except BaseException as error:
        # A panic of the Rust library isn't an Exception and would end the thread.
        if type(error).__name__ != "PanicException":
            raise
        log.warning("the splitter failed", extra={"characters": len(text)})
        return [(match.start(), len(match.group().rstrip())) for match in _words(tokens).finditer(text)]


@cache
def _words(tokens: int) -> re.Pattern[str]:
    """Return a pattern for parts of up to `tokens` characters that start with a word and end before white space."""
    return re.compile(rf"\S(?:[\s\S]{{0,{tokens - 1}}}(?=\s|\Z)|[\s\S]{{0,{tokens - 1}}})")


def _parts(text: str, sections: Sequence[int]) -> list[tuple[int, int]]:
    """Split a text where it is too long for the splitter, or where one of its lines is; else return it whole."""
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
    """Yield where to cut a long text: between sections, else after a blank line or a line, else at the size limit."""
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
