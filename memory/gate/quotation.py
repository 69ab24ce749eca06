"""Whether a place of a text is quoted."""

from __future__ import annotations

_QUOTES = {'"': '"', "“": "”", "「": "」", "『": "』", "`": "`", "《": "》", "'": "'", "‘": "’"}
# So far before a place its quotation may open, and so far behind it close.
BEFORE, BEHIND = 80, 160


def is_quoted(text: str, start: int, end: int) -> bool:
    """Whether a quotation opens shortly before `start`..`end` of `text` and closes shortly behind it."""
    before = text[max(0, start - BEFORE) : start + 1]
    behind = text[end - 1 : end + BEHIND]
    return any(
        close in behind and (before.count(mark) % 2 == 1 if mark == close else before.rfind(mark) > before.rfind(close))
        for mark, close in _QUOTES.items()
    )
