from __future__ import annotations

from memory.gate.redaction import Detection, redact, without_overlaps


def test_marks_stand_where_the_finds_stood():
    found = [Detection("password", 10, 14, 0.9), Detection("api key", 0, 3, 0.9)]

    assert redact("abc and a pass!", found) == "[redacted: api key] and a [redacted: password]!"


def test_of_overlapping_finds_the_surest_names_the_whole():
    found = [Detection("password", 2, 6, 0.5), Detection("api key", 0, 4, 0.9), Detection("password", 6, 8, 0.5)]

    assert without_overlaps(found) == [Detection("api key", 0, 6, 0.9), Detection("password", 6, 8, 0.5)]
    assert redact("0123456789", found) == "[redacted: api key][redacted: password]89"


def test_nothing_found_changes_nothing():
    assert redact("as it was", []) == "as it was"
