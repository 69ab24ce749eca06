"""`/ops/activation/` shows, builds and drops caches of prefixes."""

from __future__ import annotations

import uuid
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from memory.enums import ActivationEngine, CubeKind, PromptForm
from memory.errors import MemosError
from memory.models import ActivationCache, Namespace
from memory.services.activation import build, caches, figures
from memory.services.cubes import find
from memory.types import ListFilter
from ops.access import find_chosen_namespace, page_access, scope_in, staff_access
from ops.form_problems import place_problem
from ops.navigation import keep_query
from ops.pages import activation as page
from ops.pages.links import page_link
from ops.views.live import live, version_of
from ops.views.page import console_action, console_page, go_to

ADD = "memory.add_activationcache"
DELETE = "memory.delete_activationcache"
ROWS = 50


@console_page
def activation(request: HttpRequest) -> HttpResponse:
    """List the caches of the chosen namespace, or of all. A chosen one also has figures and a form to build one."""
    return _list_caches(request, {})


@console_page
def activation_live(request: HttpRequest) -> HttpResponse:
    """Render the list of caches, which the page polls."""
    context = _list_context(request)
    return live(request, "ops/activation/_list.html", context, context["version"])


@console_action(permission=ADD)
def activation_build(request: HttpRequest) -> HttpResponse:
    """Have the chosen namespace's prefix computed by the model that answers."""
    namespace = find_chosen_namespace(request)
    if namespace is None:
        raise Http404(_("Choose a namespace."))
    form = request.POST.get("form", "")
    lack = _find_lack(request, namespace)
    if lack:
        return _list_caches(request, {"form": form, **lack})
    try:
        build.request_build(
            scope_in(request, namespace),
            engine=ActivationEngine.LLAMACPP,
            form=PromptForm(form) if form in PromptForm.values else PromptForm.ANSWER,
            model="",
            now=timezone.now(),
        )
        messages.success(request, _("The cache is being built, and again whenever the prefix changes."))
    except MemosError as error:
        return _list_caches(request, {"form": form, "problems": place_problem(error)})
    return go_to(request, "ops:activation")


@console_action(permission=DELETE)
def activation_drop(request: HttpRequest, cache_id: uuid.UUID) -> HttpResponse:
    """Delete a cache with its file."""
    row = ActivationCache.objects.reachable_by(staff_access(request)).filter(pk=cache_id).first()
    namespace = Namespace.objects.filter(pk=row.namespace_id).first() if row else None
    if namespace is None:
        raise Http404(_("There is no such cache."))
    try:
        caches.drop_cache(scope_in(request, namespace), cache_id=cache_id, now=timezone.now())
        messages.success(request, _("The cache is dropped. It is not built again by itself."))
    except MemosError as error:
        messages.error(request, error.message)
    return go_to(request, "ops:activation")


def _find_lack(request: HttpRequest, namespace: Namespace) -> dict[str, Any]:
    """Return what the namespace lacks for having a cache, and a link to the page that fixes it; empty if nothing."""
    cube = find.cubes_of([scope_in(request, namespace)]).get(namespace.pk)
    if cube is None:
        words = _("A cache belongs to a cube, and %(namespace)s is not one yet.") % {"namespace": namespace.name}
        return {"problems": {"": words}, "link": page_link("ops:cubes", ns=namespace.name), "title": _("Register it")}
    if CubeKind.ACTIVATION not in cube.kinds:
        words = _("The cube of %(namespace)s does not hold activation caches.") % {"namespace": namespace.name}
        link = reverse("ops:cube", args=[cube.pk]) + keep_query(request)
        return {"problems": {"": words}, "link": f"{link}#change", "title": _("Switch them on")}
    return {}


def _list_caches(request: HttpRequest, form: dict[str, Any]) -> HttpResponse:
    chosen, context = find_chosen_namespace(request), _list_context(request)
    worth = figures.read_figures(scope_in(request, chosen), now=timezone.now()) if chosen else None
    context |= {
        "figures": page.list_figures(worth) if worth else (),
        "namespace": chosen,
        "may_build": request.user.has_perm(ADD),
        "is_live": not request.GET.get("cursor") and any(one.is_building for one in context["rows"]),
        "forms": page.FORMS,
        "form": form,
    }
    return render(request, "ops/activation.html", context)


def _list_context(request: HttpRequest) -> dict[str, Any]:
    chosen = find_chosen_namespace(request)
    wanted = ListFilter(chosen.name if chosen else None, None, ROWS)
    rows, following = caches.list_caches(page_access(request), wanted=wanted, cursor=_cursor(request))
    names = dict(Namespace.objects.filter(pk__in={row.namespace_id for row in rows}).values_list("pk", "name"))
    shown = [page.activation_shown(row, namespace=names.get(row.namespace_id, "")) for row in rows]
    return {
        "rows": shown,
        "version": version_of([[one.id, one.word, one.bytes, one.uses] for one in shown]),
        "older": str(following or ""),
        "newer": "first" if request.GET.get("cursor") else "",
        "may_drop": request.user.has_perm(DELETE),
    }


def _cursor(request: HttpRequest) -> uuid.UUID | None:
    try:
        return uuid.UUID(request.GET.get("cursor", ""))
    except ValueError:
        return None
