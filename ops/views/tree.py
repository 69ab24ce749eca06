"""`/ops/tree/`: the sessions of a namespace and their topics."""

from __future__ import annotations

import uuid

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone

from memory.services.projection import tree as topics
from ops.access import permission_title, reads_text
from ops.one_namespace import choices, scope_of
from ops.pages import tree as page
from ops.views.page import console_page

READ_TEXT = "ops.view_memory_text"
SESSIONS = 20


@console_page
def tree(request: HttpRequest) -> HttpResponse:
    """Show the sessions of the chosen namespace with their topics."""
    scope = scope_of(request)
    if scope is None:
        return render(request, "ops/tree.html", {"choices": choices(request)})
    found = topics.list_sessions(scope, cursor=_read_cursor(request), limit=SESSIONS, now=timezone.now())
    readable = reads_text(request)
    context = {
        "scope": scope,
        "found": found,
        "rows": [page.session_row(scope, one, readable=readable) for one in found.sessions],
        "older": str(found.following or ""),
        "newer": "first" if request.GET.get("cursor") else "",
        "readable": readable,
        "permission": permission_title(READ_TEXT),
    }
    return render(request, "ops/tree.html", context)


def _read_cursor(request: HttpRequest) -> uuid.UUID | None:
    try:
        return uuid.UUID(request.GET.get("cursor", ""))
    except ValueError:
        return None
