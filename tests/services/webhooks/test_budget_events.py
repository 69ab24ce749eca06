"""Real calls of a model exhaust a budget: the feed reports it once, and so does a webhook."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

import pytest
from django.utils import timezone

from memory import caches
from memory.governance.budget import Budget
from memory.services.usage.budgets import SOFT_BUDGET
from tests.providers.endpoint import Endpoint, serving
from tests.services.usage.conftest import booked, embeds

pytestmark = pytest.mark.django_db(transaction=True)

QUERY = {"namespace": "alice", "session_id": "s1", "query": "What does she drink?"}


@pytest.fixture
def model(settings: Any) -> Iterator[Endpoint]:
    """Start an embedding model behind an endpoint, which counts 7 tokens for each text."""
    with serving(embeds) as endpoint:
        settings.MEMOS_EMBEDDING_PROVIDER = "openai"
        settings.MEMOS_EMBEDDING_MODEL = "text-embedding-3-small"
        settings.MEMOS_EMBEDDING_DIMENSIONS = 2
        settings.MEMOS_EMBEDDING_BASE_URL = endpoint.url
        settings.MEMOS_EMBEDDING_TIMEOUT_SECONDS = 5.0
        yield endpoint


def set_budget(tenant: Any, **limits: Any) -> None:
    body = {"namespace": tenant.scope.namespace, "policy": {"budget": limits}}
    answer = tenant.client.put("/v1/policy", data=body, content_type="application/json")
    assert answer.status_code == 200, answer.content
    caches.forget_all()


def ingest(tenant: Any, text: str) -> None:
    answer = tenant.post("/v1/ingest", {"namespace": tenant.scope.namespace, "session_id": "s1", "text": text})
    assert answer.status_code == 200, answer.content


def told(tenant: Any, **query: str) -> list[dict[str, Any]]:
    answer = tenant.get("/v1/changes", namespace=tenant.scope.namespace, types="budget.reached", **query)
    assert answer.status_code == 200, answer.content
    return list(answer.json()["changes"])


def check_data(event: dict[str, Any], expected: dict[str, Any], since: datetime) -> None:
    """Check the event's data; `since` is before the event, and a new month may begin between it and now."""
    data = dict(event["data"])
    resets_at = datetime.fromisoformat(data.pop("resets_at"))
    assert data == expected
    assert resets_at in {Budget().resets(since), Budget().resets(timezone.now())}


def test_a_hard_limit_is_told_once_by_the_feed_and_by_a_webhook(alice, model, receiver, subscribe, deliver_all):
    since = timezone.now()
    made = subscribe(alice, receiver.url(), types=["budget.reached"])
    # Two calls have used 14 of 15 tokens; each of the next ones needs more than one.
    ingest(alice, "Green tea, no sugar.")
    assert alice.post("/v1/query", QUERY).status_code == 200
    assert sum(row.prompt_tokens for row in booked(namespace_id=alice.scope.namespace_id)) == 14
    set_budget(alice, hard_tokens=15)
    assert told(alice) == []
    refused = [alice.post("/v1/query", QUERY) for _ in range(3)]

    assert [one.status_code for one in refused] == [429] * 3
    (event,) = told(alice)
    assert event.keys() == {"id", "type", "timestamp", "namespace", "actor", "request_id", "data"}
    assert (event["type"], event["namespace"], event["actor"]) == ("budget.reached", "alice", alice.scope.actor)
    assert event["request_id"] == refused[0]["X-Request-ID"]
    assert since <= datetime.fromisoformat(event["timestamp"]) <= timezone.now()
    expected = {"of": "namespace", "limit": "hard", "unit": "tokens", "most": 15, "period": "month"}
    check_data(event, expected, since)

    assert deliver_all() == 1
    (message,) = receiver.received
    assert message.verify(made["secret"]) == event
    deliveries = alice.get(f"/v1/webhooks/{made['id']}/deliveries").json()["deliveries"]
    assert [(one["event_id"], one["state"]) for one in deliveries] == [(event["id"], "delivered")]
    assert deliver_all() == 0


def test_a_soft_limit_is_told_once_and_the_hard_one_after_it(alice, model, receiver, subscribe, deliver_all):
    """Calls may exceed their estimate: these use 21 tokens, and none of them would reserve that many."""
    since = timezone.now()
    subscribe(alice, receiver.url(), types=["budget.reached"])
    set_budget(alice, soft_tokens=21)
    ingest(alice, "Green tea, no sugar.")
    # A repeated question is not embedded again, so each one is different.
    answers = [alice.post("/v1/query", QUERY | {"query": f"tea or coffee {number}?"}) for number in range(5)]
    assert {one.status_code for one in answers} == {200}
    assert SOFT_BUDGET in answers[-1].json()["degraded"]

    (soft,) = told(alice)
    expected = {"of": "namespace", "limit": "soft", "unit": "tokens", "most": 21, "period": "month"}
    check_data(soft, expected, since)
    set_budget(alice, soft_tokens=21, hard_tokens=22)
    assert alice.post("/v1/query", QUERY | {"query": "tea or milk?"}).status_code == 429

    assert [one["data"]["limit"] for one in told(alice)] == ["soft", "hard"]
    assert deliver_all() == 2
    assert [one.event["data"]["limit"] for one in receiver.received] == ["soft", "hard"]


def test_nobody_else_is_told(alice, bob, model, receiver, subscribe, deliver_all):
    subscribe(bob, receiver.url())
    set_budget(alice, hard_tokens=1)
    assert alice.post("/v1/query", QUERY).status_code == 429

    assert len(told(alice)) == 1
    assert told(bob) == []
    assert deliver_all() == 0
    assert receiver.received == []
