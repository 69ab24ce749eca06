"""Converts CSV and JSON to Markdown without a parser package."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from memory.parsers.refusal import FileRefused

MAX_DEPTH = 100
MAX_COLUMNS = 1_000
_SNIFFED_CHARS = 8_192


def write_table(rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Yield the lines of a Markdown table; the first row contains the names of the columns."""
    width = 0
    for row in rows:
        cells = [_write_cell(cell) for cell in row]
        if not width:
            width = len(cells)
            yield _write_row(cells)
            yield _write_row(["---"] * width)
        else:
            yield _write_row((cells + [""] * width)[: max(width, len(cells))])


def read_csv(text: str) -> tuple[str, int]:
    """Return the CSV as a Markdown table, and 1 as the number of tables."""
    try:
        dialect: Any = csv.Sniffer().sniff(text[:_SNIFFED_CHARS].rsplit("\n", 1)[0] or text, delimiters=",;\t|")
    except csv.Error:
        dialect = csv.excel
    try:
        return "\n".join(write_table(_read_rows(text, dialect))), 1
    except csv.Error as error:
        raise FileRefused("damaged", f"The CSV cannot be read: {error}.") from None


def read_json(text: str, *, by_lines: bool) -> str:
    """Return a line `path: value` for each value; with `by_lines`, each line of the text is a separate JSON value."""
    parts = [line for line in text.split("\n") if line.strip()] if by_lines else [text]
    lines: list[str] = []
    for number, part in enumerate(parts):
        try:
            value = json.loads(part)
        except RecursionError:
            raise _too_deep() from None
        except ValueError as error:
            where = f" in line {number + 1}" if by_lines else ""
            raise FileRefused("damaged", f"The JSON cannot be read{where}: {error}.") from None
        lines += _flatten(value, f"[{number}]" if by_lines else "", 0)
    return "\n".join(lines)


def _read_rows(text: str, dialect: Any) -> Iterator[list[str]]:
    for row in csv.reader(io.StringIO(text), dialect):
        if len(row) > MAX_COLUMNS:
            raise FileRefused("too_large", f"A row of the CSV has more than {MAX_COLUMNS} columns.")
        if any(cell.strip() for cell in row):
            yield row


def _flatten(value: Any, path: str, depth: int) -> Iterator[str]:
    if depth > MAX_DEPTH:
        raise _too_deep()
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _flatten(inner, f"{path}.{key}" if path else str(key), depth + 1)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _flatten(inner, f"{path}[{index}]", depth + 1)
    else:
        said = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        yield f"{path}: {said}" if path else said


def _too_deep() -> FileRefused:
    return FileRefused("too_large", f"The JSON is nested deeper than {MAX_DEPTH} levels.")


def _write_cell(cell: str) -> str:
    return " ".join(cell.split()).replace("|", "\\|")


def _write_row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
