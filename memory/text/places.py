"""Describes the position of a chunk in its document: `page 3, Invoices > Totals (columns: Item | Price)`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from memory.text.pages import name_pages

_MAX_CHARS = 300


def name_place(metadata: Mapping[str, Any]) -> str:
    """Return a description on one line from a chunk's metadata, "" if the chunk has neither page nor heading."""
    document = metadata.get("document")
    if not isinstance(document, Mapping):
        return ""
    heading, columns = (_one_line(document.get(name)) for name in ("heading", "table"))
    place = ", ".join(filter(None, (name_pages(document.get("page"), document.get("last_page")), heading)))
    return f"{place} (columns: {columns})".lstrip() if columns else place


def _one_line(value: object) -> str:
    return " ".join(value.split())[:_MAX_CHARS] if isinstance(value, str) else ""
