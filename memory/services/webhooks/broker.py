"""Extends django-q2's broker for the cluster `webhooks`, so that a slow receiver delays only deliveries."""

from __future__ import annotations

from django.utils import timezone

from memory.postgresql import reach
from memory.services.jobs.broker import WorkBroker
from memory.services.webhooks import deliver

CLUSTER = "webhooks"


class WebhookBroker(WorkBroker):
    """Has the workers deliver to the next webhook that has something due."""

    def find_work(self) -> tuple[str, tuple[int, ...]] | None:
        return (f"{__name__}.deliver_next", ()) if deliver.is_due(now=timezone.now()) else None


def deliver_next() -> None:
    """Deliver to the webhook that is next. After an error its lease expires, and another worker tries."""
    with reach.across_namespaces():
        leases = deliver.claim(limit=1, now=timezone.now())
    for lease in leases:
        with reach.within(lease.namespace_id):
            deliver.deliver_due(lease, clock=timezone.now)
