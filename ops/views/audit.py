"""`/ops/audit/` shows the audit log and the API's newest requests."""

from __future__ import annotations

import re
import uuid
from typing import Any, cast

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, QueryDict, StreamingHttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from memory.enums import AuditEvent
from memory.errors import RedisAway
from memory.services.audit import trail
from memory.services.audit.trail import AuditFilter
from ops.access import mask_details, page_access, reads_text, request_id, staff_access
from ops.chart_files import PARAMETER, chart_file
from ops.pages import audit as page
from ops.pages.tabs import audit_tabs
from ops.views.live import live, version_of
from ops.views.page import console_action, console_page, is_fragment

FORMS = {
    "csv": ("text/csv; charset=utf-8", page.as_csv),
    "jsonl": ("application/x-ndjson; charset=utf-8", page.as_json_lines),
}

# An id in the stream of requests.
_PLACE = re.compile(r"[0-9]{1,15}(?:-[0-9]{1,15})?")


@console_page
def audit(request: HttpRequest) -> HttpResponse:
    """List the events."""
    access, now, wanted = page_access(request), timezone.now(), _read_filter(request.GET)
    if not access.all_namespaces and not access.namespace_ids:
        raise PermissionDenied
    rows, older = trail.page(access, wanted, before=_uuid(request.GET.get("cursor", "")), limit=page.PAGE)
    picture, count = page.over_time(access, wanted, request.GET, now=now)
    if PARAMETER in request.GET:
        return chart_file(request, [picture])
    by_request, first_page = request.GET.get("group") == "request", not request.GET.get("cursor")
    new_query = request.GET.copy()
    if rows:
        new_query["than"] = str(rows[0].pk)
    context = {
        "tabs": audit_tabs(request, "audit"),
        "groups": page.group_events(rows, request.GET, by_request=by_request, readable=reads_text(request)),
        "by_request": by_request,
        "picture": picture,
        "count": count,
        "capped": count >= trail.COUNTED_AT_MOST,
        "chain": page.chain(access, now=now),
        "filters": page.filters(request.GET),
        "wanted": wanted,
        "events": AuditEvent.values,
        "actors": trail.actors(access, wanted, limit=20),
        "window": page.window_of(request.GET),
        "windows": page.AUDIT_WINDOWS,
        "older": str(older) if older else "",
        "newer": "" if first_page else "first",
        "new_url": f"{reverse('ops:audit_new')}?{new_query.urlencode()}" if rows and first_page else "",
        "max_exported": trail.MAX_EXPORTED,
    }
    return render(request, "ops/audit.html", context)


@console_page
def audit_new(request: HttpRequest) -> HttpResponse:
    """Render the number of events since the page was opened, as a button that shows them."""
    than = _uuid(request.GET.get("than", ""))
    if than is None:
        raise Http404
    count = trail.newer(page_access(request), _read_filter(request.GET), than=than, at_most=page.NEW_AT_MOST)
    query = request.GET.copy()
    for name in ("than", "v", "cursor"):
        query.pop(name, None)
    context = {"new": count, "most": page.NEW_AT_MOST, "url": f"{reverse('ops:audit')}?{query.urlencode()}"}
    return live(request, "ops/audit/_new.html", context, version_of(count))


@console_page
def audit_event(request: HttpRequest) -> HttpResponse:
    """Show an event: as a fragment next to the list for htmx, or else as a page."""
    identity = _uuid(request.GET.get("id", ""))
    event = trail.find(staff_access(request), event_id=identity) if identity else None
    if event is None:
        raise Http404(_("There is no such event."))
    kept = event.details if reads_text(request) else mask_details(event.details)
    details = kept if isinstance(kept, dict) else {}
    context = {
        "event": event,
        "tone": page.tone_of(event.event_type),
        "compared": page.compare_fields(details),
        "details": page.plain_details(details),
        "pretty": page.pretty(kept),
    }
    return render(request, "ops/audit/_event.html" if is_fragment(request) else "ops/audit/event.html", context)


@console_page
def audit_requests(request: HttpRequest) -> HttpResponse:
    """List the newest requests to the API."""
    kept, route, before = request.GET.get("kept", ""), request.GET.get("route", "")[:100], request.GET.get("cursor", "")
    if before and not _PLACE.fullmatch(before):
        raise Http404(_("There is no such page."))
    context: dict[str, Any] = {"tabs": audit_tabs(request, "requests"), "kept": kept, "route": route, "away": False}
    try:
        rows, older = page.requests(page_access(request), kept=kept, route=route, before=before)
        context |= {"rows": rows, "older": older, "newer": "first" if before else ""}
    except RedisAway:
        context |= {"rows": [], "away": True}
    return render(request, "ops/audit/requests.html", context)


@console_action(permission="ops.export")
def audit_export(request: HttpRequest) -> HttpResponse:
    """Stream the events of the list as a file. The form sends the list's filters as `query`."""
    form = request.POST.get("form", "")
    if form not in FORMS:
        raise Http404
    request.GET = QueryDict(request.POST.get("query", "").replace("%00", ""))
    kind, lines = FORMS[form]
    now = timezone.now()
    events = trail.export_events(
        page_access(request), _read_filter(request.GET), form=form, now=now, request_id=request_id(request)
    )
    response = StreamingHttpResponse(lines(events, readable=reads_text(request)), content_type=kind)
    response["Content-Disposition"] = f'attachment; filename="audit-{now:%Y%m%d-%H%M%S}.{form}"'
    response["X-Content-Type-Options"] = "nosniff"
    return cast(HttpResponse, response)


def _read_filter(query: QueryDict) -> AuditFilter:
    try:
        return page.read_filter(query, now=timezone.now())
    except ValueError:
        raise Http404(_("A moment in the address is none.")) from None


def _uuid(text: str) -> uuid.UUID | None:
    try:
        return uuid.UUID(text) if text else None
    except ValueError:
        raise Http404(_("There is no such page.")) from None
