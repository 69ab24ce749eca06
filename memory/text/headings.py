"""Finds the headings of a Markdown text by CommonMark's block rules, line by line and in linear time.

Headings inside quotes, lists, code and HTML are ignored, because they don't start a section of the text.
"""

from __future__ import annotations

import re
from typing import NamedTuple

# A line with its ending, as CommonMark defines them.
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\n|\r|\Z)")
_ATX = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*))?")
_CLOSING = re.compile(r"(?:(?<=[ \t])|\A)#+\Z")
_UNDERLINE = re.compile(r" {0,3}(?:(=+)|-+)[ \t]*")
_FENCE = re.compile(r" {0,3}(?:(`{3,})[^`]*|(~{3,}).*)")
_RULE = re.compile(r" {0,3}(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,})")
_QUOTE = re.compile(r" {0,3}>")
_ITEM = re.compile(r" {0,3}(?:[-+*]|(\d{1,9})[.)])(?=([ \t]*))(?:[ \t]|\Z)")
_HTML = re.compile(r" {0,3}<(?:(!--)|(\?)|(script|pre|style|textarea)\b|/?[a-z][\w-]*)", re.IGNORECASE)
_HTML_ENDS = ("-->", "?>", "</")
_TAB = 4


class Heading(NamedTuple):
    """A heading at [start, end) of the text, in characters and including its line ending; `level` is 1 to 6."""

    start: int
    end: int
    level: int
    title: str


def headings(text: str) -> list[Heading]:
    """Return the headings in order, without those inside other blocks."""
    if "#" not in text and "=" not in text and "-" not in text:
        return []
    reader = _Reader(text)
    for match in _LINE.finditer(text):
        reader.read(match.start(), match.end(), match.group().rstrip("\r\n"))
    return reader.found


class _Reader:
    """Tracks the position in the block structure while lines are read."""

    def __init__(self, text: str) -> None:
        self.found: list[Heading] = []
        self._text = text
        # The mark that closes the open code block, and the one that closes open HTML ("" stands for a blank line).
        self._fence = ""
        self._html: str | None = None
        # Indentation of the open list item's text; 0 if no item is open.
        self._item = 0
        # The item began with a bare marker, so a blank line ends it.
        self._is_bare = False
        # Start of the open paragraph. A paragraph in a quote or an item goes on in lines without their marker.
        self._paragraph: int | None = None
        self._goes_on = False

    def read(self, start: int, end: int, line: str) -> None:
        """Process the next line, given without its ending."""
        bare = line.strip(" \t")
        if self._fence:
            self._close_fence(line, bare)
        elif self._html is not None:
            if (self._html and self._html in line) or not (self._html or bare):
                self._html = None
        elif not bare:
            if self._is_bare:
                self._item = 0
            self._paragraph, self._goes_on = None, False
        elif self._item and _indent(line) >= self._item:
            self._goes_on, self._is_bare = _ATX.fullmatch(bare) is None, False
        elif not self._begin_block(start, end, line, bare) and not self._goes_on:
            self._item = 0
            if self._paragraph is None and _indent(line) < _TAB:
                self._paragraph = start

    def _begin_block(self, start: int, end: int, line: str, bare: str) -> bool:
        """Tell whether the line begins or ends a block other than a paragraph."""
        if _indent(line) >= _TAB:
            return False
        if line.lstrip(" ")[0] not in "#=-`~*_>+<0123456789":
            return False
        if (heading := _ATX.fullmatch(line)) is not None:
            title = _CLOSING.sub("", (heading[2] or "").strip(" \t"))
            self._end_all()
            self.found.append(Heading(start + len(line) - len(line.lstrip(" ")), end, len(heading[1]), title))
        elif self._paragraph is not None and (under := _UNDERLINE.fullmatch(line)) is not None:
            begin = self._paragraph
            begin += len(self._text[begin:start]) - len(self._text[begin:start].lstrip(" "))
            self._end_all()
            self.found.append(Heading(begin, end, 1 if under[1] else 2, self._text[begin:start].strip()))
        elif (fence := _FENCE.fullmatch(line)) is not None:
            self._end_all()
            self._fence = fence[1] or fence[2]
        elif _RULE.fullmatch(line):
            self._end_all()
        elif _QUOTE.match(line):
            self._end_all()
            self._goes_on = True
        elif (item := _ITEM.match(line)) is not None and self._may_begin(item, line):
            self._end_all()
            spaces = len(item[2].expandtabs(_TAB))
            self._item = item.end() - 1 + (spaces if 1 <= spaces <= _TAB else 1)
            self._goes_on = bool(line[item.end() :].strip())
            self._is_bare = not self._goes_on
        elif (tag := _HTML.match(line)) is not None and (self._paragraph is None or any(tag.groups())):
            self._end_all()
            sign = next((end for end, found in zip(_HTML_ENDS, tag.groups(), strict=True) if found), "")
            self._html = None if sign and sign in line[tag.end() :] else sign
        else:
            return False
        return True

    def _may_begin(self, item: re.Match[str], line: str) -> bool:
        """Tell whether a list item may start here; inside a paragraph only a non-empty bullet or item 1 may."""
        if self._paragraph is None:
            return True
        return item[1] in (None, "1") and bool(line[item.end() :].strip())

    def _close_fence(self, line: str, bare: str) -> None:
        mark = self._fence[0]
        if len(bare) >= len(self._fence) and not bare.strip(mark) and _indent(line) < _TAB:
            self._fence = ""

    def _end_all(self) -> None:
        self._paragraph, self._goes_on, self._item, self._is_bare = None, False, 0, False


def _indent(line: str) -> int:
    """Return the number of columns before the first character that is neither a space nor a tab."""
    before = line[: len(line) - len(line.lstrip(" \t"))]
    return len(before.expandtabs(_TAB)) if "\t" in before else len(before)
