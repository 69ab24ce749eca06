"""Parses moments in addresses."""

from __future__ import annotations

from datetime import UTC, datetime

_EARLIEST, _LATEST = datetime(1000, 1, 1, tzinfo=UTC), datetime(9000, 1, 1, tzinfo=UTC)


def read_moment(text: str, *, zone_needed: bool = True) -> datetime:
    """Parse a moment in ISO 8601, in UTC.

    Raises ValueError if it has no time zone, unless UTC may be assumed, or if it is outside the range that the database
    and calculations with days can handle.
    """
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        if zone_needed:
            raise ValueError("A moment needs a time zone.")
        moment = moment.replace(tzinfo=UTC)
    if not _EARLIEST <= moment <= _LATEST:
        raise ValueError("The moment is too far away.")
    return moment.astimezone(UTC)
