"""Cuts long texts into passages that an embedding model reads whole.

The cuts are those of `semantic_text_splitter`: between blocks where that is possible, else between sentences, words,
and only then inside a word; neighbours overlap by whole sentences or words.
"""

from __future__ import annotations

import re
from functools import cache

from semantic_text_splitter import MarkdownSplitter, TextSplitter

# A passage and what it repeats of the one before, in estimated tokens. The bundled model reads 256 with its own marks.
PASSAGE_TOKENS = 75
OVERLAP_TOKENS = 15
# The splitter's time grows with the square of a line's length: longer lines are cut into parts of this many characters.
MAX_LINE_CHARS = 5_000

_NOT_ASCII = re.compile(r"[^\x00-\x7f]")
# After the last sentence of what fits, else after its last word, else anywhere.
_LINE_PART = re.compile(
    "|".join(rf".{{{MAX_LINE_CHARS // 2},{MAX_LINE_CHARS}}}(?<={end})" for end in (r"[.!?]\s", r"[。！？]", r"\s"))
    + rf"|.{{1,{MAX_LINE_CHARS}}}",
    re.DOTALL,
)


def estimated_tokens(text: str) -> int:
    """About how many tokens a word-piece model makes of `text`: four ASCII characters a token, any other character one.

    For English and Chinese that is rather more than it makes.
    """
    if text.isascii():
        return (len(text) + 3) // 4
    others = len(_NOT_ASCII.findall(text))
    return others + (len(text) - others + 3) // 4


def passages(text: str) -> list[str]:
    """What is embedded of `text`: the text itself when it is no longer than one passage, else its passages in order."""
    if len(text) <= PASSAGE_TOKENS or estimated_tokens(text) <= PASSAGE_TOKENS:
        return [text]
    return [text[start:end] for start, end in spans(text)] or [text]


def spans(
    text: str, *, markdown: bool = False, tokens: int = PASSAGE_TOKENS, overlap: int = OVERLAP_TOKENS
) -> list[tuple[int, int]]:
    """Where the parts of `text` are: [start, end) in characters, in order, without white space at their ends.

    None is longer than `tokens`; they share up to `overlap` with the one before, as far as whole sentences or words fit
    into that; only white space lies outside all of them. `markdown` keeps to the blocks and
    headings of CommonMark.
    """
    splitter = _splitter(markdown, tokens, overlap)
    found = []
    for start, end in _parts(text):
        for offset, passage in splitter.chunk_indices(text[start:end]):
            found.append((start + offset, start + offset + len(passage)))
    return found


@cache
def _splitter(markdown: bool, tokens: int, overlap: int) -> TextSplitter | MarkdownSplitter:
    kind = MarkdownSplitter if markdown else TextSplitter
    return kind.from_callback(estimated_tokens, tokens, overlap)


def _parts(text: str) -> list[tuple[int, int]]:
    """The text as one part, unless it has lines longer than MAX_LINE_CHARS: each of those ends parts within itself."""
    cuts = [0]
    start = 0
    for line in text.split("\n") if len(text) > MAX_LINE_CHARS else ():
        if len(line) > MAX_LINE_CHARS:
            cuts += [start + part.end() for part in _LINE_PART.finditer(line)][:-1]
        start += len(line) + 1
    return list(zip(cuts, [*cuts[1:], len(text)], strict=True))
