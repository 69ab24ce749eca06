"""Calendar periods without a time zone: the day, week, month, quarter or year that contains a time.

The calendar has the years 1 to 9999. A period that ends later is cut at its end; one that would start outside of it
raises OverflowError, as `datetime` does when days are added.
"""

from __future__ import annotations

from datetime import MAXYEAR, MINYEAR, datetime, timedelta
from typing import NamedTuple

DAY = timedelta(days=1)
# Number of years that a month or a day without a year may mean.
YEARS_BACK = 3


class CalendarSpan(NamedTuple):
    """A period without a time zone, from `start` (inclusive) to `end` (exclusive)."""

    start: datetime
    end: datetime


def period(moment: datetime, kind: str) -> CalendarSpan:
    """Return the period that contains `moment`; `kind` is week (from Monday), month, quarter or year, else the day."""
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
    """Return the time `days` after `moment`, at most the end of the calendar."""
    return moment + min(days * DAY, datetime.max - moment)


def months(year: int, month: int, count: int) -> CalendarSpan:
    """Return `count` months from the given one on; `month` may be outside 1..12. Raise OverflowError (see above)."""
    first, last = (divmod(year * 12 + month - 1 + shift, 12) for shift in (0, count))
    if not MINYEAR <= first[0] <= MAXYEAR:
        raise OverflowError(f"the calendar has no year {first[0]}")
    start = datetime(first[0], first[1] + 1, 1)
    return CalendarSpan(start, datetime(last[0], last[1] + 1, 1) if last[0] <= MAXYEAR else datetime.max)


def in_latest_years(month: int, day: int, now: datetime) -> list[CalendarSpan]:
    """Return the day (or, for day 0, the month) in the latest `YEARS_BACK` years in which it exists and has begun."""
    parts = []
    # 29 February occurs every fourth year, but not in most years that end in 00.
    for year in range(now.year, max(MINYEAR, now.year - 4 * YEARS_BACK - 4) - 1, -1):
        whole = months(year, month, 1)
        part = period(add_days(whole.start, day - 1), "day") if day else whole
        if part.start <= now and part.end <= whole.end:
            parts.append(part)
    return parts[:YEARS_BACK]
