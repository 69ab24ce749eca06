"""`/ops/`: how MemOS is, and what it holds."""

from __future__ import annotations

import threading
import time
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import get_language

from ops.access import page_access, staff_access
from ops.chart_files import PARAMETER, chart_file
from ops.navigation import kept_query
from ops.pages.first_steps import steps
from ops.pages.overview import Board, board
from ops.pages.window import WINDOWS, Window, chosen_window
from ops.views.live import live, version_of
from ops.views.page import console_page

# How long a fragment is good for others who look at the same: tabs that poll together cost what one does.
KEPT_SECONDS = {"1h": 2.0, "24h": 2.0, "7d": 15.0, "30d": 60.0}
_MAX_KEPT = 200
_kept: dict[tuple[Any, ...], tuple[float, Board, str]] = {}
_lock = threading.Lock()


@console_page
def overview(request: HttpRequest) -> HttpResponse:
    """The whole page."""
    window, now = chosen_window(request), timezone.now()
    shown, version = _board(request, window)
    if PARAMETER in request.GET:
        return chart_file(request, shown.charts)
    server = request.build_absolute_uri("/").rstrip("/")
    first = steps(staff_access(request), request.user, server=server, now=now)
    context = {
        "board": shown,
        "version": version,
        "window": window,
        "windows": WINDOWS,
        "fragment_url": reverse("ops:overview_live") + kept_query(request),
        "steps": first,
        "steps_done": sum(step.done for step in first),
    }
    return render(request, "ops/overview.html", context)


@console_page
def overview_live(request: HttpRequest) -> HttpResponse:
    """What of it changes while one looks."""
    shown, version = _board(request, chosen_window(request))
    return live(request, "ops/overview/_fragment.html", {"board": shown}, version)


def _board(request: HttpRequest, window: Window) -> tuple[Board, str]:
    """The board and its version; one that another tab asked for a moment ago serves as well."""
    access, user = page_access(request), request.user
    reached = "all" if access.all_namespaces else tuple(sorted(access.namespace_ids))
    rights = "all" if user.is_superuser else tuple(sorted(user.get_all_permissions()))
    key = (reached, rights, window.name, request.GET.get("ns", ""), get_language())
    kept = _kept.get(key)
    if kept is not None and time.monotonic() < kept[0]:
        return kept[1], kept[2]
    shown = board(access, user, ns=request.GET.get("ns", ""), window=window, now=timezone.now())
    version = version_of(repr(shown))
    with _lock:
        if len(_kept) >= _MAX_KEPT:
            _kept.clear()
        _kept[key] = (time.monotonic() + KEPT_SECONDS[window.name], shown, version)
    return shown, version


def forget_kept() -> None:
    """Makes the next look count anew."""
    _kept.clear()
