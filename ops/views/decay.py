"""`/ops/decay/` shows how strong memories are, which ones leave soon, and the effect of another policy."""

from __future__ import annotations

import uuid
from datetime import datetime, timedelta
from urllib.parse import urlencode

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from memory.enums import MemoryKind
from memory.errors import InvalidInput, MemosError
from memory.governance.policy import Policy
from memory.services.memories import edit, lifecycle
from memory.services.retention import exemptions, strength_counts
from memory.services.retention.due import DueCounts
from memory.services.tenancy.policy import governing
from memory.types import ChangeTerms, Scope
from ops.access import staff_access
from ops.chart_files import PARAMETER, chart_file
from ops.charts import LineChart
from ops.one_namespace import choices, find_chosen_scope, find_scope, scope_of
from ops.pages import decay as pages
from ops.views.page import back, console_action, console_page
from ops.what_if import FIELDS


@console_page
def decay(request: HttpRequest) -> HttpResponse:
    """Show the page, with the values to try from the address."""
    scope = scope_of(request)
    if scope is None:
        return render(request, "ops/decay.html", {"choices": choices(request)})
    if PARAMETER in request.GET:
        return chart_file(request, [_curve(request, scope)])
    if not strength_counts.takes_seconds(scope):
        now = timezone.now()
        counted = strength_counts.count(scope, _policy(scope), now=now)
        page = pages.decay(scope, counted, is_kept=False)
        rest = _rest(request, scope, now=now, counted=counted.due_soon)
        return render(request, "ops/decay.html", {"scope": scope, "page": page, **rest})
    # Computing each memory's strength takes seconds, so the page loads the figures later.
    kept = None if "again" in request.GET else strength_counts.read_kept(scope, _policy(scope))
    context = {"scope": scope, "query": _keep_query(request), "large": True}
    if kept is not None:
        context["page"] = pages.decay(scope, kept, is_kept=True)
    return render(request, "ops/decay.html", context)


@console_page
def decay_figures(request: HttpRequest) -> HttpResponse:
    """Render the figures that the page of a large namespace loads later, if no stored ones can be shown."""
    scope = find_chosen_scope(request)
    counted = strength_counts.count_and_keep(scope, _policy(scope), now=timezone.now())
    context = {"scope": scope, "page": pages.decay(scope, counted, is_kept=False)}
    return render(request, "ops/decay/_figures.html", context)


@console_page
def decay_rest(request: HttpRequest) -> HttpResponse:
    """Render other parts that the page of a large namespace loads later: effects of values, and what leaves soon."""
    scope = find_chosen_scope(request)
    return render(request, "ops/decay/_rest.html", {"scope": scope, **_rest(request, scope, now=timezone.now())})


@console_page
def what_if(request: HttpRequest) -> HttpResponse:
    """Render the effect of the tried values, and put them into the page's address, so that it can be shared."""
    scope = find_chosen_scope(request)
    response = render(
        request, "ops/decay/_what_if.html", {"scope": scope, **_try_values(request, scope, timezone.now())}
    )
    kept = {name: request.GET[name] for name in ("ns", *FIELDS, "kind") if request.GET.get(name)}
    response["HX-Replace-Url"] = f"{reverse('ops:decay')}?{urlencode(kept)}"
    return response


@console_action(permission="memory.change_memory")
def curate(request: HttpRequest) -> HttpResponse:
    """Pin, extend or archive memories that leave soon."""
    scope = find_scope(request, request.POST.get("namespace", ""))
    if scope is None:
        raise Http404("There is no such namespace.")
    try:
        ids = [uuid.UUID(one) for one in request.POST.getlist("memory")]
        count = _carry_out(request, scope, ids, now=timezone.now())
    except ValueError:
        messages.error(request, _("The selection is damaged: select the memories again."))
    except MemosError as error:
        messages.error(request, error.message)
    else:
        strength_counts.forget(scope)
        messages.success(request, _report_change(request.POST.get("verb", ""), count))
    return back(request, "ops:decay")


def _carry_out(request: HttpRequest, scope: Scope, ids: list[uuid.UUID], *, now: datetime) -> int:
    """Apply the action to the memories; return how many it changed."""
    if not ids:
        raise InvalidInput(_("Select at least one memory."))
    verb, reason, access = request.POST.get("verb", ""), request.POST.get("reason", ""), staff_access(request)
    if verb == "archive":
        return len(edit.archive(access, memory_ids=ids, reason=reason, now=now, request_id=scope.request_id))
    if verb == "pin":
        terms = ChangeTerms(request_id=scope.request_id)
        done = [lifecycle.pin(access, memory_id=one, pinned=True, reason=reason, now=now, terms=terms) for one in ids]
        return sum(bool(answer["changed"]) for answer in done)
    days = request.POST.get("days", "")
    if verb != "extend" or days not in {str(one) for one in pages.EXTENSIONS}:
        raise InvalidInput(_("Choose what to do with them."))
    return exemptions.exempt(scope, memory_ids=ids, reason=reason, expires_at=now + timedelta(days=int(days)), now=now)


def _report_change(verb: str, count: int) -> str:
    words = {
        "archive": ngettext("%(n)s memory was archived.", "%(n)s memories were archived.", count),
        "pin": ngettext("%(n)s memory was pinned.", "%(n)s memories were pinned.", count),
        "extend": ngettext("%(n)s memory was given more time.", "%(n)s memories were given more time.", count),
    }
    return words[verb] % {"n": count}


def _policy(scope: Scope) -> Policy:
    return governing(scope.namespace_id).effective.policy


def _keep_query(request: HttpRequest) -> str:
    """Return the query string without the request to count again."""
    return urlencode({name: value for name, value in request.GET.items() if name != "again"})


def _rest(request: HttpRequest, scope: Scope, *, now: datetime, counted: DueCounts | None = None) -> dict[str, object]:
    leaving = pages.leaving_soon(scope, now=now, counted=counted)
    return {
        "leaving": leaving,
        "here": f"{reverse('ops:decay')}?{_keep_query(request)}",
        **_try_values(request, scope, now),
    }


def _try_values(request: HttpRequest, scope: Scope, now: datetime) -> dict[str, object]:
    given = request.GET.dict()
    return {
        "what_if": pages.what_if(scope, given, now=now),
        "sliders": pages.sliders(scope, given),
        "curve": _curve(request, scope),
        "kinds": [(one.value, title) for one, title in pages.KINDS.items()],
        "kind": _kind(request).value,
    }


def _curve(request: HttpRequest, scope: Scope) -> LineChart:
    return pages.curve(scope, request.GET.dict(), kind=_kind(request))


def _kind(request: HttpRequest) -> MemoryKind:
    kind = request.GET.get("kind", "")
    return MemoryKind(kind) if kind in MemoryKind.values else MemoryKind.SAID
