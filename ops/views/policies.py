"""`/ops/policies/` shows a namespace's policy with the origin of each value, and previews and saves changes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.http import urlencode
from django.utils.translation import gettext as _

from memory.errors import InvalidInput, MemosError, NotFound, PreconditionFailed
from memory.governance.policy import nest
from memory.models import Namespace
from memory.services.retention import policy_history
from memory.services.retention.policy_preview import preview
from memory.services.tenancy import policy
from memory.text.translatable import translate
from ops import what_if
from ops.access import find_chosen_namespace, permission_title, reads_text, scope_in, staff_access
from ops.pages import policies as page
from ops.views.live import version_of
from ops.views.page import console_action, console_page

CHANGE = "memory.change_namespacepolicy"
NAMESPACES = 200


@dataclass(frozen=True, slots=True)
class _Draft:
    """An unsaved form: its texts, their problems, and what saving would do."""

    texts: Mapping[str, str]
    version: int
    problems: Mapping[str, str] = field(default_factory=dict)
    reason: str = ""
    reason_problem: str = ""
    notice: str = ""
    preview: page.Preview | None = None
    digest: str = ""


@console_page
def policies(request: HttpRequest) -> HttpResponse:
    """Show the chosen namespace's policy, or else the namespaces.

    Values to try from the address (`ops.what_if`) are put into the form, with their effect; nothing is saved.
    """
    namespace = find_chosen_namespace(request)
    if namespace is None:
        standings = policy_history.standings(staff_access(request), limit=NAMESPACES)
        return render(request, "ops/policies.html", {"standings": standings})
    governing = policy.governing(namespace.pk)
    tried = what_if.read_changes(governing, request.GET.dict()) if request.user.has_perm(CHANGE) else {}
    wanted = {**governing.overrides, **tried}
    draft = _Draft(page.format_overrides(wanted), governing.version)
    return _respond_preview(request, namespace, draft, wanted) if tried else _respond_form(request, namespace, draft)


@console_action(permission=CHANGE)
def policy_change(request: HttpRequest) -> HttpResponse:
    """Preview the typed policy, or save it if exactly this policy has been previewed."""
    namespace = find_chosen_namespace(request)
    if namespace is None:
        return redirect("ops:policies")
    draft = _draft(request)
    wanted = page.read_overrides(request.POST)
    if request.POST.get("do") == "save" and request.POST.get("digest") == (_digest(wanted) or None):
        try:
            after = policy.put_policy(
                scope_in(request, namespace),
                wanted=nest(wanted),
                reason=draft.reason,
                expected=draft.version,
                now=timezone.now(),
            )
        except (InvalidInput, PreconditionFailed) as error:
            return _respond_refusal(request, namespace, draft, error)
        messages.success(request, _("Saved: version %(number)s is in force.") % {"number": after.version})
        return redirect(_url(namespace))
    return _respond_preview(request, namespace, draft, wanted)


@console_action(permission=CHANGE)
def policy_put_back(request: HttpRequest) -> HttpResponse:
    """Fill the form with a former version and preview it."""
    namespace = find_chosen_namespace(request)
    number = request.POST.get("number", "")
    if namespace is None or not number.isdecimal() or len(number) > 9:
        return redirect("ops:policies")
    try:
        former = policy.version_of(scope_in(request, namespace), version=int(number))
    except NotFound as error:
        messages.error(request, error.message)
        return redirect(_url(namespace))
    reason = _("Version %(number)s put back") % {"number": number}
    draft = _Draft(page.format_overrides(former.overrides), policy.governing(namespace.pk).version, reason=reason)
    return _respond_preview(request, namespace, draft, dict(former.overrides))


def _digest(wanted: dict[str, Any]) -> str:
    """Return a hash of these overrides, however they are written, or "" if they are invalid."""
    try:
        return version_of(policy.check_overrides(nest(wanted)))
    except InvalidInput:
        return ""


def _draft(request: HttpRequest) -> _Draft:
    texts = {
        name.removeprefix(page.FIELD): str(value) for name, value in request.POST.items() if name.startswith(page.FIELD)
    }
    version = request.POST.get("version", "")
    number = int(version) if version.isdecimal() and len(version) < 10 else 0
    return _Draft(texts, number, reason=request.POST.get("reason", ""))


def _respond_preview(request: HttpRequest, namespace: Namespace, draft: _Draft, wanted: dict[str, Any]) -> HttpResponse:
    scope = scope_in(request, namespace)
    try:
        found = preview(scope, wanted=nest(wanted), now=timezone.now())
    except InvalidInput as error:
        return _respond_refusal(request, namespace, draft, error)
    shown = page.build_preview(scope, found, policy.governing(namespace.pk), user=request.user)
    notice = ""
    if request.POST.get("do") == "save":
        notice = _("Values were changed after the preview. This is what saving them would do.")
    draft = _Draft(
        draft.texts, draft.version, reason=draft.reason, notice=notice, preview=shown, digest=_digest(wanted)
    )
    return _respond_form(request, namespace, draft)


def _respond_refusal(request: HttpRequest, namespace: Namespace, draft: _Draft, error: MemosError) -> HttpResponse:
    """Show the form again as it was typed, with its problems. Nothing was saved."""
    if isinstance(error, PreconditionFailed):
        now = policy.governing(namespace.pk)
        notice = _(
            "%(actor)s saved version %(number)s while you were at it. Nothing of yours is saved: look at the history "
            "below, then preview again to save on top of it."
        ) % {"actor": now.updated_by, "number": now.version}
        refused = _Draft(draft.texts, now.version, reason=draft.reason, notice=notice)
    else:
        problems, reason = page.problems_of(error) if isinstance(error, InvalidInput) else ({}, "")
        notice = page.refusal(error) if isinstance(error, InvalidInput) else error.message
        refused = _Draft(draft.texts, draft.version, problems, draft.reason, reason, notice)
    response = _respond_form(request, namespace, refused)
    response.status_code = error.status
    return response


def _respond_form(request: HttpRequest, namespace: Namespace, draft: _Draft) -> HttpResponse:
    scope, now = scope_in(request, namespace), timezone.now()
    governing = policy.governing(namespace.pk)
    sweep = policy_history.last_sweep(scope, now=now)
    context = {
        "namespace": namespace,
        "governing": governing,
        "at_odds": [(key, translate(problem)) for key, problem in governing.problems.items()],
        "groups": page.groups(governing, policy.propose({}).values, draft.texts, draft.problems),
        "draft": draft,
        "history": page.history(policy_history.versions(scope), current=governing.version),
        "sweep": sweep,
        "sweep_words": page.sweep_words(sweep),
        "may_change": request.user.has_perm(CHANGE),
        "readable": reads_text(request),
        "permission": permission_title("ops.view_memory_text"),
    }
    return render(request, "ops/policies.html", context)


def _url(namespace: Namespace) -> str:
    return f"{reverse('ops:policies')}?{urlencode({'ns': namespace.name})}"
