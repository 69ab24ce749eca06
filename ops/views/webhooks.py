"""`/ops/webhooks/` shows webhooks and their deliveries, and sends events again."""

from __future__ import annotations

import uuid
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from memory.enums import DeliveryState
from memory.errors import MemosError, NotFound
from memory.models import Webhook
from memory.services.webhooks import endpoints, log
from ops.access import find_chosen_namespace, page_access, reads_text, request_id, scope_in, staff_access
from ops.pages import webhooks as page
from ops.views.page import console_action, console_page

CHANGE = "memory.change_webhook"
ROWS = 50
FORMER_HOURS = 24


@console_page
def webhooks(request: HttpRequest) -> HttpResponse:
    """List the webhooks of the chosen namespace, or of all. A chosen one has a form for another webhook."""
    return _list_webhooks(request, {})


@console_page
def webhook(request: HttpRequest, webhook_id: uuid.UUID) -> HttpResponse:
    """Show a webhook and its deliveries."""
    return _show_webhook(request, _find_webhook(request, webhook_id))


@console_action(permission=CHANGE)
def webhook_create(request: HttpRequest) -> HttpResponse:
    """Create a webhook and show its secret once."""
    namespace = find_chosen_namespace(request)
    if namespace is None:
        return redirect("ops:webhooks")
    typed = {"url": request.POST.get("url", ""), "description": request.POST.get("description", "")}
    types = request.POST.getlist("types")
    try:
        row, secret = endpoints.create_webhook(
            staff_access(request),
            scope_in(request, namespace),
            url=typed["url"],
            description=typed["description"],
            types=types,
            now=timezone.now(),
        )
    except MemosError as error:
        return _list_webhooks(request, {**typed, "types": types, "problem": error.message})
    return _show_webhook(request, _find_webhook(request, row.pk), secret=secret)


@console_action(permission=CHANGE)
def webhook_change(request: HttpRequest, webhook_id: uuid.UUID) -> HttpResponse:
    """Enable, disable, rotate, test, replay or delete a webhook, by the button that was pressed."""
    deeds = {
        "enable": _enable,
        "disable": _disable,
        "test": _test,
        "replay": _replay,
        "replay_failed": _replay_failed,
    }
    wanted = request.POST.get("do", "")
    _find_webhook(request, webhook_id)
    try:
        if wanted == "rotate":
            secret = endpoints.rotate_secret(
                staff_access(request),
                webhook_id=webhook_id,
                keep_hours=FORMER_HOURS,
                now=timezone.now(),
                request_id=request_id(request),
            )[1]
            return _show_webhook(request, _find_webhook(request, webhook_id), secret=secret)
        if wanted == "delete":
            endpoints.delete_webhook(
                staff_access(request), webhook_id=webhook_id, now=timezone.now(), request_id=request_id(request)
            )
            messages.success(request, _("The webhook was deleted."))
            return redirect("ops:webhooks")
        if wanted in deeds:
            messages.success(request, deeds[wanted](request, webhook_id))
    except MemosError as error:
        messages.error(request, error.message)
    return redirect("ops:webhook", webhook_id)


def _enable(request: HttpRequest, webhook_id: uuid.UUID) -> str:
    _set(request, webhook_id, enabled=True)
    return _("The webhook is enabled: it is told of what happens from now on.")


def _disable(request: HttpRequest, webhook_id: uuid.UUID) -> str:
    _set(request, webhook_id, enabled=False)
    return _("The webhook is disabled: nothing is sent to it.")


def _test(request: HttpRequest, webhook_id: uuid.UUID) -> str:
    log.send_test(staff_access(request), webhook_id=webhook_id, now=timezone.now())
    return _("A test event is on its way.")


def _replay(request: HttpRequest, webhook_id: uuid.UUID) -> str:
    try:
        delivery_id = uuid.UUID(request.POST.get("delivery", ""))
    except ValueError:
        raise NotFound(_("There is no such delivery.")) from None
    log.replay_delivery(staff_access(request), webhook_id=webhook_id, delivery_id=delivery_id, now=timezone.now())
    return _("The delivery is sent again.")


def _replay_failed(request: HttpRequest, webhook_id: uuid.UUID) -> str:
    count = log.replay_failed(staff_access(request), webhook_id=webhook_id, now=timezone.now())
    return ngettext("%(count)s delivery is sent again.", "%(count)s deliveries are sent again.", count) % {
        "count": f"{count:,}"
    }


def _set(request: HttpRequest, webhook_id: uuid.UUID, *, enabled: bool) -> None:
    endpoints.change_webhook(
        staff_access(request),
        webhook_id=webhook_id,
        wanted={"enabled": enabled},
        now=timezone.now(),
        request_id=request_id(request),
    )


def _list_webhooks(request: HttpRequest, form: dict[str, Any]) -> HttpResponse:
    may_change, now = request.user.has_perm(CHANGE), timezone.now()
    rows, following = endpoints.list_webhooks(page_access(request), namespace=None, cursor=_cursor(request), limit=ROWS)
    context = {
        "rows": [page.webhook_shown(row, may_change=may_change, now=now) for row in rows],
        "older": str(following or ""),
        "newer": "first" if request.GET.get("cursor") else "",
        "namespace": find_chosen_namespace(request),
        "may_change": may_change,
        "form": form,
        "types": page.type_choices(form.get("types", [])),
    }
    return render(request, "ops/webhooks.html", context)


def _show_webhook(request: HttpRequest, row: Webhook, *, secret: str = "") -> HttpResponse:
    may_change = request.user.has_perm(CHANGE)
    state = request.GET.get("state", "")
    wanted = DeliveryState(state) if state in DeliveryState.values else None
    found, following = log.list_deliveries(row, state=wanted, cursor=_cursor(request), limit=ROWS)
    context = {
        "webhook": page.webhook_shown(row, may_change=may_change, now=timezone.now()),
        "deliveries": [page.delivery_shown(one, may_read_text=reads_text(request)) for one in found],
        "states": page.STATES,
        "state": state,
        "older": str(following or ""),
        "newer": "first" if request.GET.get("cursor") else "",
        "may_change": may_change,
        "secret": secret,
        "former_hours": FORMER_HOURS,
    }
    return render(request, "ops/webhook.html", context)


def _find_webhook(request: HttpRequest, webhook_id: uuid.UUID) -> Webhook:
    try:
        return endpoints.find_webhook(page_access(request), webhook_id=webhook_id)
    except NotFound:
        raise Http404(_("There is no such webhook.")) from None


def _cursor(request: HttpRequest) -> uuid.UUID | None:
    try:
        return uuid.UUID(request.GET.get("cursor", ""))
    except ValueError:
        return None
