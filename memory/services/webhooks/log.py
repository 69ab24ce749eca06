"""Keeps the log of a webhook's deliveries: lists, repeats and tests them, and deletes old ones."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction

from memory.enums import TEST_EVENT, DeliveryState
from memory.errors import Conflict, NotFound
from memory.models import Webhook, WebhookDelivery
from memory.models.keys import first_id_of, new_id
from memory.models.paging import page_of
from memory.services.webhooks.endpoints import find_webhook
from memory.types import Access

# The number of days for which deliveries are listed and can be replayed.
LOG_DAYS = 30
_BATCH = 5_000


@dataclass(frozen=True, slots=True)
class WebhookCounts:
    """The numbers of failing webhooks, of webhooks disabled after failures, and of waiting deliveries."""

    failing: int
    disabled: int
    waiting: int


def list_deliveries(
    webhook: Webhook, *, state: DeliveryState | None, cursor: uuid.UUID | None, limit: int
) -> tuple[list[WebhookDelivery], uuid.UUID | None]:
    """Return the newest deliveries of a webhook, and the cursor of the next page."""
    rows = WebhookDelivery.objects.filter(namespace_id=webhook.namespace_id, webhook_id=webhook.pk)
    if state is not None:
        rows = rows.filter(state=state)
    if cursor is not None:
        rows = rows.filter(pk__lte=cursor)
    page, following = page_of(rows.order_by("-pk"), limit)
    return page, following.pk if following else None


def replay_delivery(access: Access, *, webhook_id: uuid.UUID, delivery_id: uuid.UUID, now: datetime) -> WebhookDelivery:
    """Have a delivery sent once more, under its id, with all its attempts. Raises NotFound and Conflict."""
    webhook = find_webhook(access, webhook_id=webhook_id)
    _refuse_disabled(webhook)
    with transaction.atomic():
        rows = WebhookDelivery.objects.filter(namespace_id=webhook.namespace_id, webhook_id=webhook.pk)
        row = rows.select_for_update().filter(pk=delivery_id).first()
        if row is None:
            raise NotFound(f"The webhook has no delivery {delivery_id}.", detail={"field": "delivery_id"})
        row.state, row.attempts, row.next_at, row.finished_at = DeliveryState.WAITING, 0, now, None
        row.save(update_fields=["state", "attempts", "next_at", "finished_at"])
    return row


def replay_failed(access: Access, *, webhook_id: uuid.UUID, now: datetime) -> int:
    """Have all deliveries that failed for good sent once more; return how many. Raises NotFound and Conflict."""
    webhook = find_webhook(access, webhook_id=webhook_id)
    _refuse_disabled(webhook)
    rows = WebhookDelivery.objects.filter(namespace_id=webhook.namespace_id, webhook_id=webhook.pk)
    return int(
        rows.filter(state=DeliveryState.FAILED).update(
            state=DeliveryState.WAITING, attempts=0, next_at=now, finished_at=None
        )
    )


def send_test(access: Access, *, webhook_id: uuid.UUID, now: datetime) -> WebhookDelivery:
    """Have a test event sent, as other events are. Raises NotFound and Conflict."""
    webhook = find_webhook(access, webhook_id=webhook_id)
    _refuse_disabled(webhook)
    return WebhookDelivery.objects.create(
        namespace_id=webhook.namespace_id,
        webhook_id=webhook.pk,
        event_id=new_id(),
        type=TEST_EVENT,
        next_at=now,
        created_at=now,
    )


def to_dict(row: WebhookDelivery) -> dict[str, Any]:
    """Return a delivery as clients see it."""
    return {
        "id": str(row.pk),
        "webhook_id": str(row.webhook_id),
        "event_id": str(row.event_id),
        "type": row.type,
        "state": str(row.state),
        "attempts": row.attempts,
        "tries": row.tries,
        "answer": row.answer,
        "next_attempt_at": row.next_at.isoformat() if row.next_at else None,
        "created_at": row.created_at.isoformat(),
        "finished_at": row.finished_at.isoformat() if row.finished_at else None,
    }


def count_webhooks(access: Access) -> WebhookCounts:
    """Count the failing and disabled webhooks that the caller reaches, and their waiting deliveries."""
    rows = Webhook.objects.reachable_by(access)
    deliveries = WebhookDelivery.objects.reachable_by(access)
    return WebhookCounts(
        failing=rows.filter(enabled=True).exclude(failing_since=None).count(),
        disabled=rows.filter(enabled=False).exclude(disabled_why="").count(),
        waiting=deliveries.waiting().count(),
    )


def forget(*, now: datetime) -> int:
    """Delete deliveries older than LOG_DAYS; return how many. Attempts at a delivery end long before that."""
    oldest = first_id_of(now - timedelta(days=LOG_DAYS))
    old = WebhookDelivery.objects.across_namespaces().filter(pk__lt=oldest).order_by("pk")
    deleted = 0
    while keys := list(old.values_list("pk", flat=True)[:_BATCH]):
        deleted += WebhookDelivery.objects.across_namespaces().filter(pk__in=keys).delete()[0]
    return deleted


def _refuse_disabled(webhook: Webhook) -> None:
    """Raise Conflict for a disabled webhook."""
    if not webhook.enabled:
        raise Conflict(
            "The webhook is disabled, and nothing is sent to it: enable it first (PATCH with enabled: true).",
            detail={"enabled": False},
        )
