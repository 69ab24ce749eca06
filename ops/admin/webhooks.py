"""Webhooks and their deliveries, read-only. The console and the API create and change them, and send again."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from memory.enums import TEST_EVENT, EventType
from memory.models import Webhook, WebhookDelivery
from ops.access import reads_text
from ops.admin.filters import IdFilter, NamespaceFilter
from ops.admin.lists import ReadOnlyAdmin
from ops.admin.rendering import memory_link, pretty_json
from ops.admin.scope import render_mask
from ops.pages.webhooks import mask_address, standing

CHANGE = "memory.change_webhook"
SHOWN_OF_ID = 12


@admin.register(Webhook)
class WebhookAdmin(ReadOnlyAdmin):
    """Addresses to which events are sent. Secrets are never shown, full addresses to users who may change them."""

    list_display = ("address", "namespace", "state", "told_of", "failures", "created_by", "created_at")
    list_filter = (NamespaceFilter, "enabled", "created_at")
    list_select_related = ("namespace",)
    fields = (
        *("namespace", "address", "description", "told_of", "includes_text", "reader", "state", "disabled_why"),
        *("failures", "failing_since", "paused_until", "former_until", "created_by", "created_at", "updated_at"),
        *("deliveries", "id"),
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet:
        return super().get_queryset(request).defer("secret", "former_secret")

    def get_list_display(self, request: HttpRequest) -> list[Any]:
        return _choose_address(request, self.list_display)

    def get_fields(self, request: HttpRequest, obj: Webhook | None = None) -> Any:
        return _choose_address(request, self.fields)

    @admin.display(description=gettext_lazy("address"))
    def address(self, webhook: Webhook) -> str:
        return webhook.url

    @admin.display(description=gettext_lazy("address"))
    def host(self, webhook: Webhook) -> str:
        return mask_address(webhook)

    @admin.display(description=gettext_lazy("state"))
    def state(self, webhook: Webhook) -> str:
        return str(standing(webhook)[1])

    @admin.display(description=gettext_lazy("told of"))
    def told_of(self, webhook: Webhook) -> str:
        return ", ".join(webhook.types) or _("everything")

    @admin.display(description=gettext_lazy("deliveries"))
    def deliveries(self, webhook: Webhook) -> SafeString:
        address = reverse("admin:memory_webhookdelivery_changelist")
        return format_html('<a href="{}?webhook_id={}">{}</a>', address, webhook.pk, _("What it was told"))


class EventTypeFilter(admin.SimpleListFilter):
    """Filters deliveries by the type of event."""

    title = gettext_lazy("type")
    parameter_name = "type"

    def lookups(self, request: HttpRequest, model_admin: admin.ModelAdmin) -> list[tuple[str, str]]:
        return [(name, name) for name in (*EventType.values, TEST_EVENT)]

    def queryset(self, request: HttpRequest, queryset: QuerySet) -> QuerySet:
        return queryset.filter(type=self.value()) if self.value() else queryset


class WebhookFilter(IdFilter):
    """Filters deliveries by webhook."""

    title = gettext_lazy("webhook")
    parameter_name = "webhook_id"
    placeholder = gettext_lazy("webhook id")


class EventIdFilter(IdFilter):
    """Filters deliveries by event."""

    title = gettext_lazy("event")
    parameter_name = "event_id"
    placeholder = gettext_lazy("event id")


@admin.register(WebhookDelivery)
class WebhookDeliveryAdmin(ReadOnlyAdmin):
    """Deliveries of events to webhooks, each with its attempts."""

    list_display = ("created_at", "type", "webhook", "state", "attempts", "last_attempt", "next_at")
    list_filter = ("state", NamespaceFilter, EventTypeFilter, WebhookFilter, EventIdFilter, "created_at")
    fields = (
        *("type", "state", "namespace_id", "webhook", "event_id", "memories", "attempts", "shown_tries", "answer"),
        *("next_at", "created_at", "finished_at", "id"),
    )

    def get_fields(self, request: HttpRequest, obj: WebhookDelivery | None = None) -> Any:
        """Mask a receiver's answer, which may repeat what it was sent."""
        return ["masked_answer" if name == "answer" and not reads_text(request) else str(name) for name in self.fields]

    @admin.display(description=gettext_lazy("webhook"))
    def webhook(self, delivery: WebhookDelivery) -> SafeString:
        address = reverse("admin:memory_webhook_change", args=[delivery.webhook_id])
        return format_html('<a href="{}">…{}</a>', address, str(delivery.webhook_id)[-SHOWN_OF_ID:])

    @admin.display(description=gettext_lazy("last attempt"))
    def last_attempt(self, delivery: WebhookDelivery) -> str:
        if not delivery.tries:
            return "—"
        last = delivery.tries[-1]
        return str(last["error"] or last["status"])

    @admin.display(description=gettext_lazy("memories"))
    def memories(self, delivery: WebhookDelivery) -> SafeString | str:
        ids = map(str, delivery.memory_ids)
        links = format_html_join(", ", "{}", ((memory_link(one, f"…{one[-SHOWN_OF_ID:]}"),) for one in ids))
        return links or "—"

    @admin.display(description=gettext_lazy("attempts, the newest last"))
    def shown_tries(self, delivery: WebhookDelivery) -> SafeString:
        return pretty_json(delivery.tries)

    @admin.display(description=gettext_lazy("answer"))
    def masked_answer(self, delivery: WebhookDelivery) -> str:
        return render_mask(len(delivery.answer))


def _choose_address(request: HttpRequest, names: Any) -> list[str]:
    """Replace the full address by its host for users who may not change it, as the console's page does."""
    whole = request.user.has_perm(CHANGE)
    return ["host" if name == "address" and not whole else str(name) for name in names]
