"""Lines of CSV as spreadsheets open them, with nothing in them that would be run as a formula."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

# How a cell begins that a spreadsheet takes for a formula.
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


class Echo:
    """Where the csv writer writes: it hands back what it is given."""

    def write(self, line: str) -> str:
        return line


def escape_formula(value: Any) -> Any:
    """The value as a spreadsheet shows it: a text that it would take for a formula begins with an apostrophe."""
    return f"'{value}" if isinstance(value, str) and value.lstrip(" ").startswith(FORMULA) else value


def lines_of(headers: Sequence[str], rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    """The lines, the headers first."""
    # The mark by which spreadsheets know UTF-8.
    yield "\ufeff" + csv.writer(Echo()).writerow(headers)
    yield from lines_without_headers(rows)


def lines_without_headers(rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    """The lines of a part of a file."""
    writer = csv.writer(Echo())
    for row in rows:
        yield writer.writerow([escape_formula(value) for value in row])
