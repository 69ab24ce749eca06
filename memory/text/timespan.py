"""Reads the time spans that a question names ("last week", "in May 2023", 上个月), and whether it asks for a time.

The patterns of `timewords` find the phrases, and dateparser reads dates. Left to search a question on its own,
dateparser takes "may", "march", "the sun" and port numbers for dates; and it doesn't know seasons, weekends, 去年五月
or 三天前, which are computed here. A question without a cue of time costs one regular expression.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import MAXYEAR, MINYEAR, UTC, datetime, timedelta, tzinfo
from functools import lru_cache

from dateutil.relativedelta import relativedelta

from memory.text.periods import DAY, YEARS_BACK, CalendarSpan, add_days, in_latest_years, months, period
from memory.text.timewords import (
    CUE,
    DAY_WORDS,
    EN_RULES,
    FEW,
    MONTH_NUMBERS,
    SEASONS,
    UNITS,
    WEEKDAYS,
    WHEN,
    YEAR_WORDS,
    ZH_RULES,
    number,
)
from memory.types import in_zone

# Maximum number of phrases that are read; a question with more is a list of dates.
MOST_PHRASES = 8
EARLIEST, LATEST = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)
# These are also ordinary words, so they count as months only if something else says so.
_AMBIGUOUS = frozenset({"may", "march", "mar"})
# A year that contains every day of the calendar.
_LEAP_YEAR = 2024
# Half of a unit, in smaller units.
_HALVES = {"year": (6, "month"), "month": (15, "day"), "day": (12, "hour"), "hour": (30, "minute")}


@dataclass(frozen=True, slots=True)
class Span:
    """A span from `start` (inclusive) to `end` (exclusive), of the day, week, month or year that `phrase` names."""

    start: datetime
    end: datetime
    phrase: str


_Groups = dict[str, str | None]


def spans(text: str, now: datetime, zone: tzinfo = UTC) -> list[Span]:
    """Return the spans that `text` names, in its order, timezone-aware and with days as they are in `zone`.

    `now` is timezone-aware. A phrase that may mean several years ("in May") gives a span for each, the latest first.
    "Since" extends a span until now, and "before" starts it at `EARLIEST`.
    """
    if not CUE.search(text):
        return []
    text = unicodedata.normalize("NFKC", text)
    now = in_zone(now, zone)
    here = now.replace(tzinfo=None)
    found: list[tuple[int, int, list[CalendarSpan]]] = []
    tried = 0
    for name, pattern in (*EN_RULES, *ZH_RULES):
        for match in pattern.finditer(text):
            begin, end = match.span("phrase")
            if any(begin < other_end and other_begin < end for other_begin, other_end, _ in found):
                continue
            tried += 1
            if tried > MOST_PHRASES:
                break
            if parts := _resolve(name, match, here):
                found.append((begin, end, parts))
    found.sort(key=lambda entry: entry[0])
    return [span for begin, end, parts in found for span in _widen(text, (begin, end), parts, now)]


def _resolve(name: str, match: re.Match[str], here: datetime) -> list[CalendarSpan]:
    """Read a phrase; return [] if it leaves the calendar ("last year", said in the year 1)."""
    try:
        return _READERS[name](match.groupdict(), here)
    except OverflowError:
        return []


def asks_when(text: str) -> bool:
    """Tell whether the answer is a time or a duration: "when did …", "how long ago", 什么时候, 多久."""
    return WHEN.search(unicodedata.normalize("NFKC", text)) is not None


_SINCE = re.compile(r"\b(since|after)\s+(?:the\s+|early\s+|late\s+)?$", re.IGNORECASE)
_UNTIL = re.compile(r"\b(?:before|until|till|by|prior\s+to)\s+(?:the\s+|early\s+|late\s+)?$", re.IGNORECASE)
_ZH_SINCE = re.compile(r"\s?(?:以来|[之以](后))")
_ZH_UNTIL = re.compile(r"\s?[之以]前")


def _widen(text: str, place: tuple[int, int], parts: list[CalendarSpan], now: datetime) -> Iterator[Span]:
    """Yield the parts as spans, extended if "since" or "before" is next to the phrase."""
    begin, end = place
    before, after = text[max(0, begin - 20) : begin], text[end : end + 4]
    since, until = _SINCE.search(before) or _ZH_SINCE.match(after), _UNTIL.search(before) or _ZH_UNTIL.match(after)
    phrase = text[begin:end]
    for part in parts:
        start = max(EARLIEST, part.start.replace(tzinfo=now.tzinfo))
        stop = min(LATEST, part.end.replace(tzinfo=now.tzinfo))
        if since:
            first = stop if (since[1] or "").lower() in ("after", "后") else start
            if first < now:
                yield Span(first, min(LATEST, now), phrase)
            return
        if until:
            if start > EARLIEST:
                yield Span(EARLIEST, start, phrase)
            return
        yield Span(start, stop, phrase)


def _read(phrase: str, now: datetime) -> tuple[datetime, str] | None:
    """Read an English phrase with dateparser; return a time within the meant one, and its unit (day, week, month)."""
    # Parsing takes milliseconds. The result is the same all day, so it can be cached.
    return _read_on(phrase, period(now, "day").start)


@lru_cache(maxsize=1024)
def _read_on(phrase: str, today: datetime) -> tuple[datetime, str] | None:
    # Importing it takes a tenth of a second, so only the first question that names a time pays for that.
    from dateparser.date import DateDataParser  # noqa: PLC0415

    settings = {
        "RELATIVE_BASE": today,
        "PREFER_DATES_FROM": "past",
        "TIMEZONE": "UTC",
        "RETURN_AS_TIMEZONE_AWARE": False,
    }
    data = DateDataParser(languages=["en"], settings=settings).get_date_data(phrase)
    return (data.date_obj, data.period) if data.date_obj else None


def _library(groups: _Groups, now: datetime) -> list[CalendarSpan]:
    phrase = (groups["phrase"] or "").lower().replace("previous", "last").replace("current", "this")
    found = _read(phrase, now)
    return [period(*found)] if found else []


def _yearless(phrase: str, now: datetime) -> list[CalendarSpan]:
    """Read a date without a year as the latest years in which it has already begun."""
    found = _read(f"{phrase} {_LEAP_YEAR}", now)
    return in_latest_years(found[0].month, found[0].day, now) if found else []


def _resolve_date(groups: _Groups, now: datetime) -> list[CalendarSpan]:
    """Read a day and a month, with or without a year."""
    month, phrase = groups["month"] or "", groups["phrase"] or ""
    if groups["year"]:
        return _library(groups, now)
    told = " of " in phrase.lower() or groups.get("preposition") or groups.get("ordinal")
    sure = told if groups.get("day") else told or month[0].isupper()
    if month.lower() in _AMBIGUOUS and not sure:
        return []
    return _yearless(phrase, now)


def _monthly(groups: _Groups, now: datetime) -> list[CalendarSpan]:
    month, which = groups["month"] or "", (groups.get("which") or "").strip().lower()
    if groups.get("year"):
        sure = month[0].isupper() or month.lower() not in _AMBIGUOUS or groups.get("preposition")
        return _library(groups, now) if sure else []
    index = MONTH_NUMBERS[month[:3].lower()]
    if which == "this":
        return [months(now.year, index, 1)]
    if which == "next":
        return [months(now.year + (index <= now.month), index, 1)]
    if which:
        return [months(now.year - (index >= now.month), index, 1)]
    return in_latest_years(index, 0, now)


def _range(groups: _Groups, now: datetime) -> list[CalendarSpan]:
    """Span the months from one to another, both included; without a year, in the latest years in which it has begun."""
    first, last = (MONTH_NUMBERS[(groups[name] or "")[:3].lower()] for name in ("month", "until"))
    count = (last - first) % 12 + 1
    if groups["year"]:
        return [months(int(groups["year"]) - (last < first), first, count)]
    return [months(part.start.year, first, count) for part in in_latest_years(first, 0, now)]


def _season(groups: _Groups, now: datetime) -> list[CalendarSpan]:
    first = SEASONS[(groups["season"] or "").lower()]
    which = (groups.get("which") or "").lower()
    if groups.get("year") or groups.get("relative"):
        return [months(_year(groups, now), first, 3)]
    years = range(min(MAXYEAR, now.year + 1), max(MINYEAR, now.year - YEARS_BACK) - 1, -1)
    parts = [months(year, first, 3) for year in years]
    if which in ("this", "这", "今"):
        return [part for part in parts if part.start.year == now.year]
    if which == "next":
        return [part for part in parts if part.start > now][-1:]
    begun = [part for part in parts if part.start <= now]
    return [part for part in begun if part.end <= now][:1] if which else begun[:YEARS_BACK]


def _year(groups: _Groups, now: datetime) -> int:
    if relative := groups.get("relative"):
        return now.year + YEAR_WORDS[relative]
    year = groups.get("year") or ""
    return int(year) if year.isdecimal() else int("".join(str(number(digit)) for digit in year))


def _yearly(groups: _Groups, now: datetime) -> list[CalendarSpan]:
    return [months(_year(groups, now), 1, 12)]


def _day(groups: _Groups, now: datetime) -> list[CalendarSpan]:
    word = (groups["word"] or "").lower()
    return [period(now + DAY_WORDS.get(word, -1 if word == "last" else 0) * DAY, "day")]


def _quarter(groups: _Groups, now: datetime) -> list[CalendarSpan]:
    this = period(now, "quarter").start
    step = {"this": 0, "这": 0, "本": 0, "next": 3}.get((groups["which"] or "").lower(), -3)
    return [months(this.year, this.month + step, 3)]


def _weekend(groups: _Groups, now: datetime) -> list[CalendarSpan]:
    """Span Saturday and Sunday. Before it has begun, "this weekend" may still mean the last one."""
    saturday = period(now, "week").start + 5 * DAY
    which = (groups["which"] or "").lower()
    weeks = {"this": (0,) if saturday <= now else (0, -1), "next": (1,)}.get(which, (-1,))
    starts = [saturday + 7 * week * DAY for week in weeks]
    return [CalendarSpan(start, add_days(start, 2)) for start in starts]


def _weekday(groups: _Groups, now: datetime) -> list[CalendarSpan]:
    """Find the latest such day before today; "this" and "next" count from this week's Monday."""
    wanted = WEEKDAYS[(groups["weekday"] or "").lower()]
    which = (groups.get("which") or "").lower()
    monday = period(now, "week").start
    if which in ("this", "next"):
        return [period(monday + (wanted + 7 * (which == "next")) * DAY, "day")]
    return [period(now - ((now.weekday() - wanted - 1) % 7 + 1) * DAY, "day")]


def _ago(groups: _Groups, now: datetime) -> list[CalendarSpan]:
    """Span the unit `count` units back: two weeks ago is a week from Monday on. "A few" is two to `FEW` units."""
    counts, unit = _amount(groups)
    parts = [_unit_ago(count, unit, now) for count in counts]
    found = [part for part in parts if part]
    return [CalendarSpan(found[-1].start, found[0].end)] if len(found) == len(counts) else []


def _rolling(groups: _Groups, now: datetime) -> list[CalendarSpan]:
    """Span the last `count` units until now; "a few" means `FEW`."""
    counts, unit = _amount(groups)
    start = _back(counts[-1], unit, now)
    return [CalendarSpan(start, now)] if start and start < now else []


def _amount(groups: _Groups) -> tuple[tuple[int, ...], str]:
    """Return (counts, unit), with one count, or the minimum and the maximum for "a few"."""
    word = (groups["unit"] or "").lower().removeprefix("个")
    unit = UNITS.get(word, word)
    if groups.get("count") == "半":
        count, unit = _HALVES.get(unit, (0, unit))
        return (count,), unit
    amount = number(groups.get("count") or "")
    return ((2, FEW) if amount is None else (amount,)), unit


def _back(count: int, unit: str, now: datetime) -> datetime | None:
    """Return the time `count` units before `now`, None before the year 1."""
    amount = {"months": 3 * count} if unit == "quarter" else {f"{unit}s": count}
    try:
        return now - relativedelta(**amount)
    except (ValueError, OverflowError):
        return None


def _unit_ago(count: int, unit: str, now: datetime) -> CalendarSpan | None:
    moment = _back(count, unit, now)
    if moment is None:
        return None
    if unit in ("hour", "minute"):
        width = timedelta(hours=1) if unit == "hour" else timedelta(minutes=1)
        return CalendarSpan(moment - width, moment + width)
    return period(moment, unit)


def _zh_date(groups: _Groups, now: datetime) -> list[CalendarSpan]:
    """Read a month or a day, with or without a year."""
    month, day = number(groups["month"] or "") or 0, number(groups["day"]) or 0 if groups["day"] else 0
    if groups["year"] or groups["relative"]:
        found = _read(f"{_year(groups, now)}-{month:02}" + (f"-{day:02}" if day else ""), now)
        return [period(*found)] if found else []
    return in_latest_years(month, day, now)


def _zh_month_day(groups: _Groups, now: datetime) -> list[CalendarSpan]:
    month = months(now.year, now.month + _ups(groups), 1)
    if not groups["day"]:
        return [month]
    day = month.start + (int(number(groups["day"]) or 1) - 1) * DAY
    return [period(day, "day")] if day < month.end else []


def _zh_week(groups: _Groups, now: datetime) -> list[CalendarSpan]:
    monday = period(now, "week").start + 7 * _ups(groups) * DAY
    if groups["weekday"] == "末":
        return [CalendarSpan(monday + 5 * DAY, add_days(monday, 7))]
    if groups["weekday"]:
        return [period(monday + WEEKDAYS[groups["weekday"]] * DAY, "day")]
    return [period(monday, "week")]


def _ups(groups: _Groups) -> int:
    """Return the offset of 上 (-1), 上上 (-2) or 下 (1)."""
    ups = groups["ups"] or ""
    return -len(ups) if "上" in ups else int(ups == "下")


_READERS: dict[str, Callable[[_Groups, datetime], list[CalendarSpan]]] = {
    "exact": _library,
    "library": _library,
    "dated": _resolve_date,
    "monthly": _monthly,
    "months": _range,
    "season": _season,
    "zh_season": _season,
    "yearly": _yearly,
    "zh_year": _yearly,
    "day": _day,
    "quarter": _quarter,
    "weekend": _weekend,
    "weekday": _weekday,
    "rolling": _rolling,
    "ago": _ago,
    "zh_date": _zh_date,
    "zh_month_day": _zh_month_day,
    "zh_week": _zh_week,
}
