"""Answers to pages that ask again and again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

VERSION = "X-Fragment-Version"


def version_of(*values: Any) -> str:
    """A short name for what a fragment shows: equal values, equal name. Values that JSON lacks count by their text."""
    text = json.dumps(values, default=str, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def live(request: HttpRequest, template: str, context: Mapping[str, Any], version: str) -> HttpResponse:
    """The fragment, or 204 when the page has this version already (`v=`): then nothing is rendered or exchanged."""
    if version and request.GET.get("v") == version:
        response = HttpResponse(status=204)
    else:
        response = render(request, template, dict(context))
    response[VERSION] = version
    return response
