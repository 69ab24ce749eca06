"""Tells what a user says from what an agent's client adds to it: `<system-reminder>…</system-reminder>`."""

from __future__ import annotations

import re
from typing import Final

_REMINDER: Final = re.compile(r"<system-reminder>.*?</system-reminder>\s*", re.DOTALL)


def remove_reminders(text: str) -> str:
    """Removes a client's own words. Without any, the text is returned as it is."""
    return _REMINDER.sub("", text)


def is_reminder(text: str) -> bool:
    """Tells whether a text holds a client's own words alone."""
    return not remove_reminders(text).strip()


def as_reminder(text: str) -> str:
    """Returns a text marked as a client's own words; one that is marked already as it is."""
    return text if is_reminder(text) else f"<system-reminder>\n{text}\n</system-reminder>"
