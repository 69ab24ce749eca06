"""Writes days, months and years as people do, in English or Chinese: "7 May 2023", 2023年5月7日."""

from __future__ import annotations

import calendar
from datetime import date

from memory.text.event_dates import interval
from memory.text.periods import DAY
from memory.text.timespan import Span


def write_day(day: date, *, chinese: bool) -> str:
    """Return the day like "7 May 2023" or 2023年5月7日."""
    if chinese:
        return f"{day.year}年{day.month}月{day.day}日"
    return f"{day.day} {calendar.month_name[day.month]} {day.year}"


def write_span(span: Span, *, chinese: bool) -> str | None:
    """Return a span of whole days, months or years like "29 May to 4 June 2023" or "May 2023"; else None."""
    if interval(span) is None:
        return None
    first, last = span.start.date(), (span.end - DAY).date()
    if span.start.day == 1 and span.end.day == 1:
        years = span.start.month == span.end.month == 1
        write = (_year if years else _month, _year_zh if years else _month_zh)[chinese]
        ends = dict.fromkeys((write(first), write(last)))
    else:
        ends = dict.fromkeys((write_day(first, chinese=chinese), write_day(last, chinese=chinese)))
    return ("至" if chinese else " to ").join(ends)


def _year(day: date) -> str:
    return str(day.year)


def _month(day: date) -> str:
    return f"{calendar.month_name[day.month]} {day.year}"


def _year_zh(day: date) -> str:
    return f"{day.year}年"


def _month_zh(day: date) -> str:
    return f"{day.year}年{day.month}月"
