"""Renders stored values as HTML. They are untrusted, so all of them go through format_html."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from memory.text.card import SECTIONS, section_items

EXCERPT_CHARS = 120


def excerpt(text: str) -> str:
    """Return the beginning of a text on one line."""
    flat = " ".join(text.split())
    return flat if len(flat) <= EXCERPT_CHARS else flat[: EXCERPT_CHARS - 1] + "…"


def pretty_json(value: Any) -> SafeString:
    """Render indented JSON in a box."""
    return format_html(
        '<pre class="mos-json" tabindex="0">{}</pre>', json.dumps(value, indent=2, ensure_ascii=False, default=str)
    )


def memory_link(memory_id: str, label: str) -> SafeString:
    """Return a link to a memory's page."""
    return format_html('<a href="{}">{}</a>', reverse("admin:memory_memory_change", args=[memory_id]), label)


def card(text: str, sources: Any) -> SafeString:
    """Render a summary's card: its sections, each item with links to its source memories (see `item_sources`)."""
    try:
        content = json.loads(text)
    except ValueError:
        content = None
    if not isinstance(content, dict):
        return format_html('<pre class="mos-json" tabindex="0">{}</pre>', text)
    origins = sources if isinstance(sources, dict) else {}
    shown = [
        (name.replace("_", " ").title(), _statements(items, origins.get(name)))
        for name in SECTIONS
        if (items := section_items(content, name))
    ]
    if not shown:
        return format_html('<p class="mos-quiet">{}</p>', _("The card is empty: nothing said was worth keeping."))
    return format_html(
        '<div class="mos-card">{}</div>',
        format_html_join("", "<section><h3>{}</h3><ul>{}</ul></section>", shown),
    )


def _statements(items: list[str], sources: Any) -> SafeString:
    origin = sources if isinstance(sources, list) else []

    def links(position: int) -> SafeString:
        ids = origin[position] if position < len(origin) and isinstance(origin[position], list) else []
        return format_html_join(
            "",
            ' <span class="mos-source">{}</span>',
            ((memory_link(str(one), f"[{n}]"),) for n, one in enumerate(ids, 1)),
        )

    return format_html_join(
        "",
        "<li>{}{}</li>",
        ((item, links(n)) for n, item in enumerate(items)),
    )


def moment(value: datetime) -> SafeString:
    """Render a UTC time that machines can read, too."""
    return format_html('<time datetime="{}">{}</time>', value.isoformat(), f"{value:%Y-%m-%d %H:%M:%S} UTC")
