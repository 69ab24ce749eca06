"""Cuts a document into chunks that know their place and the headings that they stand under."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple

from memory.text.headings import headings
from memory.text.passages import spans

# A chunk is read by people and agents: a few passages long, each of which gets a vector.
CHUNK_TOKENS = 200
CHUNK_OVERLAP_TOKENS = 30

HEADING_SEPARATOR = " > "
# A chunk's headings are embedded with it: of a longer path the innermost are kept.
MAX_HEADING_CHARS = 200

# The first line of a code block, which the splitter may leave alone before a long block.
_FENCE = re.compile(r"(`{3,}|~{3,})[^`\r\n]*")


class Chunk(NamedTuple):
    """`text[start:end]` of the document, in characters, and the headings it stands under, outermost first, joined."""

    start: int
    end: int
    heading: str


class _Section(NamedTuple):
    """A heading at [start, end) of the text, and the path that ends in it."""

    start: int
    end: int
    path: str


def chunks(text: str, *, markdown: bool) -> list[Chunk]:
    """The document's chunks in order, each up to about CHUNK_TOKENS long; none if it holds only white space.

    With `markdown` they keep to blocks and sections, and a heading (or the mark that opens a code block)
    goes with what follows it.
    """
    sections = _sections(text) if markdown else []
    starts = [section.start for section in sections]
    found = []
    opened: int | None = None
    for start, end in spans(
        text, markdown=markdown, tokens=CHUNK_TOKENS, overlap=CHUNK_OVERLAP_TOKENS, sections=starts
    ):
        begin = start if opened is None else opened
        section, body = _first_words(text, sections, bisect_right(starts, begin) - 1, begin, end)
        if end - begin <= MAX_HEADING_CHARS and (body >= end or _FENCE.fullmatch(text, body, end)):
            opened = begin
            continue
        found.append(Chunk(begin, end, sections[section].path if section >= 0 else ""))
        opened = None
    if opened is not None:
        found.append(Chunk(opened, len(text.rstrip()), sections[-1].path if sections else ""))
    return found


def _first_words(text: str, sections: Sequence[_Section], section: int, start: int, end: int) -> tuple[int, int]:
    """Passes over the headings that text[start:end] begins with: the section of what follows them, and its place."""
    body = sections[section].end if section >= 0 and sections[section].start == start else start
    while section + 1 < len(sections) and sections[section + 1].start < end:
        if text[body : sections[section + 1].start].strip():
            break
        section += 1
        body = sections[section].end
    return section, body


def _sections(text: str) -> list[_Section]:
    """The headings of a Markdown text, in order."""
    path: dict[int, str] = {}
    found = []
    for heading in headings(text):
        path = {outer: title for outer, title in path.items() if outer < heading.level}
        path[heading.level] = " ".join(heading.title.split())[:MAX_HEADING_CHARS]
        path_text = _join_headings([path[key] for key in sorted(path) if path[key]])
        found.append(_Section(heading.start, heading.end, path_text))
    return found


def _join_headings(headings: list[str]) -> str:
    while len(joined := HEADING_SEPARATOR.join(headings)) > MAX_HEADING_CHARS:
        headings = headings[1:]
    return joined
