"""Which page a place of a text is on: a form feed ends a page, as in what other programs read from PDFs."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

PAGE_END = "\f"


def find_pages(text: str) -> list[int]:
    """Where the page breaks are, in order; none in a text without pages."""
    breaks, place = [], text.find(PAGE_END)
    while place >= 0:
        breaks.append(place)
        place = text.find(PAGE_END, place + 1)
    return breaks


def page_at(breaks: Sequence[int], place: int) -> int:
    """The page, from 1; 0 where there are no page breaks."""
    return bisect_right(breaks, place) + 1 if breaks else 0


def name_pages(first: object, last: object) -> str:
    """`page 3`, `pages 3-4`; empty for what is no number of a page."""
    if not isinstance(first, int) or first < 1:
        return ""
    return f"pages {first}-{last}" if isinstance(last, int) and last > first else f"page {first}"
