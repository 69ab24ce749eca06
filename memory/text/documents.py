"""Cuts a document into chunks that know their position and the headings above them."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple

from memory.text.headings import headings
from memory.text.pages import find_pages, page_at
from memory.text.passages import spans
from memory.text.tables import find_tables, table_at

# People and agents read whole chunks: a chunk is a few passages long, each of which gets a vector.
CHUNK_TOKENS = 200
CHUNK_OVERLAP_TOKENS = 30

HEADING_SEPARATOR = " > "
# A chunk is embedded together with its headings. The innermost ones of a longer path are kept.
MAX_HEADING_CHARS = 200

# Matches the first line of a code block, which the splitter may separate from a long block.
_FENCE = re.compile(r"(`{3,}|~{3,})[^`\r\n]*")


class Chunk(NamedTuple):
    """A chunk of a document at text[start:end], in characters, with the joined headings above it, outermost first.

    `page` and `last_page` are its first and last page, from 1, or 0 if the text has no page breaks. `table` holds the
    column names of the table that the chunk starts in the middle of.
    """

    start: int
    end: int
    heading: str
    page: int = 0
    last_page: int = 0
    table: str = ""

    @property
    def context(self) -> str:
        """Text to read together with the chunk: its headings, and column names that the chunk itself lacks."""
        return _join_headings([one for one in (*self.heading.split(HEADING_SEPARATOR), self.table) if one])

    def to_dict(self) -> dict[str, int | str]:
        """Return the position as stored in a chunk's metadata, without empty fields."""
        place: dict[str, int | str] = {"start": self.start, "end": self.end, "heading": self.heading}
        if self.page:
            place |= {"page": self.page, "last_page": self.last_page}
        if self.table:
            place["table"] = self.table
        return place


class _Section(NamedTuple):
    """A heading at [start, end) of the text, and the path of headings that ends with it."""

    start: int
    end: int
    path: str


def chunks(text: str, *, markdown: bool) -> list[Chunk]:
    """Return the chunks of a document in order, each up to about `CHUNK_TOKENS` long; [] for white space.

    With `markdown`, chunks respect blocks and sections, and a heading (or the line that opens a code block) stays with
    what follows it. A form feed ends a page. The time is linear in the length of any text.
    """
    found = _cut(text, markdown=markdown)
    breaks = find_pages(text)
    tables = find_tables(text) if markdown else []
    if not breaks and not tables:
        return found
    return [
        one._replace(
            page=page_at(breaks, one.start),
            last_page=page_at(breaks, one.end - 1),
            table=table_at(tables, one.start)[:MAX_HEADING_CHARS],
        )
        for one in found
    ]


def _cut(text: str, *, markdown: bool) -> list[Chunk]:
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
    """Skip the headings at the start of text[start:end]; return the section of what follows, and its position."""
    body = sections[section].end if section >= 0 and sections[section].start == start else start
    while section + 1 < len(sections) and sections[section + 1].start < end:
        if text[body : sections[section + 1].start].strip():
            break
        section += 1
        body = sections[section].end
    return section, body


def _sections(text: str) -> list[_Section]:
    """Return the headings of a Markdown text in order."""
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
