"""`/ops/map/` shows a namespace's memories by meaning, with actions on a selection."""

from __future__ import annotations

import uuid

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from memory.errors import MemosError
from memory.models import Memory
from memory.services.memories import edit
from memory.services.memories.view_log import note_viewed
from memory.services.projection import fit, read
from memory.types import Scope
from ops import picked
from ops.access import page_access, reads_text, request_id, staff_access
from ops.navigation import keep_query
from ops.one_namespace import choices, find_chosen_scope, find_scope, scope_of
from ops.pages import map as pages
from ops.views.live import live, version_of
from ops.views.page import back, console_action, console_page


@console_page
def memory_map(request: HttpRequest) -> HttpResponse:
    """Show the page, without its points."""
    scope = scope_of(request)
    if scope is None:
        return render(request, "ops/map.html", {"choices": choices(request)})
    found = pages.build_map(scope, readable=reads_text(request))
    metadata = pages.metadata(found, read.sessions(scope)) if found.chart else {}
    context = {"scope": scope, "map": found, "metadata": metadata, **_making(request, found)}
    return render(request, "ops/map.html", context)


@console_page
def points(request: HttpRequest) -> HttpResponse:
    """Return the points as encoded by `ops.pages.map.binary`. They contain no text."""
    return HttpResponse(pages.binary(read.points(find_chosen_scope(request))), content_type="application/octet-stream")


@console_page
def making(request: HttpRequest) -> HttpResponse:
    """Render the progress of drawing; the page reloads when it has ended."""
    found = pages.build_map(find_chosen_scope(request), readable=False)
    context = _making(request, found)
    response = live(request, "ops/map/_making.html", {"map": found, **context}, str(context["making_version"]))
    if found.job is None:
        response["HX-Refresh"] = "true"
    return response


@console_page
def memory(request: HttpRequest, memory_id: uuid.UUID) -> HttpResponse:
    """Render a memory with its nearest neighbours."""
    rows = Memory.objects.reachable_by(page_access(request)).select_related("namespace")
    row = get_object_or_404(rows, pk=memory_id)
    if reads_text(request):
        note_viewed(
            staff_access(request), what="memory", namespace_id=row.namespace_id, subject=row.pk, session=row.session,
            now=timezone.now(), request_id=request_id(request),
        )  # fmt: skip
    looked = pages.look_at(staff_access(request), row, now=timezone.now())
    return render(request, "ops/map/_memory.html", {"looked": looked})


@console_action(permission="ops.view_memory_text")
def find(request: HttpRequest) -> HttpResponse:
    """Return the ids of points whose memories have all of the words. POST keeps the words out of addresses and logs."""
    found = read.saying(_get_scope(request), words=request.POST.get("words", "")[:500])
    return JsonResponse({"ids": [one.hex for one in found]})


@console_action(permission="memory.view_memory")
def select(request: HttpRequest) -> HttpResponse:
    """Open the admin's list of the selection."""
    ids = _ids(request)
    if not ids:
        messages.warning(request, _("Nothing was selected."))
        return back(request, "ops:map")
    return HttpResponseRedirect(picked.link_of_ids(request.session, ids))


@console_action(permission="memory.change_memory")
def archive(request: HttpRequest) -> HttpResponse:
    """Archive the selection."""
    access = staff_access(request)
    try:
        archived = edit.archive(
            access, memory_ids=_ids(request), reason=request.POST.get("reason", ""), now=timezone.now(),
            request_id=request_id(request),
        )  # fmt: skip
    except MemosError as error:
        messages.error(request, error.message)
    else:
        count = len(archived)
        messages.success(
            request, ngettext("%(n)s memory was archived.", "%(n)s memories were archived.", count) % {"n": count}
        )
    return back(request, "ops:map")


@console_action(permission="ops.operate_jobs")
def draw(request: HttpRequest) -> HttpResponse:
    """Have the worker draw or update the map."""
    fit.ask(_get_scope(request), anew="anew" in request.POST)
    return back(request, "ops:map")


def _making(request: HttpRequest, found: pages.Map) -> dict[str, object]:
    job = found.job
    version = version_of(None if job is None else (job.state, job.done, job.total))
    return {"making_version": version, "making_url": reverse("ops:map_making") + keep_query(request)}


def _ids(request: HttpRequest) -> list[uuid.UUID]:
    try:
        return pages.ids_of(request.POST.get("ids", ""))
    except ValueError as error:
        raise Http404("The selection is damaged.") from error


def _get_scope(request: HttpRequest) -> Scope:
    scope = find_scope(request, request.POST.get("namespace", ""))
    if scope is None:
        raise Http404("There is no such namespace.")
    return scope
