"""`/ops/condensations/` shows summaries, version by version."""

from __future__ import annotations

import uuid
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _

from memory.services.sessions import listing
from memory.types import Scope
from ops.access import find_chosen_namespace, page_access, reads_text, request_id, staff_actor
from ops.pages import condensations as page
from ops.pages.tabs import pipeline_tabs
from ops.views.page import console_page


@console_page
def condensations(request: HttpRequest) -> HttpResponse:
    """List all versions, newest first, or the versions of the given session."""
    namespace, session = find_chosen_namespace(request), request.GET.get("session", "")
    context: dict[str, Any] = {
        "tabs": pipeline_tabs(request, "condensations"),
        "session": session,
        "namespace": namespace,
    }
    if namespace is None or not session:
        rows, older = page.newest(page_access(request), session=session, cursor=_cursor(request))
        newer = "first" if request.GET.get("cursor") else ""
        return render(
            request, "ops/condensations.html", {**context, "rows": rows, "older": older or "", "newer": newer}
        )
    versions = page.chain(namespace, session, request.user)
    if versions and reads_text(request):
        scope = Scope(namespace.pk, namespace.name, staff_actor(request), request_id(request))
        listing.note_viewed(scope, session=session, what="summaries", now=timezone.now())
    context |= {"versions": versions, "reads_text": reads_text(request)}
    return render(request, "ops/condensations/chain.html", context)


def _cursor(request: HttpRequest) -> uuid.UUID | None:
    try:
        return uuid.UUID(request.GET["cursor"]) if request.GET.get("cursor") else None
    except ValueError:
        raise Http404(_("There is no such page.")) from None
