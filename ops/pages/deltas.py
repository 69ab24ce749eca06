"""Computes how the numbers of the Overview moved: against the window before, or since the window began."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.translation import gettext as _

from memory.services.monitoring import deltas
from memory.services.monitoring.deltas import Came, Movement
from memory.services.monitoring.request_stats import Figures
from ops.charts import milliseconds
from ops.pages.tiles import Delta
from ops.pages.window import TimeWindow


@dataclass(frozen=True, slots=True)
class TotalsMovement:
    """Holds the movement of the totals in the window."""

    window: TimeWindow
    all: Movement


def more(came: Came, window: TimeWindow) -> Delta | None:
    if not came.now:
        return None
    words = _("%(now)s came in the last %(window)s, %(before)s in the same time before")
    values = {"now": _format_capped(came.now), "before": _format_capped(came.before), "window": window.title}
    return Delta(_format_capped(came.now), "off", True, words % values)


def slower(now: float | None, before: float | None, window: TimeWindow) -> Delta | None:
    if now is None or not before:
        return None
    change = now / before - 1
    tone = "off" if abs(change) < 0.1 else "bad" if change > 0 else "good"
    return Delta(f"{abs(change):.0%}", tone, change > 0, _before(milliseconds(before), window))


def emptier(now: Figures, before: Figures, window: TimeWindow) -> Delta | None:
    if not now.count or not before.count:
        return None
    former = before.empty_recalls / before.count
    return _points(now.empty_recalls / now.count - former, _before(f"{former:.1%}", window))


def _points(change: float, words: str) -> Delta:
    """Describe a change of a share that should be small."""
    points = 100 * change
    tone = "off" if abs(points) < 1 else "bad" if points > 0 else "good"
    return Delta(_("%(points)s points") % {"points": f"{abs(points):.1f}"}, tone, points > 0, words)


def _before(value: str, window: TimeWindow) -> str:
    return _("it was %(value)s in the %(window)s before") % {"value": value, "window": window.title}


def _format_capped(count: int) -> str:
    return f"{count:,}+" if count >= deltas.COUNTED_AT_MOST else f"{count:,}"
