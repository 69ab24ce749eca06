"""Serves the numbers of a chart as a file, at the page's own address with the chart's name in `csv=`.

The file therefore has exactly what the page draws, with the same filters and permissions.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator

from django.http import Http404, HttpRequest, HttpResponse, QueryDict

from memory.text.spreadsheet import escape_formula
from ops.charts import BarChart, Histogram, LineChart, StackedBar, Value

PARAMETER = "csv"
Chart = LineChart | Histogram | BarChart | StackedBar


def chart_file(request: HttpRequest, charts: Iterable[Chart | None]) -> HttpResponse:
    """Return the file of the chart in the address. Raises Http404 if the page draws no such chart."""
    wanted = request.GET[PARAMETER]
    found = next((one for one in charts if one is not None and _name(one) == wanted), None)
    if found is None:
        raise Http404("The page draws no such chart.")
    response = HttpResponse(content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="memos-{wanted}.csv"'
    # The byte order mark tells spreadsheets that the file is UTF-8.
    response.write("\ufeff")
    csv.writer(response).writerows(_rows(found))
    return response


def _name(chart: Chart) -> str:
    """Return the chart's name in its own link."""
    return QueryDict(chart.csv.partition("?")[2]).get(PARAMETER, "")


def _rows(chart: Chart) -> Iterator[list[str | Value]]:
    if isinstance(chart, Histogram):
        yield ["", escape_formula(str(chart.header))]
        for column in chart.columns:
            yield [escape_formula(column.key or column.label), column.value]
        return
    if isinstance(chart, BarChart | StackedBar):
        yield ["", escape_formula(str(chart.title))]
        for part in chart.bars if isinstance(chart, BarChart) else chart.segments:
            yield [escape_formula(str(part.label)), part.value]
        return
    yield ["", *(escape_formula(str(header)) for header in chart.headers)]
    for key, values in zip(chart.keys, chart.values, strict=True):
        yield [escape_formula(key), *values]
