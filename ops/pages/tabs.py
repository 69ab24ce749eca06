"""The tabs that related pages share."""

from __future__ import annotations

from dataclasses import dataclass

from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext as _

from ops.navigation import keep_query
from ops.words import Words


@dataclass(frozen=True, slots=True)
class Tab:
    title: Words
    url: str
    current: bool
    count: int | None = None


def pipeline_tabs(request: HttpRequest, current: str) -> list[Tab]:
    """Return the tabs of the Pipeline: stages and jobs; condensations."""
    return _tabs(
        request,
        current,
        ("pipeline", _("Stages and jobs"), "ops:pipeline"),
        ("condensations", _("Condensations"), "ops:pipeline_condensations"),
    )


def audit_tabs(request: HttpRequest, current: str) -> list[Tab]:
    """Return the tabs of Audit: events; the API's requests."""
    return _tabs(
        request,
        current,
        ("audit", _("Events"), "ops:audit"),
        ("requests", _("API requests"), "ops:audit_requests"),
    )


def _tabs(request: HttpRequest, current: str, *tabs: tuple[str, Words, str]) -> list[Tab]:
    query = keep_query(request)
    return [Tab(title, reverse(url) + query, name == current) for name, title, url in tabs]
