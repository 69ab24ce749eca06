"""`GET /v1/usage`: tokens and cost of models, within the key's reach."""

from __future__ import annotations

import csv
import io
from datetime import UTC, date, timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.utils import timezone

from memory.models import ApiKey, UsageDay

TODAY = timezone.now().astimezone(UTC).date()


def spent(tenant: Any, **values: Any) -> None:
    """Return the sums of the calls of a day."""
    prefix = tenant.scope.actor.removeprefix("key:")
    fields: dict[str, Any] = {
        "namespace_id": tenant.scope.namespace_id,
        "day": TODAY,
        "key_id": ApiKey.objects.get(prefix=prefix).pk,
        "purpose": "answer",
        "kind": "chat",
        "provider": "openai",
        "model": "gpt-4o-mini",
        "calls": 2,
        "failed": 0,
        "unpriced": 0,
        "prompt_tokens": 1000,
        "cached_tokens": 250,
        "completion_tokens": 100,
        "cost": Decimal("0.5"),
    }
    UsageDay.objects.create(**{**fields, **values})


def usage(tenant: Any, **query: str) -> list[dict[str, Any]]:
    answer = tenant.get("/v1/usage", **query)
    assert answer.status_code == 200, answer.content
    return list(answer.json()["usage"])


def test_an_outsider_is_refused(olga):
    assert olga.get("/v1/usage").status_code == 401


def test_a_key_without_the_scope_is_refused(make_tenant):
    assert make_tenant("alice", scopes=("write",)).get("/v1/usage").status_code == 403


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"group": "day,colour"}, "group"),
        ({"from": "yesterday"}, "from"),
        ({"from": "2026-02-02", "to": "2026-02-01"}, "from"),
        ({"format": "xml"}, "format"),
        ({"limit": "0"}, "limit"),
        ({"cursor": "!"}, "cursor"),
        ({"cursor": "WyJhIiwiYiJd", "group": "day"}, "cursor"),
        ({"cursor": "WyJcdTAwMDAiXQ==", "group": "day"}, "cursor"),
    ],
)
def test_wrong_parameters_are_named(alice, query, field):
    answer = alice.get("/v1/usage", **query)

    assert answer.status_code == 400
    assert answer.json()["error"]["detail"][0]["field"] == field


def test_other_tenants_figures_are_not_there(alice, bob):
    spent(alice)
    spent(bob, cost=Decimal(7))

    assert [row["cost_usd"] for row in usage(alice)] == [0.5]
    assert [row["namespace"] for row in usage(alice, group="namespace")] == ["alice"]
    refused = alice.get("/v1/usage", namespace="bob")
    assert refused.status_code == 404
    assert refused.json()["error"]["message"] == "There is no namespace 'bob' that this key reaches."


def test_who_reaches_all_sees_all_and_what_belongs_to_none(alice, bob, make_tenant):
    everyone = make_tenant("all", all_namespaces=True)
    spent(alice)
    spent(bob)
    spent(alice, namespace_id=0, key_id=0)

    rows = usage(everyone, group="namespace,key")
    assert [(row["namespace"], row["key"]) for row in rows] == [
        (None, None), ("alice", alice.scope.actor), ("bob", bob.scope.actor),
    ]  # fmt: skip
    assert usage(everyone, namespace="bob")[0]["calls"] == 2


def test_totals_are_added_up(alice):
    spent(alice)
    spent(alice, day=TODAY - timedelta(days=1), unpriced=1, failed=1)

    (row,) = usage(alice)
    assert row == {
        "calls": 4,
        "failed": 1,
        "unpriced": 1,
        "prompt_tokens": 2000,
        "cached_tokens": 500,
        "cached_share": 0.25,
        "completion_tokens": 200,
        "cost_usd": 1.0,
    }


def test_without_calls_there_is_nothing(alice):
    assert usage(alice) == []
    assert usage(alice, group="day") == []


def test_groups_stand_in_the_order_that_is_asked_for(alice):
    spent(alice, purpose="summarise")
    spent(alice)
    spent(alice, model="other", day=TODAY - timedelta(days=1))

    rows = usage(alice, group="model,day,purpose")
    assert [(row["model"], row["day"], row["purpose"]) for row in rows] == [
        ("openai/gpt-4o-mini", TODAY.isoformat(), "answer"),
        ("openai/gpt-4o-mini", TODAY.isoformat(), "summarise"),
        ("openai/other", (TODAY - timedelta(days=1)).isoformat(), "answer"),
    ]


def test_days_are_included_from_the_first_to_the_last(alice):
    for number in range(40):
        spent(alice, day=TODAY - timedelta(days=number))

    assert len(usage(alice, group="day")) == 30
    days = usage(
        alice, **{"group": "day", "from": str(TODAY - timedelta(days=2)), "to": str(TODAY - timedelta(days=1))}
    )
    assert [date.fromisoformat(row["day"]) for row in days] == [TODAY - timedelta(days=2), TODAY - timedelta(days=1)]


def test_pages_follow_one_another_without_gap_or_repetition(alice):
    for number in range(5):
        spent(alice, model=f"m{number}")

    found, cursor = [], ""
    for _ in range(3):
        answer = alice.get("/v1/usage", group="model", limit="2", cursor=cursor).json()
        found += [row["model"] for row in answer["usage"]]
        cursor = answer["next_cursor"] or ""
    assert found == [f"openai/m{number}" for number in range(5)]
    assert cursor == ""


def test_as_a_file_every_row_is_there_and_no_cell_is_a_formula(alice):
    spent(alice, provider="=cmd", model="x", cost=Decimal("0.000000123"))
    spent(alice, model="plain")

    answer = alice.get("/v1/usage", group="model", format="csv", limit="1")
    assert answer["Content-Type"] == "text/csv; charset=utf-8"
    assert "attachment" in answer["Content-Disposition"]
    first, *rows = csv.reader(io.StringIO(answer.content.decode("utf-8-sig")))
    assert first[:3] == ["model", "calls", "failed"]
    assert [row[0] for row in rows] == ["'=cmd/x", "openai/plain"]
    assert rows[0][-1] == "0.000000123"
