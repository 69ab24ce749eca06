"""Reads the sheets of an XLSX as people see them, with the optional package openpyxl."""

from __future__ import annotations

import io
import mimetypes
import zipfile
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from importlib import metadata, util
from typing import Any

from memory.parsers.cell_formats import show_value
from memory.parsers.office import MISSING
from memory.parsers.plain_text import MAX_COLUMNS, write_table
from memory.parsers.refusal import FileRefused

PACKAGE = "openpyxl"
MAX_CELLS = 200_000
MAX_MERGED = 20_000
# Left column, top row, right column and bottom row.
Area = tuple[int, int, int, int]
_NO_VALUE = "no value is stored"
_WORDS = {"sheet": "sheets", "row": "rows", "column": "columns"}


def is_installed() -> bool:
    """Tell whether openpyxl is installed."""
    return util.find_spec(PACKAGE) is not None


def name_version() -> str:
    """Return the parser's name and version, like `openpyxl 3.1.5`."""
    return f"{PACKAGE} {metadata.version(PACKAGE)}"


def read_sheets(data: bytes) -> tuple[str, str, int, list[str]]:
    """Return the visible sheets as Markdown tables, the title, the number of tables, and notes.

    Values are formatted as in the file; the value of a merged cell is repeated in each of its cells. Hidden parts are
    left out and counted. Raise `FileRefused` for a damaged or too large file.
    """
    if not is_installed():
        raise FileRefused("parser_missing", MISSING)
    try:
        book, merged = _load(data, data_only=True)
        formulas = _load(data, data_only=False)[0] if _has_formulas(data) else None
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, OSError, SyntaxError, zipfile.BadZipFile):
        # openpyxl validates little, and fails wherever the file is wrong; XML errors are syntax errors.
        raise FileRefused(
            "damaged", "The file is cut off or damaged: open it in its program, and save it again."
        ) from None
    hidden: Counter[str] = Counter()
    unknown, tables, blocks = 0, 0, []
    for sheet in book.worksheets:
        if sheet.sheet_state != "visible":
            hidden["sheet"] += 1
            continue
        formulas_of = formulas[sheet.title] if formulas is not None else None
        reader = _SheetReader(sheet, formulas_of, merged.get(sheet.title, ()))
        rows = list(reader.list_rows())
        tables += bool(rows)
        left_out = _describe(reader.hidden)
        lines = [
            f"## {sheet.title}",
            "\n".join(write_table(rows)),
            f"Left out, as hidden: {left_out}." if left_out else "",
        ]
        blocks.append("\n\n".join(line for line in lines if line))
        hidden += reader.hidden
        unknown += reader.unknown
    notes = []
    if hidden:
        notes.append(f"What is hidden was left out: {_describe(hidden)}.")
    if unknown:
        notes.append(
            f"Formulas without a stored value stand as formulas ({unknown}): open the file in its program and save it."
        )
    return "\n\n".join(blocks), " ".join((book.properties.title or "").split()), tables, notes


def _load(data: bytes, *, data_only: bool) -> tuple[Any, dict[str, list[Area]]]:
    """Load a workbook, and its merged areas by sheet title. Raise `FileRefused`, or any error of openpyxl."""
    # openpyxl would read the system's list of types, which a confined process may not open.
    mimetypes.knownfiles.clear()
    from openpyxl.reader import excel  # noqa: PLC0415 - optional
    from openpyxl.utils import range_boundaries  # noqa: PLC0415
    from openpyxl.worksheet import _reader  # noqa: PLC0415

    merged: dict[str, list[Area]] = {}

    class Areas(list[Area]):
        @classmethod
        def from_tree(cls, element: Any) -> Areas:
            if len(element) > MAX_MERGED:
                raise FileRefused("too_large", f"A sheet has more than {MAX_MERGED} merged areas: send it in parts.")
            areas = cls(range_boundaries(one.get("ref", "")) for one in element)
            if not all(map(all, areas)):
                raise ValueError("an area without bounds")
            return areas

    class PlainReader(_reader.WorksheetReader):
        """Creates no cell for each merged place, because a hostile file names billions."""

        def bind_merged_cells(self) -> None:
            merged[self.ws.title] = self.parser.merged_cells or []

    usual = _reader.MergeCells, excel.WorksheetReader
    _reader.MergeCells, excel.WorksheetReader = Areas, PlainReader
    try:
        book = excel.load_workbook(io.BytesIO(data), data_only=data_only)
    finally:
        _reader.MergeCells, excel.WorksheetReader = usual
    return book, merged


def _describe(hidden: Counter[str]) -> str:
    return ", ".join(
        f"{hidden[what]} {what if hidden[what] == 1 else many}" for what, many in _WORDS.items() if hidden[what]
    )


def _has_formulas(data: bytes) -> bool:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        sheets = [name for name in archive.namelist() if name.startswith("xl/worksheets/")]
        return any(b"<f>" in (xml := archive.read(name)) or b"<f " in xml for name in sheets)


class _SheetReader:
    """Reads one sheet; `hidden` and `unknown` count hidden parts, and formulas without a value."""

    def __init__(self, sheet: Any, formulas: Any, merged: Sequence[Area]) -> None:
        self._sheet = sheet
        self._formulas = formulas
        self._merged = merged
        self.hidden: Counter[str] = Counter()
        self.unknown = 0

    def list_rows(self) -> Iterator[list[str]]:
        """Yield the rows that show anything, with the columns that show anything. Raise `FileRefused` if too large."""
        shown = self._show_cells()
        hidden_rows = {number for number, row in self._sheet.row_dimensions.items() if row.hidden}
        hidden_columns = {
            number
            for column in self._sheet.column_dimensions.values()
            if column.hidden
            for number in range(column.min or 0, min(column.max or 0, self._sheet.max_column) + 1)
        }
        columns = sorted({column for row in shown.values() for column in row})
        self.hidden["row"] = len(hidden_rows & shown.keys())
        self.hidden["column"] = len(hidden_columns.intersection(columns))
        columns = [column for column in columns if column not in hidden_columns]
        if len(columns) > MAX_COLUMNS:
            raise FileRefused("too_large", f"A sheet has more than {MAX_COLUMNS} columns.")
        for number in sorted(shown.keys() - hidden_rows):
            row = [shown[number].get(column, "") for column in columns]
            if any(row):
                yield row

    def _show_cells(self) -> dict[int, dict[int, str]]:
        """Return the text of each cell by row and column, with a merged cell's text in its used rows and columns."""
        # Iterating over the sheet's area would create cells for all empty places, a billion of them in a hostile file.
        cells = self._sheet._cells
        if len(cells) > MAX_CELLS:
            raise FileRefused("too_large", f"A sheet has more than {MAX_CELLS} cells: send it in parts.")
        shown: dict[int, dict[int, str]] = defaultdict(dict)
        for (row, column), cell in cells.items():
            if text := self._show_cell(row, column, cell):
                shown[row][column] = text
        for (left, top, _, _), down, across in self._list_places(shown):
            for row in down:
                for column in across:
                    if (row, column) != (top, left):
                        shown[row].pop(column, None)
        shown = {row: texts for row, texts in shown.items() if texts}
        for (left, top, _, _), down, across in self._list_places(shown):
            text = shown[top].get(left, "") if top in shown else ""
            for row in down:
                shown[row] |= dict.fromkeys(across, text)
        return shown

    def _list_places(self, shown: Mapping[int, Mapping[int, str]]) -> list[tuple[Area, list[int], list[int]]]:
        """Return each merged area with its used rows and columns. Raise `FileRefused` if there are too many places."""
        rows, columns = sorted(shown), sorted({column for row in shown.values() for column in row})
        places, listed = 0, []
        for left, top, right, bottom in self._merged:
            down = rows[bisect_left(rows, top) : bisect_right(rows, bottom)]
            across = columns[bisect_left(columns, left) : bisect_right(columns, right)]
            places += len(down) * len(across)
            if places > MAX_CELLS:
                raise FileRefused("too_large", f"The merged cells of a sheet span more than {MAX_CELLS} places.")
            listed.append(((left, top, right, bottom), down, across))
        return listed

    def _show_cell(self, row: int, column: int, cell: Any) -> str:
        if cell.value is not None:
            return show_value(cell.value, cell.number_format).strip()
        formula = self._formulas._cells.get((row, column)) if self._formulas is not None else None
        if formula is None or formula.data_type != "f":
            return ""
        self.unknown += 1
        return f"{getattr(formula.value, 'text', formula.value)} ({_NO_VALUE})"
