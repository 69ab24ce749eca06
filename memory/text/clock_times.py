"""Reads times given as seconds, milliseconds, microseconds or nanoseconds since 1970."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

_START = datetime(1970, 1, 1, tzinfo=UTC)
# The lower bound of March 1973 in seconds, before which no chat can have happened; larger units follow from it.
_LEAST_SECONDS = 10**8
_UNITS = (1, 10**3, 10**6, 10**9)
_DIGITS = re.compile(r"\d{9,19}(?:\.\d+)?")


def read_clock(value: float | str) -> datetime | None:
    """Return the UTC time between 1973 and 5138 that a number means, guessing its unit by size; else None."""
    if isinstance(value, bool) or (isinstance(value, str) and not _DIGITS.fullmatch(value)):
        return None
    number = float(value)
    for unit in _UNITS:
        if _LEAST_SECONDS * unit <= number < _LEAST_SECONDS * unit * 1_000:
            return _START + timedelta(seconds=number / unit)
    return None
