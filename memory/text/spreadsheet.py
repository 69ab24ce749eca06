"""Writes CSV for spreadsheets, escaping cells that they would run as formulas."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

# First characters of cells that spreadsheets take for formulas.
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


class Echo:
    """A file for the csv writer that returns each line instead of storing it."""

    def write(self, line: str) -> str:
        return line


def escape_formula(value: Any) -> Any:
    """Return the value, prefixed with an apostrophe if it is a text that a spreadsheet would take for a formula."""
    return f"'{value}" if isinstance(value, str) and value.lstrip(" ").startswith(FORMULA) else value


def lines_of(headers: Sequence[str], rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    """Yield the lines of a file, headers first."""
    # The byte order mark by which spreadsheets recognise UTF-8.
    yield "\ufeff" + csv.writer(Echo()).writerow(headers)
    yield from lines_without_headers(rows)


def lines_without_headers(rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    """Yield lines without headers, as a part of a file."""
    writer = csv.writer(Echo())
    for row in rows:
        yield writer.writerow([escape_formula(value) for value in row])
