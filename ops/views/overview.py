"""`/ops/` shows the state of MemOS and its contents."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone

from ops.access import page_access, staff_access
from ops.chart_files import PARAMETER, chart_file
from ops.navigation import keep_query
from ops.pages.first_steps import steps
from ops.pages.overview import OverviewBoard, board
from ops.pages.window import WINDOWS, TimeWindow, choose_window
from ops.views.live import Fragment, live_part
from ops.views.page import console_page
from ops.views.shared import Look, share_part

# Seconds for which the board is shared with other viewers, so that tabs polling together cost as much as one. For short
# windows this is less than the five seconds between two polls, so that a single tab always gets fresh data.
SHARED_SECONDS = {"1h": 4.5, "24h": 4.5, "7d": 15.0, "30d": 60.0}


@console_page
def overview(request: HttpRequest) -> HttpResponse:
    """Show the page as it is now."""
    window, now = choose_window(request), timezone.now()
    if PARAMETER in request.GET:
        return chart_file(request, _board(request, window).charts)
    part = _part(request, window, anew=True)
    server = request.build_absolute_uri("/").rstrip("/")
    first = steps(staff_access(request), request.user, server=server, now=now)
    context = {
        "part": part,
        "window": window,
        "windows": WINDOWS,
        "fragment_url": reverse("ops:overview_live") + keep_query(request),
        "steps": first,
        "steps_done": sum(step.done for step in first),
    }
    return render(request, "ops/overview.html", context)


@console_page
def overview_live(request: HttpRequest) -> HttpResponse:
    """Render the part of the page that is polled."""
    return live_part(request, _part(request, choose_window(request)))


def _part(request: HttpRequest, window: TimeWindow, *, anew: bool = False) -> Fragment:
    def look(asked: HttpRequest) -> Look:
        shown = _board(asked, window)
        return Look({"board": shown}, repr(shown))

    return share_part(
        request,
        "ops/overview/_fragment.html",
        look,
        parameters=("ns", "window"),
        seconds=SHARED_SECONDS[window.name],
        anew=anew,
    )


def _board(request: HttpRequest, window: TimeWindow) -> OverviewBoard:
    ns = request.GET.get("ns", "")
    return board(page_access(request), request.user, ns=ns, window=window, now=timezone.now())
