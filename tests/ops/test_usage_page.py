"""`/ops/usage/`: what memory saved, what models cost, and how much of the budgets is used."""

from __future__ import annotations

import csv
import io
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.utils import timezone

from memory.governance.budget import Budget
from memory.models import ContextPack, UsageDay
from memory.services.tenancy.keys import issue_key
from memory.services.tenancy.policy import put_policy
from ops.pages.usage import dollars
from tests.ops.conftest import World, scope_of

TODAY = timezone.now().astimezone(UTC).date()
PAGE, FILE = "/ops/usage/", "/ops/usage/file/"


def spent(namespace: str, **values: Any) -> None:
    fields: dict[str, Any] = {
        "namespace_id": scope_of(namespace).namespace_id if namespace else 0,
        "day": TODAY,
        "key_id": 0,
        "purpose": "answer",
        "kind": "chat",
        "provider": "openai",
        "model": "gpt-4o-mini",
        "calls": 10,
        "failed": 0,
        "unpriced": 0,
        "prompt_tokens": 40_000,
        "cached_tokens": 10_000,
        "completion_tokens": 2_000,
        "cost": Decimal("1.25"),
    }
    UsageDay.objects.create(**{**fields, **values})


def handed(namespace: str, *, original: int, condensed: int, at: datetime | None = None) -> None:
    ContextPack.objects.create(
        namespace_id=scope_of(namespace).namespace_id,
        session="s",
        query_text="q",
        retrieved_count=1,
        token_original=original,
        token_condensed=condensed,
        pack={},
        created_at=at or timezone.now(),
    )


@pytest.fixture
def used(world: World) -> None:
    """Record a month of calls in harbour and bakery, with one budget that is spent and one that is not."""
    ContextPack.objects.across_namespaces().delete()
    for number in range(30):
        day = TODAY - timedelta(days=number)
        spent("harbour", day=day, cost=Decimal(30 - number) / 10)
        spent("harbour", day=day, purpose="embed", kind="embedding", model="text-embedding-3-small",
              completion_tokens=0, cached_tokens=0, cost=Decimal("0.01"))  # fmt: skip
    spent("bakery", provider="vllm", model="qwen3-32b", purpose="summarise", calls=7, unpriced=7, cost=0)
    spent("", calls=1)
    handed("harbour", original=9_000, condensed=1_000)
    handed("bakery", original=3_000, condensed=1_000)
    now = timezone.now()
    put_policy(scope_of("harbour"), wanted={"budget": {"hard_usd": 1.0, "soft_tokens": 100_000_000}}, now=now)
    issue_key(
        name="assistant", scopes=["read"], actor="tests", now=now, all_namespaces=True, budget=Budget(hard_tokens=500)
    )


def page(client: Any, address: str = PAGE) -> str:
    answer = client.get(address)
    assert answer.status_code == 200, answer.content
    return str(answer.content.decode())


def test_what_was_saved_and_what_it_cost(staff, used):
    shown = page(staff)

    assert "10,000" in shown
    assert "83% of what 2 packs stand for" in shown
    assert "7 calls have no known price" in shown
    assert "openai/gpt-4o-mini" in shown
    assert "vllm/qwen3-32b" in shown
    assert "Several, or none" in shown


def test_budgets_and_what_is_used_of_them(staff, used):
    shown = page(staff)

    assert "The budget of “harbour”: Spent." in shown
    assert "assistant" in shown
    assert "100,000,000 tokens" in shown


def test_a_member_of_staff_sees_what_is_granted_and_no_keys_budgets(grant_console, used):
    shown = page(grant_console("bakery"))

    assert "vllm/qwen3-32b" in shown
    assert "gpt-4o-mini" not in shown
    assert "assistant" not in shown
    assert "harbour" not in shown
    assert "2,000" in shown


def test_one_namespace_alone(staff, used):
    shown = page(staff, f"{PAGE}?ns=bakery")

    assert "vllm/qwen3-32b" in shown
    assert "gpt-4o-mini" not in shown


def test_a_namespace_out_of_reach_is_not_there(grant_console, used):
    clerk = grant_console("bakery")
    assert clerk.get(f"{PAGE}?ns=harbour").status_code == 404
    assert clerk.get(f"{FILE}?ns=harbour").status_code == 404


def test_without_calls_the_page_says_what_is_counted(staff, world):
    assert "No model was called over the network" in page(staff)


def test_the_window_is_what_is_asked_for(staff, used):
    week = page(staff, f"{PAGE}?window=7d")
    # The sum of 3.0 to 2.4 dollars, seven times 0.01, and the calls of no namespace.
    assert "$20.22" in week
    assert page(staff, f"{PAGE}?window=nonsense") is not None


def test_the_file_has_every_row_and_no_formula(staff, used):
    spent("bakery", provider="@evil", model="x")
    answer = staff.get(f"{FILE}?window=7d")

    assert answer["Content-Type"] == "text/csv; charset=utf-8"
    first, *rows = csv.reader(io.StringIO(answer.content.decode("utf-8-sig")))
    assert first[:5] == ["day", "namespace", "key", "purpose", "model"]
    assert len(rows) == 7 * 2 + 3
    assert "'@evil/x" in {row[4] for row in rows}


@pytest.mark.parametrize("name", ["tokens", "cost", "saved"])
def test_charts_are_files_too(staff, used, name):
    assert staff.get(f"{PAGE}?csv={name}").status_code == 200


@pytest.mark.parametrize(
    ("amount", "shown"),
    [
        ("0", "$0.00"),
        ("12.346", "$12.35"),
        ("1234.5", "$1,234.50"),
        ("0.0005", "$0.0005"),
        ("0.0000001", "< $0.000001"),
    ],
)
def test_amounts_as_people_read_them(amount, shown):
    assert dollars(Decimal(amount)) == shown
    assert dollars(None) == "–"
