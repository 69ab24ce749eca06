"""Separates a user's words from what an agent's client adds: `<system-reminder>…</system-reminder>`."""

from __future__ import annotations

import re
from typing import Final

_REMINDER: Final = re.compile(r"<system-reminder>.*?</system-reminder>\s*", re.DOTALL)


def remove_reminders(text: str) -> str:
    """Remove a client's reminders; a text without any is returned unchanged."""
    return _REMINDER.sub("", text)


def is_reminder(text: str) -> bool:
    """Tell whether a text consists of a client's reminders only."""
    return not remove_reminders(text).strip()


def as_reminder(text: str) -> str:
    """Return a text marked as a client's reminder, unchanged if it already is one."""
    return text if is_reminder(text) else f"<system-reminder>\n{text}\n</system-reminder>"
