"""Marks the words in which two texts differ."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from typing import Any

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

# Longer texts are not compared by word, which would take seconds.
MAX_WORDS = 2_000
ALIKE = 0.5
_PARTS = re.compile(r"\s+|[\u3040-\u9fff]|[^\s\u3040-\u9fff]+")


def difference(former: str, new: str) -> SafeString:
    """Compare a text by words (Chinese by characters): removed ones are struck out, added ones are marked.

    Texts that share less than half of their words are not compared: the new one is shown as it is.
    """
    old, present = _PARTS.findall(former), _PARTS.findall(new)
    compared = difflib.SequenceMatcher(None, old, present, autojunk=False)
    if former == new or len(old) + len(present) > MAX_WORDS or compared.ratio() < ALIKE:
        return format_html("{}", new)
    pieces: list[tuple[Any, ...]] = []
    for tag, a, b, c, d in compared.get_opcodes():
        if tag == "equal":
            pieces.append((format_html("{}", "".join(old[a:b])),))
            continue
        if a < b:
            pieces.append((format_html("<del>{}</del>", "".join(old[a:b])),))
        if c < d:
            pieces.append((format_html("<ins>{}</ins>", "".join(present[c:d])),))
    return format_html_join("", "{}", pieces)


def mark_differences(one: str, other: str) -> tuple[SafeString, SafeString]:
    """Return both texts, each with the words marked that the other lacks at that place.

    Nothing is marked in texts that `difference` would not compare.
    """
    own, others = _PARTS.findall(one), _PARTS.findall(other)
    compared = difflib.SequenceMatcher(None, own, others, autojunk=False)
    if len(own) + len(others) > MAX_WORDS or compared.ratio() < ALIKE:
        return format_html("{}", one), format_html("{}", other)
    codes = compared.get_opcodes()
    return (
        _mark([(tag, own[a:b]) for tag, a, b, _, _ in codes]),
        _mark([(tag, others[c:d]) for tag, _, _, c, d in codes]),
    )


def _mark(pieces: Sequence[tuple[str, list[str]]]) -> SafeString:
    marked = (
        format_html("{}" if tag == "equal" else "<mark>{}</mark>", "".join(words)) for tag, words in pieces if words
    )
    return format_html_join("", "{}", ((piece,) for piece in marked))
