"""Reads the names of time zones, as the IANA database has them."""

from __future__ import annotations

from datetime import UTC, tzinfo
from difflib import get_close_matches
from functools import cache
from zoneinfo import ZoneInfo, available_timezones

DEFAULT_ZONE = "UTC"


@cache
def list_zones() -> frozenset[str]:
    """Returns the names of all zones."""
    return frozenset(available_timezones())


def problem_of_zone(name: object) -> str | None:
    """Returns what is wrong with the name of a zone, as a sentence without its subject; None when nothing is."""
    if isinstance(name, str) and name in list_zones():
        return None
    near = get_close_matches(name, list_zones(), n=1) if isinstance(name, str) and len(name) <= 100 else []
    hint = f" Did you mean {near[0]}?" if near else ""
    return f"must be the IANA name of a time zone, such as Europe/Vienna or Asia/Shanghai.{hint}"


def read_zone(name: str) -> tzinfo:
    """Returns the zone of a name that `problem_of_zone` finds right."""
    return UTC if name == DEFAULT_ZONE else ZoneInfo(name)
