"""Names of time zones are those of the IANA database."""

from __future__ import annotations

import pytest

from memory.text.zones import problem_of_zone, read_zone


@pytest.mark.parametrize("name", ["UTC", "Europe/Vienna", "Asia/Shanghai", "America/Argentina/Ushuaia"])
def test_known_zones(name: str) -> None:
    assert problem_of_zone(name) is None
    assert str(read_zone(name)) == name


@pytest.mark.parametrize("name", ["", "Nowhere", "+08:00", "../UTC", "utc\0", "x" * 10_000, None, 8, ["UTC"]])
def test_unknown_zones(name: object) -> None:
    assert "IANA name" in (problem_of_zone(name) or "")


def test_the_nearest_name_is_proposed() -> None:
    assert (problem_of_zone("Asia/Shangai") or "").endswith("Did you mean Asia/Shanghai?")
