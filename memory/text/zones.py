"""Checks and reads names of time zones in the IANA database."""

from __future__ import annotations

from datetime import UTC, tzinfo
from difflib import get_close_matches
from functools import cache
from zoneinfo import ZoneInfo, available_timezones

DEFAULT_ZONE = "UTC"


@cache
def list_zones() -> frozenset[str]:
    """Return the names of all zones."""
    return frozenset(available_timezones())


def problem_of_zone(name: object) -> str | None:
    """Return the problem with the name of a zone as the predicate of a sentence, or None."""
    if isinstance(name, str) and name in list_zones():
        return None
    near = get_close_matches(name, list_zones(), n=1) if isinstance(name, str) and len(name) <= 100 else []
    hint = f" Did you mean {near[0]}?" if near else ""
    return f"must be the IANA name of a time zone, such as Europe/Vienna or Asia/Shanghai.{hint}"


def read_zone(name: str) -> tzinfo:
    """Return the zone of a name that has passed `problem_of_zone`."""
    return UTC if name == DEFAULT_ZONE else ZoneInfo(name)
