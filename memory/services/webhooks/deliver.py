"""Makes deliveries from a webhook's events and sends them, one after the other.

A webhook belongs to one process for the time of its lease. A delivery is committed before it is sent, and its result
afterwards: if a process is killed in between, another one sends it again after the lease, under the same id.
"""

from __future__ import annotations

import logging
import random
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import transaction

from memory import audit, metrics
from memory.enums import AuditEvent, DeliveryState
from memory.errors import Conflict, InvalidInput
from memory.models import Namespace, Webhook, WebhookDelivery
from memory.models.queries import webhooks as queries
from memory.models.scoped import ScopedQuerySet
from memory.services.webhooks import feed
from memory.services.webhooks.addresses import check_url
from memory.services.webhooks.events import sources
from memory.services.webhooks.http import DeliveryReply, post
from memory.services.webhooks.messages import headers_of, write_body
from memory.types import Scope

log = logging.getLogger("memos.webhooks")

# A webhook that has accepted no delivery for this long is disabled.
DISABLE_HOURS = 72
ACTOR = "worker"
# The most deliveries that are made from events at once.
PUBLISHED = 200
# The time of a turn, after which a stopping worker ends.
TURN = timedelta(seconds=10)
# 5 s, 25 s, 2 min, 10 min, 52 min, 4 h, 22 h, 24 h: about two days in all.
FIRST_DELAY = 5.0
DELAY_FACTOR = 5.0
MOST_DELAY = 86_400.0
ATTEMPTS = 9
JITTER = 0.2
# The pause between any two attempts at a failing receiver, so that it delays no others.
FIRST_PAUSE, MOST_PAUSE = 5.0, 300.0
GONE = 410

Clock = Callable[[], datetime]


@dataclass(frozen=True, slots=True)
class Lease:
    """A webhook whose deliveries belong to this process until `until`."""

    namespace_id: int
    webhook_id: uuid.UUID
    until: datetime


def is_due(*, now: datetime) -> bool:
    """Return whether a webhook that no process has claimed has something to deliver."""
    return queries.has_due(**_describe_due(now))


def claim(*, limit: int, now: datetime) -> list[Lease]:
    """Claim webhooks with something to deliver, of all namespaces, for the caller."""
    return [Lease(*row) for row in queries.claim(**_describe_due(now), limit=limit)]


def deliver_due(lease: Lease, *, clock: Clock) -> int:
    """Send the due deliveries of a claimed webhook, until an attempt fails or the turn is over; return the number of
    attempts.

    Ends the lease.
    """
    ends, made = clock() + TURN, 0
    _publish(lease, now=clock())
    while clock() < ends:
        delivery = _next_due(lease, now=clock())
        if delivery is None:
            break
        made += 1
        if not _attempt(lease, delivery, clock=clock):
            break
    # An exception leaves the lease as it is, so that the next turn comes after it, and not at once.
    _rows(lease).filter(leased_until=lease.until).update(leased_until=None)
    return made


def delay_after(attempts: int) -> timedelta:
    """Return how long a delivery waits for its next attempt after this number of attempts."""
    seconds = FIRST_DELAY * DELAY_FACTOR ** (attempts - 1)
    spread = random.uniform(1 - JITTER, 1 + JITTER)  # noqa: S311 - spreads load, keeps no secret
    return timedelta(seconds=min(MOST_DELAY, seconds * spread))


def disable(webhook: Webhook, *, why: str, now: datetime) -> None:
    """Disable a locked webhook: nothing is sent to it until a person enables it."""
    webhook.enabled, webhook.disabled_why, webhook.updated_at = False, why[:300], now
    webhook.save(update_fields=["enabled", "disabled_why", "updated_at"])
    details = {"why": why, "failures": webhook.failures}
    scope = _scope(webhook.namespace_id)
    audit.record(scope, AuditEvent.WEBHOOK_DISABLE, subject=str(webhook.pk), details=details, now=now)
    log.error("a webhook was disabled", extra={"webhook": str(webhook.pk), "reason": why})


def _describe_due(now: datetime) -> dict[str, Any]:
    return {
        "now": now,
        "until": now + TURN + 3 * timedelta(seconds=settings.MEMOS_WEBHOOK_SECONDS),
        "pause_until": now + timedelta(seconds=MOST_PAUSE),
        "below": feed.horizon(),
        "sources": sources(()),
    }


def _publish(lease: Lease, *, now: datetime) -> None:
    """Make deliveries of new events and store the position reached, both in one transaction."""
    with transaction.atomic():
        webhook = _rows(lease).select_for_update().filter(enabled=True).first()
        if webhook is None:
            return
        seen = (webhook.seen_xact, webhook.seen_id)
        page = feed.read(_scope(lease.namespace_id), after=seen, types=webhook.types, limit=PUBLISHED)
        WebhookDelivery.objects.bulk_create(
            [
                WebhookDelivery(
                    namespace_id=lease.namespace_id,
                    webhook_id=webhook.pk,
                    event_id=event.id,
                    type=event.type,
                    memory_ids=list(event.memory_ids),
                    next_at=now,
                    created_at=now,
                )
                for event in page.events
            ],
            ignore_conflicts=True,
        )
        webhook.seen_xact, webhook.seen_id = page.place
        webhook.save(update_fields=["seen_xact", "seen_id"])


def _next_due(lease: Lease, *, now: datetime) -> WebhookDelivery | None:
    if not _rows(lease).filter(enabled=True, leased_until=lease.until).exists():
        return None
    waiting = WebhookDelivery.objects.filter(namespace_id=lease.namespace_id, webhook_id=lease.webhook_id).waiting()
    return waiting.filter(next_at__lte=now).order_by("next_at", "id").first()


def _attempt(lease: Lease, delivery: WebhookDelivery, *, clock: Clock) -> bool:
    """Send one delivery and store the result; return whether the receiver accepted it."""
    webhook, scope = _rows(lease).get(), _scope(lease.namespace_id)
    at = clock()
    body = write_body(scope, webhook, delivery)
    reply = DeliveryReply(0, "There is nothing to tell of this event any more.", 0)
    if body is not None:
        reply = _send(webhook, delivery, body, at=at)
    _keep(lease, delivery, reply, at=at, is_over=body is None, now=clock())
    return reply.is_delivered


def _send(webhook: Webhook, delivery: WebhookDelivery, body: bytes, *, at: datetime) -> DeliveryReply:
    try:
        target = check_url(webhook.url)
        headers = headers_of(webhook, delivery, body, now=at)
    except (Conflict, InvalidInput) as refusal:
        return DeliveryReply(0, refusal.message, 0)
    return post(target, headers=headers, body=body, seconds=settings.MEMOS_WEBHOOK_SECONDS)


def _keep(
    lease: Lease, delivery: WebhookDelivery, reply: DeliveryReply, *, at: datetime, is_over: bool, now: datetime
) -> None:
    with transaction.atomic():
        webhook = _rows(lease).select_for_update().first()
        rows = WebhookDelivery.objects.filter(namespace_id=lease.namespace_id, pk=delivery.pk)
        row = rows.select_for_update().first()
        if webhook is None or row is None:
            # The webhook or the delivery was deleted meanwhile.
            return
        tried = {"at": at.isoformat(), "status": reply.status, "ms": reply.milliseconds, "error": reply.error}
        row.attempts += 1
        row.tries = [*row.tries, tried][-2 * ATTEMPTS :]
        row.answer = reply.answer
        _judge(row, reply, is_over=is_over, now=now)
        row.save(update_fields=["attempts", "tries", "answer", "state", "next_at", "finished_at"])
        _judge_webhook(webhook, reply, now=now)
    outcome = "retried" if row.state == DeliveryState.WAITING else str(row.state)
    metrics.count_delivery(outcome)
    named = {"webhook": str(webhook.pk), "delivery": str(row.pk), "attempt": row.attempts, "status": reply.status}
    log.info("webhook delivery", extra={**named, "outcome": outcome, "ms": reply.milliseconds})


def _judge(row: WebhookDelivery, reply: DeliveryReply, *, is_over: bool, now: datetime) -> None:
    if reply.is_delivered:
        row.state, row.next_at, row.finished_at = DeliveryState.DELIVERED, None, now
    elif is_over or row.attempts >= ATTEMPTS:
        row.state, row.next_at, row.finished_at = DeliveryState.FAILED, None, now
    else:
        row.next_at = now + max(delay_after(row.attempts), timedelta(seconds=reply.retry_after))


def _judge_webhook(webhook: Webhook, reply: DeliveryReply, *, now: datetime) -> None:
    if reply.is_delivered:
        webhook.failures, webhook.failing_since, webhook.paused_until = 0, None, None
    else:
        webhook.failures += 1
        webhook.failing_since = webhook.failing_since or now
        pause = min(MOST_PAUSE, FIRST_PAUSE * 2.0 ** min(webhook.failures - 1, 10))
        webhook.paused_until = now + timedelta(seconds=pause)
    webhook.save(update_fields=["failures", "failing_since", "paused_until"])
    if not webhook.enabled or webhook.failing_since is None:
        return
    if reply.status == GONE:
        disable(webhook, why="The receiver answered 410: it wants nothing more.", now=now)
    elif now - webhook.failing_since >= timedelta(hours=DISABLE_HOURS):
        why = f"No delivery was taken for {DISABLE_HOURS} hours. The last attempt: {reply.error}"
        disable(webhook, why=why, now=now)


def _rows(lease: Lease) -> ScopedQuerySet[Webhook]:
    return Webhook.objects.filter(namespace_id=lease.namespace_id, pk=lease.webhook_id)


def _scope(namespace_id: int) -> Scope:
    name = Namespace.objects.filter(pk=namespace_id).values_list("name", flat=True).first()
    return Scope(namespace_id, name or "", ACTOR)
