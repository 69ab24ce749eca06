"""Finds the page of a position in a text; a form feed ends a page, as in text extracted from PDFs."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

PAGE_END = "\f"


def find_pages(text: str) -> list[int]:
    """Return the positions of the page breaks, in order."""
    breaks, place = [], text.find(PAGE_END)
    while place >= 0:
        breaks.append(place)
        place = text.find(PAGE_END, place + 1)
    return breaks


def page_at(breaks: Sequence[int], place: int) -> int:
    """Return the page of a position, from 1; 0 if there are no page breaks."""
    return bisect_right(breaks, place) + 1 if breaks else 0


def name_pages(first: object, last: object) -> str:
    """Return `page 3` or `pages 3-4`, or "" if `first` isn't a page number."""
    if not isinstance(first, int) or first < 1:
        return ""
    return f"pages {first}-{last}" if isinstance(last, int) and last > first else f"page {first}"
