"""Answers pages that poll."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.utils.html import format_html_join
from django.utils.safestring import SafeString

VERSION = "X-Fragment-Version"


@dataclass(frozen=True, slots=True)
class Fragment:
    """A rendered part of a page, and a version that identifies what it shows."""

    version: str
    html: SafeString


def version_of(*values: Any) -> str:
    """Return a short hash of what a fragment shows. Values that JSON lacks are hashed by their str()."""
    text = json.dumps(values, default=str, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def live(request: HttpRequest, template: str, context: Mapping[str, Any], version: str) -> HttpResponse:
    """Answer with the fragment, or with 204 and without rendering if the page already has this version (`v=`)."""
    html = None if _has(request, version) else render_to_string(template, dict(context), request)
    return _answer(html, version)


def live_part(request: HttpRequest, part: Fragment) -> HttpResponse:
    """Answer like `live` for a part that is already rendered."""
    return _answer(None if _has(request, part.version) else part.html, part.version)


def live_parts(request: HttpRequest, parts: Mapping[str, Fragment]) -> HttpResponse:
    """Answer with the changed parts, by the ids of their elements, as htmx out-of-band swaps for a single request.

    `v=` has the versions that the page shows, in the form of `versions`. If all are current, the answer is 204.
    """
    shown = request.GET.get("v", "").split(".")
    if len(shown) != len(parts):
        shown = [""] * len(parts)
    changed = [(name, part.html) for (name, part), old in zip(parts.items(), shown, strict=True) if part.version != old]
    html = format_html_join("", '<div hx-swap-oob="innerHTML:#{}">{}</div>', changed) if changed else None
    return _answer(html, versions(parts))


def versions(parts: Mapping[str, Fragment]) -> str:
    """Return the versions of several parts as one string."""
    return ".".join(part.version for part in parts.values())


def _has(request: HttpRequest, version: str) -> bool:
    return bool(version) and request.GET.get("v") == version


def _answer(html: str | None, version: str) -> HttpResponse:
    response = HttpResponse(status=204) if html is None else HttpResponse(html)
    response[VERSION] = version
    return response
