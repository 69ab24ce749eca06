"""Shortens the results of tools to the size that clients accept: by previews first, then by fewer items."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from memory.text.json_values import encode

# The lengths to which fields of an item are cut in previews; the longest that fits is used.
PREVIEWS = (8_000, 4_000, 2_000, 1_000, 500, 250, 120)


def size_of(value: Any) -> int:
    """Returns the number of characters of `value` as JSON."""
    return len(encode(value).decode())


def fit(answer: dict[str, Any], limit: int) -> dict[str, Any]:
    """Returns `answer`, shortened to at most `limit` characters of JSON.

    Long fields of its items and of itself are cut, and named in the field `cut` next to them. If the shortest previews
    are still too long, its lists lose their last items; `left_out` has their numbers.
    """
    if size_of(answer) <= limit:
        return answer
    for chars in PREVIEWS:
        cut = {name: _preview_items(value, chars) for name, value in answer.items()}
        if size_of(cut) <= limit:
            return cut
    shown = _preview(cut, limit // 2, keep_lists=True)
    left_out: dict[str, int] = {}
    lists = [name for name, value in shown.items() if isinstance(value, list) and name != "cut"]
    while size_of({**shown, "left_out": left_out}) > limit and any(shown[name] for name in lists):
        name = max(lists, key=lambda name: size_of(shown[name]))
        kept = len(shown[name]) * 3 // 4
        left_out[name] = left_out.get(name, 0) + len(shown[name]) - kept
        shown[name] = shown[name][:kept]
    return {**shown, "left_out": left_out}


def part_of(text: str, offset: int, limit: int) -> tuple[str, int | None]:
    """Returns the part of `text` from `offset` on that has at most `limit` characters as JSON, and the next offset.

    The next offset is None at the end of the text.
    """
    part = text[offset : offset + limit]
    while size_of(part) > limit:
        part = part[: len(part) * 3 // 4]
    end = offset + len(part)
    return part, end if end < len(text) else None


def _preview_items(value: Any, chars: int) -> Any:
    if isinstance(value, list):
        return [_preview(item, chars) if isinstance(item, dict) else item for item in value]
    return _preview(value, chars) if isinstance(value, dict) else value


def _preview(item: Mapping[str, Any], chars: int, *, keep_lists: bool = False) -> dict[str, Any]:
    shown: dict[str, Any] = {}
    cut = []
    for name, value in item.items():
        if isinstance(value, str) and (len(value) > chars or size_of(value) > chars):
            shown[name] = f"{part_of(value, 0, chars)[0]}…"
        elif isinstance(value, dict) and size_of(value) > chars:
            shown[name] = {}
        elif isinstance(value, list) and size_of(value) > chars and not keep_lists:
            shown[name] = []
        else:
            shown[name] = value
            continue
        cut.append(name)
    return {**shown, "cut": cut} if cut else shown
