from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from memory.postgresql import reach
from memory.services.webhooks import deliver
from tests.services.webhooks.receiver import Receiver, receiving


@pytest.fixture
def receiver(settings: Any) -> Iterator[Receiver]:
    """Start a receiver that accepts everything, and allow loopback."""
    settings.MEMOS_WEBHOOK_PRIVATE = True
    settings.MEMOS_WEBHOOK_SECONDS = 5.0
    with receiving() as one:
        yield one


@pytest.fixture
def subscribe() -> Callable[..., dict[str, Any]]:
    """Make a webhook through the API and return it with its secret."""

    def run(tenant: Any, url: str, **values: Any) -> dict[str, Any]:
        answer = tenant.post("/v1/webhooks", {"namespace": tenant.scope.namespace, "url": url, **values})
        assert answer.status_code == 201, answer.content
        return dict(answer.json())

    return run


@pytest.fixture
def deliver_all() -> Callable[..., int]:
    """Do what the worker's process does, at a moment, until nothing is due; return the number of attempts."""

    def run(*, after: timedelta = timedelta(0), turns: int = 50) -> int:
        def clock() -> datetime:
            return timezone.now() + after

        made = 0
        for _ in range(turns):
            with reach.across_namespaces():
                leases = deliver.claim(limit=10, now=clock())
            if not leases:
                return made
            for lease in leases:
                with reach.within(lease.namespace_id):
                    made += deliver.deliver_due(lease, clock=clock)
        return made

    return run


@pytest.fixture(autouse=True)
def _end_the_watch() -> Iterator[None]:
    """Wait for the poller, which ends with its connection a moment after the last waiter."""
    yield
    for thread in threading.enumerate():
        if thread.name == "changes":
            thread.join(10)
