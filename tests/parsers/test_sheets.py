"""Sheets keep what people see: formats, dates, merged heads, values of formulas; hidden parts are reported."""

from __future__ import annotations

import zipfile
from datetime import date, datetime, time, timedelta
from io import BytesIO
from typing import Any

import pytest

from memory.parsers import sheets
from memory.parsers.cell_formats import show_value
from memory.parsers.refusal import FileRefused
from tests.parsers import made_files as made

SHOWN = [
    (0.475, "0.0%", "47.5%"), (0.475, '0.0" "%', "47.5 %"), (0.475, "0%", "48%"), (0.15, "0.00%", "15.00%"),
    (150000, '"$"#,##0', "$150,000"), (150000, "[$$-409]#,##0.00", "$150,000.00"), (1234.567, "¥#,##0.00", "¥1,234.57"),
    (-5, '"$"#,##0_);[Red]\\("$"#,##0\\)', "($5)"), (1234.5, "#,##0.00 [$€-407]", "1,234.50 €"),
    (1234.5, '_-* #,##0.00\\ "€"_-;-* #,##0.00', "1,234.50 €"), (-1234.5, "#,##0.00", "-1,234.50"),
    (-0.001, "0.00", "0.00"), (2.675, "0.00", "2.68"), (5, "General", "5"), (1.5, "General", "1.5"),
    (13800000000, "General", "13800000000"), (0.1 + 0.2, "General", "0.3"), (1e-7, "General", "1E-07"),
    (5, "0000", "0005"), (5551234, "000-0000", "555-1234"), (1234567, '0.0,,"M"', "1.2M"), (12345, '#,##0,"k"', "12k"),
    (12345, "0.00E+00", "1.23E+04"), (0.00012, "0.0E+00", "1.2E-04"), (2.5, "# ?/?", "2 1/2"), (0.5, "# ?/?", "1/2"),
    (0.5, "#.##", ".5"), (5, "0.##", "5"), (12, '0" kg"', "12 kg"), (-3, '0" kg"', "-3 kg"), (5, '"+"0;-0', "+5"),
    (0, '0;-0;"none"', "none"), (3, '0;-0;"none"', "3"), (3, ";;;", ""), ("x", '0;0;0;"<"@">"', "<x>"),
    ("x", "0.0", "x"),
    (150, '[>100]"big";"small"', "big"), (50, '[>100]"big";"small"', "small"), (True, "General", "TRUE"), (5, "@", "5"),
    (None, "0", ""), (46354, "0", "46354"),
    (datetime(2026, 11, 28, 14, 5, 9), "yyyy-mm-dd h:mm:ss", "2026-11-28 14:05:09"),
    (date(2026, 11, 28), "DD.MM.YYYY", "28.11.2026"), (date(2026, 3, 5), "d/m/yy", "5/3/26"),
    (date(2026, 11, 28), "mmmm d, yyyy", "November 28, 2026"), (date(2026, 11, 28), "ddd d mmm", "Sat 28 Nov"),
    (date(2026, 11, 28), "mmmmm", "N"), (date(2026, 11, 28), 'yyyy"年"m"月"d"日"', "2026年11月28日"),
    (date(2026, 11, 28), "[$-804]aaaa", "星期六"), (date(2026, 11, 28), "mm-dd-yy", "2026-11-28"),
    (datetime(2026, 11, 28, 14, 5), "h:mm AM/PM", "2:05 PM"), (time(9, 5), "hh:mm", "09:05"),
    (datetime(2026, 11, 28, 14, 5), "上午/下午h:mm", "下午2:05"), (timedelta(hours=26, minutes=3), "[h]:mm", "26:03"),
    (datetime(2026, 11, 28, 1, 2, 3, 500000), "mm:ss.0", "02:03.5"),
]  # fmt: skip


@pytest.mark.parametrize(("value", "code", "shown"), SHOWN)
def test_a_value_is_shown_in_its_format(value, code, shown):
    assert show_value(value, code) == shown


def read(fill: Any) -> tuple[str, int, list[str]]:
    text, _, tables, notes = sheets.read_sheets(made.book(fill))
    return text, tables, notes


def test_formats_dates_and_merged_heads():
    def fill(book: Any) -> None:
        sheet = book.active
        sheet.title = "Sales"
        for row in (["Region", "2026", None], [None, "Share", "Total"], ["North", 0.475, 150000], [None, 0.5, 99.5]):
            sheet.append(row)
        sheet["D2"], sheet["D3"] = "Since", date(2026, 11, 28)
        sheet.merge_cells("B1:C1")
        sheet.merge_cells("A1:A2")
        sheet.merge_cells("A3:A4")
        sheet["B3"].number_format = sheet["B4"].number_format = "0.0%"
        sheet["C3"].number_format = '"$"#,##0'
        sheet["D3"].number_format = "d mmm yyyy"

    text, tables, notes = read(fill)
    assert text == (
        "## Sales\n\n| Region | 2026 | 2026 |  |\n| --- | --- | --- | --- |\n| Region | Share | Total | Since |\n"
        "| North | 47.5% | $150,000 | 28 Nov 2026 |\n| North | 50.0% | 99.5 |  |"
    )
    assert (tables, notes) == (1, [])


def test_what_is_hidden_is_left_out_and_counted():
    def fill(book: Any) -> None:
        sheet = book.active
        sheet.title = "Staff"
        for row in (["Name", "Room", "Salary"], ["Ann", 1, 900], ["Bob", 2, 800], ["Cleo", 3, 700]):
            sheet.append(row)
        sheet.column_dimensions["C"].hidden = True
        sheet.row_dimensions[3].hidden = True
        # A hidden row or column without content hides nothing.
        sheet.row_dimensions[9].hidden = sheet.column_dimensions["G"].hidden = True
        book.create_sheet("Notes").append(["Fire Bob"])
        book["Notes"].sheet_state = "hidden"
        book.create_sheet("Deep").append(["Very secret"])
        book["Deep"].sheet_state = "veryHidden"

    text, _, notes = read(fill)
    assert text == (
        "## Staff\n\n| Name | Room |\n| --- | --- |\n| Ann | 1 |\n| Cleo | 3 |\n\nLeft out, as hidden: 1 row, 1 column."
    )
    assert notes == ["What is hidden was left out: 2 sheets, 1 row, 1 column."]


def test_formulas_show_their_values_or_say_that_there_is_none():
    def fill(book: Any) -> None:
        book.active.append(["Net", "Gross"])
        book.active.append([100, "=A2*1.2"])
        book.active["B2"].number_format = '"$"0.00'

    made_by_code = made.book(fill)
    text, _, _, notes = sheets.read_sheets(made_by_code)
    assert "| 100 | =A2*1.2 (no value is stored) |" in text
    assert notes == ["Formulas without a stored value stand as formulas (1): open the file in its program and save it."]

    # A spreadsheet program saves the value together with the formula.
    text, _, _, notes = sheets.read_sheets(
        with_value(made_by_code, b"<f>A2*1.2</f><v></v>", b"<f>A2*1.2</f><v>120</v>")
    )
    assert "| 100 | $120.00 |" in text
    assert notes == []


def with_value(book: bytes, old: bytes, new: bytes) -> bytes:
    parts: dict[str, bytes | str] = {}
    with zipfile.ZipFile(BytesIO(book)) as archive:
        for name in archive.namelist():
            parts[name] = archive.read(name).replace(b"<v />", b"<v></v>")
    name = "xl/worksheets/sheet1.xml"
    assert old in parts[name]
    return made.pack({**parts, name: parts[name].replace(old, new)})


def test_too_many_cells_are_refused(monkeypatch):
    monkeypatch.setattr(sheets, "MAX_CELLS", 5)
    with pytest.raises(FileRefused) as refused:
        sheets.read_sheets(made.xlsx(9))
    assert refused.value.reason == "too_large"


def merge(*areas: str) -> bytes:
    """Return a workbook with a few cells and merged areas that are more or larger than any program would make."""
    content = made.book(lambda book: (book.active.append(["a", "b"]), book.active.append(["c", "d"])))
    stream = BytesIO()
    with zipfile.ZipFile(BytesIO(content)) as was, zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as changed:
        for name in was.namelist():
            data = was.read(name)
            if name == "xl/worksheets/sheet1.xml":
                cells = "".join(f'<mergeCell ref="{area}"/>' for area in areas)
                data = data.replace(b"</sheetData>", f"</sheetData><mergeCells>{cells}</mergeCells>".encode())
            changed.writestr(name, data)
    return stream.getvalue()


@pytest.mark.parametrize(
    ("area", "rows"),
    [
        ("A1:XFD1048576", "| a |\n| --- |"),
        ("A1:A1048576", "| a | b |\n| --- | --- |\n| a | d |"),
        ("A1:XFD1", "| a | a |\n| --- | --- |\n| c | d |"),
    ],
)
def test_no_cell_is_made_for_each_place_of_a_merged_area(area, rows, monkeypatch):
    from openpyxl.cell.cell import MergedCell

    cells = []
    monkeypatch.setattr(MergedCell, "__init__", lambda self, *rest: cells.append(rest))

    assert sheets.read_sheets(merge(area))[0] == f"## Sheet\n\n{rows}"
    assert cells == []


def test_what_a_merged_area_hides_is_not_shown():
    """Some programs leave the former contents of cells in a merged area."""
    assert "d" not in sheets.read_sheets(merge("B1:B2"))[0]


@pytest.mark.parametrize(
    ("areas", "says"),
    [
        ([f"A{row}:B{row}" for row in range(1, 100_001)], "more than 20000 merged areas"),
        (["A1:XFD1048576"] * 100_000, "more than 20000 merged areas"),
    ],
)
def test_too_many_merged_areas_are_refused(areas, says):
    with pytest.raises(FileRefused, match=says):
        sheets.read_sheets(merge(*areas))


@pytest.mark.parametrize("area", ["no area", "", "A:A", "1:3", "A0:A1"])
def test_a_merged_area_that_is_none_is_refused(area):
    with pytest.raises(FileRefused, match="damaged"):
        sheets.read_sheets(merge(area))


@pytest.mark.parametrize("area", ["A1", "XFE1:A1", "B2:A1"])
def test_a_merged_area_that_spans_nothing_hides_nothing(area):
    assert "| c | d |" in sheets.read_sheets(merge(area))[0]


def test_without_openpyxl_the_refusal_says_what_to_install(monkeypatch):
    monkeypatch.setattr(sheets, "PACKAGE", "openpyxl_that_is_not_there")
    with pytest.raises(FileRefused, match=r"pip install -r requirements-documents\.txt") as refused:
        sheets.read_sheets(made.xlsx(1))
    assert refused.value.reason == "parser_missing"
