"""`/ops/entities/` shows the people and things in memories and their relations, and lets staff curate names."""

from __future__ import annotations

import re
import uuid
from datetime import UTC, datetime

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _

from memory.enums import EntityKind
from memory.errors import MemosError
from memory.models import Entity, Namespace
from memory.services.entities import browse, curate
from memory.services.entities.browse import Rank
from memory.services.entities.listing import Cursor
from ops.access import find_chosen_namespace, page_access, permission_title, reads_text, scope_in, staff_access
from ops.chart_files import PARAMETER, chart_file
from ops.moments import read_moment
from ops.pages import entities as page
from ops.views.page import console_action, console_page

CHANGE = "memory.change_entity"
READ_TEXT = "ops.view_memory_text"
MAX_BEGINS_CHARS = 80
_COUNT = re.compile(r"[0-9]{1,18}")


@console_page
def entities(request: HttpRequest) -> HttpResponse:
    """List the entities of the chosen namespace, or else the namespaces that have some."""
    namespace = find_chosen_namespace(request)
    if namespace is None:
        return _namespaces(request)
    return _respond_list(request, namespace, begins="", cursor=request.GET.get("cursor", ""))


@console_action(permission=READ_TEXT)
def entities_search(request: HttpRequest) -> HttpResponse:
    """List the entities whose names begin as typed. Names are memory text, so POST keeps them out of logs."""
    namespace = find_chosen_namespace(request)
    if namespace is None:
        return redirect("ops:entities")
    begins = request.POST.get("begins", "").strip()[:MAX_BEGINS_CHARS].replace("\0", "")
    return _respond_list(request, namespace, begins=begins, cursor=request.POST.get("cursor", ""))


@console_page
def entity(request: HttpRequest, entity_id: uuid.UUID) -> HttpResponse:
    """Show an entity. A merged one redirects to the entity that it was merged into."""
    found = _get_entity(request, entity_id)
    if found.merged_into is not None:
        return redirect(page.entity_url(found.merged_into, found.namespace.name))
    shown = page.build_entity(
        scope_in(request, found.namespace),
        found,
        user=request.user,
        readable=reads_text(request),
        month=_month(request.GET.get("month", "")),
        cursor=_cursor(request.GET.get("cursor", "")),
    )
    if PARAMETER in request.GET:
        return chart_file(request, [shown.timeline])
    context = {
        "shown": shown,
        "readable": reads_text(request),
        "permission": permission_title(READ_TEXT),
        "may_change": request.user.has_perm(CHANGE) and reads_text(request),
    }
    return render(request, "ops/entity.html", context)


@console_action(permission=CHANGE)
def entity_candidates(request: HttpRequest, entity_id: uuid.UUID) -> HttpResponse:
    """Render the entities whose names begin as typed, for the merge form."""
    found = _get_entity(request, entity_id)
    begins = request.POST.get("begins", "").strip()[:MAX_BEGINS_CHARS].replace("\0", "")
    rows = []
    if begins and reads_text(request):
        rows = page.candidates(scope_in(request, found.namespace), entity=found, begins=begins)
    return render(request, "ops/entity/_candidates.html", {"candidates": rows, "begins": begins})


@console_action(permission=CHANGE)
def entity_merge(request: HttpRequest, entity_id: uuid.UUID) -> HttpResponse:
    """Merge this entity into another one, and go to that one's page."""
    found, target = _get_entity(request, entity_id), _uuid(request.POST.get("target", ""))
    if target is None:
        messages.error(request, _("Choose the entity that this one is merged into."))
        return redirect(page.entity_url(found.id, found.namespace.name))
    try:
        merged = curate.merge(
            scope_in(request, found.namespace),
            entity_id=target,
            source_id=found.id,
            reason=request.POST.get("reason", ""),
            now=timezone.now(),
        )
    except MemosError as error:
        messages.error(request, error.message)
        return redirect(page.entity_url(found.id, found.namespace.name))
    messages.success(request, _("Merged. Its names stand for this entity now; splitting them off takes it back."))
    return redirect(page.entity_url(merged.id, found.namespace.name))


@console_action(permission=CHANGE)
def entity_split(request: HttpRequest, entity_id: uuid.UUID) -> HttpResponse:
    """Split the selected names off the entity."""
    found = _get_entity(request, entity_id)
    names = [one for value in request.POST.getlist("alias") if (one := _uuid(value))]
    try:
        apart = curate.split(
            scope_in(request, found.namespace),
            entity_id=found.id,
            alias_ids=names,
            mention_ids=[],
            reason=request.POST.get("reason", ""),
            now=timezone.now(),
        )
    except MemosError as error:
        message = error.message if names else _("Mark the names that are to be split off.")
        messages.error(request, message)
        return redirect(page.entity_url(found.id, found.namespace.name))
    messages.success(request, _("Split off. This is the entity that the names stand for now."))
    return redirect(page.entity_url(apart.id, found.namespace.name))


def _namespaces(request: HttpRequest) -> HttpResponse:
    return render(request, "ops/entities.html", {"namespaces": page.namespaces(staff_access(request))})


def _respond_list(request: HttpRequest, namespace: Namespace, *, begins: str, cursor: str) -> HttpResponse:
    kind = request.GET.get("kind", "")
    kind = kind if kind in EntityKind.values else ""
    readable = reads_text(request)
    by_mentions = request.GET.get("order") == "mentions"
    at = _rank(cursor) if by_mentions else _uuid(cursor)
    found = page.listing(
        scope_in(request, namespace),
        kind=kind or None,
        begins=begins,
        by_mentions=by_mentions,
        cursor=at,
        readable=readable,
    )
    context = {
        "namespace": namespace,
        "listing": found,
        "kinds": page.KINDS.items(),
        "kind": kind,
        "begins": begins,
        "readable": readable,
        "permission": permission_title(READ_TEXT),
        "paged": at is not None,
        "by_mentions": by_mentions,
    }
    return render(request, "ops/entities.html", context)


def _get_entity(request: HttpRequest, entity_id: uuid.UUID) -> Entity:
    """Return an entity. Raises Http404 for one out of reach, as for one that does not exist."""
    found = browse.find_entity(page_access(request), entity_id=entity_id)
    if found is None:
        raise Http404("There is no such entity.")
    return found


def _uuid(text: str) -> uuid.UUID | None:
    try:
        return uuid.UUID(text)
    except ValueError:
        return None


def _rank(text: str) -> Rank | None:
    mentions, _underscore, identity = text.partition("_")
    last = _uuid(identity)
    return Rank(int(mentions), last) if last and _COUNT.fullmatch(mentions) else None


def _month(text: str) -> datetime | None:
    try:
        return datetime.strptime(text, "%Y-%m").replace(tzinfo=UTC)
    except ValueError:
        return None


def _cursor(text: str) -> Cursor | None:
    moment, _underscore, identity = text.partition("_")
    try:
        return Cursor(read_moment(moment), uuid.UUID(identity))
    except ValueError:
        return None
