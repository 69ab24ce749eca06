"""Adds the date to relative times, so that "yesterday" still means something a month later."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from memory.text.periods import DAY
from memory.text.timespan import Span, spans

# Other years are counts that were taken for dates.
FIRST_YEAR, LAST_YEAR = 1900, 2100

# A bare "Friday" may be the last one or the next, and a date with its year needs no other.
_RELATIVE = re.compile(
    r"yesterday|today|tonight|tomorrow|\b(?:ago|back|last|past|previous|this|next)\b|前|昨|[今明去本]|后天|上|下|这",
    re.IGNORECASE,
)
# An ISO 8601 date, year, month or interval in parentheses, as `add_dates` writes it.
_DATE = r"\d{4}(?:-\d\d){0,2}(?:/\d[\d-]*)?"
_WRITTEN = re.compile(rf" ?\(({_DATE})\)")


def add_dates(sentence: str, said: datetime) -> str:
    """Return `sentence` with each relative time followed by its meaning in ISO 8601: "yesterday (2024-03-01)".

    A week becomes an interval, "last week (2024-02-19/25)"; a month or a year has no day, "last year (2023)". Phrases
    that don't mean whole days, or may mean several times ("in May", a bare weekday), stay as they are. `said` is when
    the sentence was said, and days are those of its time zone (UTC if it has none).
    """
    for phrase, span in relative_spans(sentence, said).items():
        place = sentence.find(phrase)
        text = interval(span)
        if text and place >= 0:
            end = place + len(phrase)
            gap = " " if phrase.isascii() else ""
            sentence = f"{sentence[:end]}{gap}({text}){sentence[end:]}"
    return sentence


def relative_spans(sentence: str, said: datetime) -> dict[str, Span]:
    """Return the relative times of `sentence` with a single meaning, by phrase, in order; it was said at `said`."""
    found: dict[str, list[Span]] = {}
    for span in list_spans(sentence, said):
        found.setdefault(span.phrase, []).append(span)
    return {phrase: meant[0] for phrase, meant in found.items() if len(meant) == 1 and _RELATIVE.search(phrase)}


def list_spans(sentence: str, said: datetime) -> list[Span]:
    """Return all times that `sentence` names, in order; it was said at `said`."""
    # Days are the same at noon, and the results for a day are cached.
    moment = said.replace(hour=12, minute=0, second=0, microsecond=0, tzinfo=said.tzinfo or UTC)
    return spans(sentence, moment, moment.tzinfo or UTC)


def remove_dates(sentence: str) -> str:
    """Return `sentence` without the dates that `add_dates` inserts."""
    return _WRITTEN.sub("", sentence)


def first_date(sentence: str) -> str:
    """Return the first date that `add_dates` inserted into `sentence`, or ""."""
    found = _WRITTEN.search(sentence)
    return found.group(1) if found else ""


def interval(span: Span) -> str | None:
    """Return a span of whole days, months or years as ISO 8601 with its end shortened; None for any other span."""
    start, end = (moment.replace(tzinfo=None) for moment in (span.start, span.end))
    if not FIRST_YEAR <= start.year <= end.year <= LAST_YEAR or _time(start) or _time(end) or start >= end:
        return None
    last = end - DAY
    if start.day == 1 and end.day == 1:
        if start.month == end.month == 1:
            return _join_dates(f"{start.year}", f"{last.year}")
        return _join_dates(f"{start:%Y-%m}", f"{last:%Y-%m}")
    return _join_dates(f"{start:%Y-%m-%d}", f"{last:%Y-%m-%d}") if end - start <= 7 * DAY else None


def _time(moment: datetime) -> timedelta:
    return moment - moment.replace(hour=0, minute=0, second=0, microsecond=0)


def _join_dates(first: str, last: str) -> str:
    """Return `first/last`, leaving out the leading parts of `last` that it shares with `first`."""
    if first == last:
        return first
    parts, others = first.split("-"), last.split("-")
    shared = next((place for place, (one, other) in enumerate(zip(parts, others, strict=True)) if one != other), 0)
    return f"{first}/{'-'.join(others[shared:])}"
