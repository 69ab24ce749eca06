"""`/ops/adapters/` shows data sets and adapters, creates them, and activates and retires adapters."""

from __future__ import annotations

import uuid
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _

from memory.errors import MemosError, NotFound
from memory.models import Cube
from memory.services.training import adapters as registry
from memory.services.training import datasets, serving
from memory.services.training.consent import find_obstacle, has_consent
from memory.types import ListFilter
from ops.access import find_chosen_namespace, page_access, scope_in, staff_access
from ops.form_problems import place_problem
from ops.pages import adapters as page
from ops.views.live import live, version_of
from ops.views.page import console_action, console_page, go_to

CHANGE = "memory.change_adapter"
ROWS = 50
SHOWN_DATASETS = 20


@console_page
def adapters(request: HttpRequest) -> HttpResponse:
    """List the adapters and newest data sets of the chosen namespace, or of all. A chosen one can get new ones."""
    return _list_adapters(request, {})


@console_page
def adapters_live(request: HttpRequest) -> HttpResponse:
    """Render the list, which the page polls."""
    context = _list_context(request)
    return live(request, "ops/adapters/_list.html", context, context["version"])


@console_page
def adapter_one(request: HttpRequest, adapter_id: uuid.UUID) -> HttpResponse:
    """Show an adapter: its evaluation, its servers, and its files."""
    try:
        row = registry.find_adapter(page_access(request), adapter_id=adapter_id)
    except NotFound:
        raise Http404(_("There is no such adapter.")) from None
    may_change = request.user.has_perm(CHANGE)
    shown = page.adapter_shown(registry.describe_adapters([row])[0], may_change=may_change)
    return render(request, "ops/adapter.html", {"one": shown, "may_change": may_change})


@console_action(permission=CHANGE)
def adapter_export(request: HttpRequest) -> HttpResponse:
    """Request a data set from the chosen namespace's memories."""
    namespace = find_chosen_namespace(request)
    if namespace is None:
        return go_to(request, "ops:adapters")
    try:
        datasets.start_export(scope_in(request, namespace), datasets.TrainingOptions(), now=timezone.now())
    except MemosError as error:
        return _list_adapters(request, {"problems": place_problem(error)})
    messages.success(request, _("The data set is being made."))
    return go_to(request, "ops:adapters")


@console_action(permission=CHANGE)
def adapter_train(request: HttpRequest) -> HttpResponse:
    """Request an adapter trained on a data set."""
    namespace = find_chosen_namespace(request)
    dataset_id = _read_id(request.POST.get("dataset", ""))
    if namespace is None or dataset_id is None:
        raise Http404(_("There is no such data set."))
    name = request.POST.get("name", "").strip()
    try:
        registry.start_training(
            scope_in(request, namespace),
            name=name,
            dataset_id=dataset_id,
            options=registry.AdapterOptions(),
            now=timezone.now(),
        )
    except MemosError as error:
        problems = place_problem(error, name="name")
        return _list_adapters(request, {"problems": problems, "name": name, "dataset": str(dataset_id)})
    messages.success(request, _("The adapter is being trained."))
    return go_to(request, "ops:adapters")


@console_action(permission=CHANGE)
def adapter_drop(request: HttpRequest, dataset_id: uuid.UUID) -> HttpResponse:
    """Delete the files of a data set."""
    try:
        datasets.drop_dataset(staff_access(request), dataset_id=dataset_id, now=timezone.now())
    except NotFound:
        raise Http404(_("There is no such data set.")) from None
    messages.success(request, _("The files of the data set are deleted."))
    return go_to(request, "ops:adapters")


@console_action(permission=CHANGE)
def adapter_operate(request: HttpRequest, adapter_id: uuid.UUID) -> HttpResponse:
    """Activate an adapter, retire it, or retire it and delete its files, by the button that was pressed."""
    verb, access, now = request.POST.get("verb", ""), staff_access(request), timezone.now()
    try:
        if verb == "activate":
            serving.activate(access, adapter_id=adapter_id, now=now)
            messages.success(request, _("The adapter is active."))
        elif verb in ("retire", "delete"):
            serving.retire(access, adapter_id=adapter_id, delete_files=verb == "delete", now=now)
            done = _("The adapter is out of use, and its files are deleted.") if verb == "delete" else ""
            messages.success(request, done or _("The adapter is out of use. It can be activated again."))
    except NotFound:
        raise Http404(_("There is no such adapter.")) from None
    except MemosError as error:
        messages.error(request, error.message)
    return go_to(request, "ops:adapter", adapter_id)


def _list_adapters(request: HttpRequest, form: dict[str, Any]) -> HttpResponse:
    context = _list_context(request)
    is_live = any(one.is_training for one in context["rows"]) or any(one.is_open for one in context["datasets"])
    context |= {"is_live": is_live and not request.GET.get("cursor") and not form, "form": form}
    return render(request, "ops/adapters.html", context)


def _list_context(request: HttpRequest) -> dict[str, Any]:
    chosen, access = find_chosen_namespace(request), page_access(request)
    name = chosen.name if chosen else None
    found, following = registry.list_adapters(
        access, wanted=ListFilter(name, None, ROWS), cursor=_read_id(request.GET.get("cursor", ""))
    )
    made, _more = datasets.list_datasets(access, wanted=ListFilter(name, None, SHOWN_DATASETS), cursor=None)
    may_change = request.user.has_perm(CHANGE)
    rows = [page.adapter_shown(one, may_change=may_change) for one in found]
    sets = [page.dataset_shown(one) for one in made]
    return {
        "rows": rows,
        "datasets": sets,
        "version": version_of([[one.id, one.word] for one in rows], [[one.id, one.word] for one in sets]),
        "older": str(following or ""),
        "newer": "first" if request.GET.get("cursor") else "",
        "namespace": chosen,
        "consents": chosen is not None and has_consent(chosen.pk),
        "may_train": chosen is not None and not find_obstacle(chosen.pk),
        "cube": Cube.objects.filter(namespace_id=chosen.pk).first() if chosen else None,
        "may_change": may_change,
    }


def _read_id(value: str) -> uuid.UUID | None:
    try:
        return uuid.UUID(value)
    except ValueError:
        return None
