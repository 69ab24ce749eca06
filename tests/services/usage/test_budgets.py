"""Budgets warn and refuse, also for simultaneous calls; work that can do without a model continues."""

from __future__ import annotations

import logging
import uuid
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.utils import timezone

from memory import caches, caller
from memory.enums import BudgetPeriod, ModelPurpose
from memory.errors import BudgetExceeded, InvalidInput, RedisAway
from memory.governance.budget import Amount, Budget
from memory.models import ApiKey, Memory, UsageReservation
from memory.postgresql import reach
from memory.providers.chat.registry import find_chat_model
from memory.services.summaries.condense import condense_session
from memory.services.summaries.writer import EXTRACTIVE
from memory.services.tenancy.keys import issue_key
from memory.services.tenancy.policy import put_policy
from memory.services.usage import budgets
from memory.services.usage.budgets import SOFT_BUDGET, Payer
from memory.stores import redis as redis_store
from tests.job_queue import run_task
from tests.services.usage.conftest import UNPRICED, booked, says, streaming, usage_of
from tests.threads import together

MESSAGES = [{"role": "user", "content": "What did Ann say?"}]
pytestmark = pytest.mark.django_db(transaction=True)


def budget(tenant: Any, **values: Any) -> None:
    put_policy(tenant.scope, wanted={"budget": values}, now=timezone.now())
    caches.forget_all()


def ask(tenant: Any, *, key_id: int | None = None, max_tokens: int = 50) -> list[str]:
    """Ask the model for the tenant, and return the warnings that an answer would end with."""
    model = find_chat_model(ModelPurpose.ANSWER)
    assert model is not None
    who = caller.Caller("req-1", key_id)
    with reach.within(tenant.scope.namespace_id), caller.hold(who):
        model.complete(MESSAGES, max_tokens=max_tokens)
    return who.warnings


def test_a_hard_budget_refuses_what_might_go_beyond_it_and_says_when_it_begins_anew(alice, chat):
    budget(alice, hard_usd=0.0002)
    ask(alice)

    with pytest.raises(BudgetExceeded) as refused:
        ask(alice, max_tokens=100)

    # The budget has used 0.00015; a call with 5 tokens in and 100 out may cost 0.000061.
    detail = refused.value.detail
    assert {name: detail[name] for name in ("budget", "unit", "period", "limit", "used", "reserved")} == {
        "budget": "namespace", "unit": "usd", "period": "month", "limit": 0.0002, "used": 0.00015, "reserved": 0.0,
    }  # fmt: skip
    assert detail["asked"] == pytest.approx(0.00006075)
    reset = datetime.fromisoformat(detail["reset_at"])
    assert reset.day == 1
    assert timedelta(0) < reset - timezone.now() <= timedelta(days=31)
    assert "begins anew at" in refused.value.message
    assert "PUT /v1/policy" in refused.value.message
    assert len(booked()) == 1
    assert not UsageReservation.objects.across_namespaces().exists()


def test_what_fits_into_the_rest_is_let_through(alice, chat):
    budget(alice, hard_usd=0.0002)
    ask(alice)
    ask(alice, max_tokens=10)

    assert len(booked()) == 2


def test_a_budget_in_tokens_holds_for_models_without_a_price(alice, chat, settings):
    settings.MEMOS_LLM_MODEL = UNPRICED
    budget(alice, hard_tokens=1150, hard_usd=0.000001)
    ask(alice, max_tokens=1000)

    with pytest.raises(BudgetExceeded) as refused:
        ask(alice, max_tokens=50)
    assert refused.value.detail["unit"] == "tokens"
    assert refused.value.detail["used"] == 1100


def test_a_soft_budget_warns_once_in_the_log_and_in_every_answer(alice, chat, caplog):
    budget(alice, soft_tokens=1500)
    with caplog.at_level(logging.WARNING, "memos.usage"):
        assert ask(alice) == []
        assert ask(alice, max_tokens=500) == [SOFT_BUDGET]
        assert ask(alice) == [SOFT_BUDGET]

    assert [record.getMessage() for record in caplog.records] == ["a soft budget of model calls is reached"]


def test_each_of_two_soft_limits_is_told_of(alice, chat, caplog):
    budget(alice, soft_tokens=1000, soft_usd=0.0002)
    with caplog.at_level(logging.WARNING, "memos.usage"):
        for _ in range(4):
            ask(alice)

    # A call takes 1,100 tokens and 0.00015 dollars: the second one exceeds the tokens, the third one the dollars.
    assert [record.limit.split()[-1] for record in caplog.records] == ["tokens", "usd"]


def test_namespaces_have_budgets_of_their_own(alice, bob, chat):
    budget(alice, hard_tokens=100)
    with pytest.raises(BudgetExceeded):
        ask(alice, max_tokens=100)
    ask(bob, max_tokens=100)

    assert [row.namespace_id for row in booked()] == [bob.scope.namespace_id]


def issued(tenant: Any, **limits: Any) -> int:
    key, _ = issue_key(
        name="limited", scopes=["read"], actor="tests", now=timezone.now(), all_namespaces=True, budget=Budget(**limits)
    )
    return int(key.pk)


def test_a_spent_budget_says_nothing_about_the_model_which_goes_on_for_others(alice, bob, chat, settings):
    settings.MEMOS_LLM_BREAKER_FAILURES = 1
    budget(alice, hard_tokens=10)
    for _ in range(3):
        with pytest.raises(BudgetExceeded):
            ask(alice)

    assert ask(bob) == []


def test_a_keys_budget_holds_in_every_namespace_and_for_no_other_key(alice, bob, chat):
    key_id = issued(alice, hard_tokens=1200)
    ask(alice, key_id=key_id)
    with pytest.raises(BudgetExceeded) as refused:
        ask(bob, key_id=key_id, max_tokens=200)
    ask(bob, key_id=issued(bob), max_tokens=200)

    assert refused.value.detail["budget"] == "key"
    assert "issue a key" in refused.value.message
    assert len(booked()) == 2


def test_calls_at_once_do_not_all_fit_into_what_is_left_for_some(alice, chat):
    # Each reserves 5 + 95 tokens and uses them, so two of eight fit.
    chat.answer = lambda body: (chat.closing.wait(0.3), says("{}", usage_of(5, 95)))[1]
    budget(alice, hard_tokens=250)

    def one(number: int) -> bool:
        try:
            ask(alice, max_tokens=95)
        except BudgetExceeded:
            return False
        return True

    assert sum(together(8, one)) == 2
    assert sum(row.prompt_tokens + row.completion_tokens for row in booked()) == 200


def test_budgets_hold_while_redis_is_away(alice, chat, monkeypatch):
    def away(operation: Any) -> Any:
        raise RedisAway("gone")

    monkeypatch.setattr(redis_store, "call", away)
    budget(alice, hard_tokens=1100)
    ask(alice)
    with pytest.raises(BudgetExceeded):
        ask(alice)


def test_a_call_gives_back_what_it_did_not_take(alice, chat):
    chat.answer = lambda body: says("{}", usage_of(5, 1))
    budget(alice, hard_tokens=120)
    for _ in range(5):
        ask(alice, max_tokens=50)

    assert len(booked()) == 5


def test_a_failed_call_gives_back_all(alice, chat):
    chat.answer = lambda body: (500, {"error": {"message": "out of order"}})
    budget(alice, hard_tokens=120)
    for _ in range(3):
        with pytest.raises(Exception, match=r"failed \(500\)"):
            ask(alice, max_tokens=100)

    assert not UsageReservation.objects.across_namespaces().exists()


def test_what_a_killed_process_had_reserved_is_free_after_a_while(alice):
    payer, now = Payer(alice.scope.namespace_id), timezone.now()
    budget(alice, hard_tokens=100)
    budgets.reserve(uuid.uuid4(), payer, Amount(tokens=100), now=now)
    with pytest.raises(BudgetExceeded):
        budgets.reserve(uuid.uuid4(), payer, Amount(tokens=1), now=now)

    later = now + budgets.OPEN_AT_MOST + timedelta(seconds=1)
    budgets.reserve(uuid.uuid4(), payer, Amount(tokens=100), now=later)
    assert budgets.forget_expired(now=later) == 1


def test_a_day_and_a_month_begin_anew_at_midnight(alice):
    day, month = Budget(period=BudgetPeriod.DAY), Budget()
    late = datetime(2026, 12, 31, 23, 59, tzinfo=UTC)

    assert day.resets(late) == month.resets(late) == datetime(2027, 1, 1, tzinfo=UTC)
    assert day.begins(late) == datetime(2026, 12, 31, tzinfo=UTC)
    assert month.begins(late) == datetime(2026, 12, 1, tzinfo=UTC)


def test_a_stream_that_has_begun_goes_on_to_its_end(alice, chat, settings):
    with streaming(40, usage_of(5, 40)) as url:
        settings.MEMOS_LLM_BASE_URL = url
        budget(alice, hard_tokens=100)
        with reach.within(alice.scope.namespace_id):
            model = find_chat_model(ModelPurpose.ANSWER)
            with model.stream(MESSAGES, max_tokens=90) as answer:
                pieces = iter(answer)
                next(pieces)
                # The tokens that the stream may still use are reserved: other calls are refused, but not this one.
                with pytest.raises(BudgetExceeded), model.stream(MESSAGES, max_tokens=10):
                    pass
                assert len(list(pieces)) == 39
            with model.stream(MESSAGES, max_tokens=10) as answer:
                list(answer)

    assert [row.status for row in booked()] == ["ok", "ok"]


def test_an_answer_over_http_is_refused_with_the_time_to_come_again(alice, embedding):
    body = {"namespace": "alice", "query": "What does she drink?"}
    ingested = alice.post("/v1/ingest", {"namespace": "alice", "session_id": "s", "text": "Tea."})
    assert ingested.status_code == 200, ingested.content
    budget(alice, hard_tokens=7)

    refused = alice.post("/v1/query", body)
    assert refused.status_code == 429, refused.content
    error = refused.json()["error"]
    assert error["code"] == "budget_exceeded"
    assert int(refused["Retry-After"]) >= 1
    assert error["detail"]["reset_at"].endswith("Z")

    budget(alice, soft_tokens=7)
    answered = alice.post("/v1/query", body)
    assert answered.status_code == 200
    assert SOFT_BUDGET in answered.json()["degraded"]


def test_nothing_that_is_ingested_is_lost_to_a_budget(alice, embedding):
    ingested = alice.post("/v1/ingest", {"namespace": "alice", "session_id": "s", "text": "Tea."})
    assert ingested.status_code == 200
    budget(alice, hard_tokens=7)
    for text in ("Coffee, rarely.", "Water, always."):
        stored = alice.post("/v1/ingest", {"namespace": "alice", "session_id": "s", "text": text})
        assert stored.status_code == 200, stored.content

    waiting = Memory.objects.in_scope(alice.scope).awaiting_vector()
    assert waiting.count() == 2
    run_task("embed_pending")
    assert waiting.count() == 2
    budget(alice, hard_tokens=0)
    run_task("embed_pending")
    assert waiting.count() == 0


def test_a_summary_is_written_without_the_model_when_the_budget_is_spent(alice, chat, remember, caplog):
    for text in ("I prefer green tea.", "We ship on Friday.", "Never call before nine."):
        remember(alice, text, speaker="Ann")
    budget(alice, hard_tokens=10)
    with reach.within(alice.scope.namespace_id), caplog.at_level(logging.WARNING):
        (stored,) = condense_session(alice.scope, session="s1", now=timezone.now())

    assert stored.method == EXTRACTIVE
    assert "budget" in stored.trigger_details["no_card_from"]["reason"]
    assert booked() == []


def test_a_soft_limit_above_the_hard_one_is_refused(alice):
    with pytest.raises(InvalidInput, match="never warns"):
        put_policy(alice.scope, wanted={"budget": {"soft_usd": 2.0, "hard_usd": 1.0}}, now=timezone.now())
    with pytest.raises(InvalidInput, match="never warns"):
        issued(alice, soft_tokens=2, hard_tokens=1)
    with pytest.raises(InvalidInput, match="0 \\(no limit\\) or more"):
        issued(alice, hard_usd=Decimal(-1))
    assert ApiKey.objects.filter(name="limited").count() == 0
