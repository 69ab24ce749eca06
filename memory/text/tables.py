"""Finds the tables of a Markdown text: a chunk that starts in the middle of one needs the names of the columns."""

from __future__ import annotations

import re
import sys
from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple

MAX_COLUMNS_CHARS = 200
_DELIMITER = re.compile(r" {0,3}\|? *:?-+:? *(?:\| *:?-+:? *)*\|? *")
_MAX_DELIMITER_CHARS = 10_000


class MarkdownTable(NamedTuple):
    """A table whose rows are text[start:end], with the joined names of its `columns`."""

    start: int
    end: int
    columns: str


def find_tables(text: str) -> list[MarkdownTable]:
    """Return the tables whose rows start with a bar, in order and in linear time."""
    if "|" not in text:
        return []
    found: list[MarkdownTable] = []
    start = end = place = 0
    columns, header = "", ""
    for line in text.splitlines(keepends=True):
        following = place + len(line)
        is_row = line.lstrip(" ").startswith("|")
        if columns and is_row:
            end = following
        else:
            if columns and end > start:
                found.append(MarkdownTable(start, end, columns))
            columns = ""
            if header and is_row and _is_delimiter(line):
                columns = _name_columns(header)
                start = end = following
        header = line if is_row else ""
        place = following
    if columns and end > start:
        found.append(MarkdownTable(start, end, columns))
    return found


def table_at(tables: Sequence[MarkdownTable], place: int) -> str:
    """Return the columns of the table whose rows contain `place`, or "" outside of tables."""
    at = bisect_right(tables, (place, sys.maxsize, "")) - 1
    return tables[at].columns if at >= 0 and place < tables[at].end else ""


def _is_delimiter(line: str) -> bool:
    return len(line) <= _MAX_DELIMITER_CHARS and _DELIMITER.fullmatch(line.rstrip("\r\n")) is not None


def _name_columns(header: str) -> str:
    cells = [cell.strip() for cell in header[: 4 * MAX_COLUMNS_CHARS].strip().strip("|").split("|")]
    return " | ".join(cell for cell in cells if cell)[:MAX_COLUMNS_CHARS]
