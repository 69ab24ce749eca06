"""`/ops/usage/` shows what memory saved, and what models cost."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone

from memory.enums import UsageGroup
from memory.services.usage import totals
from ops.access import page_access
from ops.chart_files import PARAMETER, chart_file
from ops.pages import usage as page
from ops.views.page import console_page

FILE_GROUPS = (UsageGroup.DAY, UsageGroup.NAMESPACE, UsageGroup.KEY, UsageGroup.PURPOSE, UsageGroup.MODEL)


@console_page
def usage(request: HttpRequest) -> HttpResponse:
    """Show the page."""
    window = page.window_of(request)
    ns = request.GET.get("ns", "")
    board = page.board(page_access(request), window, ns=ns, now=timezone.now())
    if PARAMETER in request.GET:
        return chart_file(request, board.charts)
    context = {"board": board, "window": window, "windows": page.usage_windows()}
    return render(request, "ops/usage.html", context)


@console_page
def usage_file(request: HttpRequest) -> HttpResponse:
    """Return the figures of the window as CSV, grouped by all available fields."""
    window = page.window_of(request)
    wanted = page.filter_of(window, FILE_GROUPS, now=timezone.now())
    found, _cursor = totals.list_totals(page_access(request), wanted)
    response = HttpResponse("".join(totals.as_csv(FILE_GROUPS, found)), content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="usage-{wanted.since}-{wanted.until}.csv"'
    return response
