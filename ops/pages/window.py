"""The period that a page covers, from its address: `?window=1h|24h|7d|30d`."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from ops.words import Words


@dataclass(frozen=True, slots=True)
class TimeWindow:
    """A period of `length` up to now, drawn in steps of `step`."""

    name: str
    title: Words
    length: timedelta
    step: timedelta

    def since(self, now: datetime) -> datetime:
        return now - self.length

    @property
    def steps(self) -> int:
        return self.length // self.step


WINDOWS = (
    TimeWindow("1h", _("1 hour"), timedelta(hours=1), timedelta(minutes=1)),
    TimeWindow("24h", _("24 hours"), timedelta(hours=24), timedelta(minutes=30)),
    TimeWindow("7d", _("7 days"), timedelta(days=7), timedelta(hours=3)),
    TimeWindow("30d", _("30 days"), timedelta(days=30), timedelta(hours=12)),
)


def choose_window(request: HttpRequest) -> TimeWindow:
    """Return the window in the address, by default, and for an unknown name, 24 hours."""
    name = request.GET.get("window", "")
    return next((window for window in WINDOWS if window.name == name), WINDOWS[1])
