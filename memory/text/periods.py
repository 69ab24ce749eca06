"""Stretches of the calendar, without a time zone: the day, week, month, quarter or year that a moment lies in.

The calendar has the years 1 to 9999. A stretch that ends after it ends with it; one that begins outside of it does not
exist, and asking for it raises OverflowError, as `datetime` does when days are added.
"""

from __future__ import annotations

from datetime import MAXYEAR, MINYEAR, datetime, timedelta
from typing import NamedTuple

DAY = timedelta(days=1)
# Years that a month or a day without a year may mean.
YEARS_BACK = 3


class CalendarSpan(NamedTuple):
    """A stretch of the calendar, without a time zone."""

    start: datetime
    end: datetime


def period(moment: datetime, kind: str) -> CalendarSpan:
    """The period that `moment` lies in; `kind`: week (from Monday), month, quarter, year, or else the day."""
    day = moment.replace(hour=0, minute=0, second=0, microsecond=0)
    if kind == "week":
        monday = day - day.weekday() * DAY
        return CalendarSpan(monday, add_days(monday, 7))
    if kind == "month":
        return months(day.year, day.month, 1)
    if kind == "quarter":
        return months(day.year, day.month - (day.month - 1) % 3, 3)
    if kind == "year":
        return months(day.year, 1, 12)
    return CalendarSpan(day, add_days(day, 1))


def add_days(moment: datetime, days: int) -> datetime:
    """`moment` that many days later, or the end of the calendar where that comes first."""
    return moment + min(days * DAY, datetime.max - moment)


def months(year: int, month: int, count: int) -> CalendarSpan:
    """`count` months from that one on; `month` may lie outside 1..12. Raises OverflowError."""
    first, last = (divmod(year * 12 + month - 1 + shift, 12) for shift in (0, count))
    if not MINYEAR <= first[0] <= MAXYEAR:
        raise OverflowError(f"the calendar has no year {first[0]}")
    start = datetime(first[0], first[1] + 1, 1)
    return CalendarSpan(start, datetime(last[0], last[1] + 1, 1) if last[0] <= MAXYEAR else datetime.max)


def in_latest_years(month: int, day: int, now: datetime) -> list[CalendarSpan]:
    """That day, or that month for day 0, in the latest YEARS_BACK years that have it and in which it has begun."""
    parts = []
    # 29 February comes every fourth year, and not in most years that end with 00.
    for year in range(now.year, max(MINYEAR, now.year - 4 * YEARS_BACK - 4) - 1, -1):
        whole = months(year, month, 1)
        part = period(add_days(whole.start, day - 1), "day") if day else whole
        if part.start <= now and part.end <= whole.end:
            parts.append(part)
    return parts[:YEARS_BACK]
