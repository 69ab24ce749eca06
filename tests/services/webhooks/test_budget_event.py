"""A budget that is spent is told of once, with its figures, to those who may know."""

from __future__ import annotations

from datetime import datetime

import pytest
from django.utils import timezone

from memory.errors import BudgetExceeded
from tests.services.usage.conftest import chat  # noqa: F401 - a fixture
from tests.services.usage.test_budgets import ask, budget

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.usefixtures("chat")
def test_a_budget_that_is_spent_is_told_of_once(alice, bob, receiver, subscribe, deliver_all):
    budget(alice, soft_tokens=1000, hard_tokens=2300)
    made = subscribe(alice, receiver.url(), types=["budget.reached"])
    ask(alice)
    ask(alice)
    for _ in range(3):
        with pytest.raises(BudgetExceeded):
            ask(alice, max_tokens=200)

    changes = alice.get("/v1/changes", namespace="alice", types="budget.reached").json()["changes"]
    soft, hard = (change["data"] for change in changes)
    resets_at = soft.pop("resets_at")
    assert resets_at == hard.pop("resets_at")
    assert datetime.fromisoformat(resets_at) > timezone.now()
    assert soft == {"of": "namespace", "limit": "soft", "unit": "tokens", "most": 1000, "period": "month"}
    assert hard == {"of": "namespace", "limit": "hard", "unit": "tokens", "most": 2300, "period": "month"}
    assert bob.get("/v1/changes", namespace="bob", types="budget.reached").json()["changes"] == []

    assert deliver_all() == 2
    told = [message.verify(made["secret"]) for message in receiver.received]
    assert [one["data"]["limit"] for one in told] == ["soft", "hard"]
    assert [one["id"] for one in told] == [change["id"] for change in changes]
