"""Moments that stand in an address."""

from __future__ import annotations

from datetime import UTC, datetime

_EARLIEST, _LATEST = datetime(1000, 1, 1, tzinfo=UTC), datetime(9000, 1, 1, tzinfo=UTC)


def read_moment(text: str, *, zone_needed: bool = True) -> datetime:
    """A moment in ISO 8601, in UTC. Raises ValueError for one without its zone, unless that may be UTC, and for one so
    far away that neither the database nor a calculation with days holds it."""
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        if zone_needed:
            raise ValueError("A moment needs a time zone.")
        moment = moment.replace(tzinfo=UTC)
    if not _EARLIEST <= moment <= _LATEST:
        raise ValueError("The moment is too far away.")
    return moment.astimezone(UTC)
