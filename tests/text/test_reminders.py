"""Reminders that an agent's client adds to a message are separated from what the user says."""

from __future__ import annotations

import pytest

from memory.text.reminders import as_reminder, is_reminder, remove_reminders

ADDED = "<system-reminder>\nUse the list.\n</system-reminder>\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Where is it?", "Where is it?"),
        (f"{ADDED}Where is it?", "Where is it?"),
        (f"Where is it?\n{ADDED}{ADDED}And when?", "Where is it?\nAnd when?"),
        ("What does <system-reminder> mean?", "What does <system-reminder> mean?"),
        (ADDED, ""),
    ],
)
def test_what_is_said_stays(text, said):
    assert remove_reminders(text) == said
    assert is_reminder(text) == (said == "")


def test_a_text_is_marked_once():
    marked = as_reminder("Use the list.")

    assert is_reminder(marked)
    assert as_reminder(marked) == marked
