"""Every call of a model over the network has a row, whatever happens to the work around it."""

from __future__ import annotations

import logging
import threading
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.db import DatabaseError, connection, transaction
from django.utils import timezone

from memory import caller
from memory.enums import ModelPurpose
from memory.errors import LLMTimeout, LLMUnavailable
from memory.model_prices import read_prices
from memory.models import ModelCall, UsageDay
from memory.models.keys import first_id_of
from memory.postgresql import reach
from memory.providers.chat.registry import find_chat_model
from memory.services.usage import calls
from tests.job_queue import run_task
from tests.services.usage.conftest import PRICED, UNPRICED, booked, says, streaming, usage_of

MESSAGES = [{"role": "user", "content": "What did Ann say?"}]
pytestmark = pytest.mark.django_db(transaction=True)


def ask(max_tokens: int = 50) -> str:
    model = find_chat_model(ModelPurpose.ANSWER)
    assert model is not None
    return model.complete(MESSAGES, max_tokens=max_tokens).text


def test_a_call_is_kept_with_what_it_took_and_cost(alice, chat):
    with reach.within(alice.scope.namespace_id), caller.hold(caller.Caller("req-1", key_id=7)):
        ask()

    (row,) = booked()
    assert (row.namespace_id, row.key_id, row.request_id) == (alice.scope.namespace_id, 7, "req-1")
    assert (row.purpose, row.kind, row.provider, row.model, row.status) == ("answer", "chat", "openai", PRICED, "ok")
    assert (row.prompt_tokens, row.cached_tokens, row.completion_tokens) == (1000, 800, 100)
    assert not row.estimated
    assert row.ttft_ms is None
    assert row.duration_ms >= 0
    # 200 tokens at 0.15, 800 cached ones at 0.075 and 100 at 0.60 dollars per million.
    assert row.cost == Decimal("0.000150000")
    assert row.price_source == "genai-prices 0.2.3"


def test_a_model_without_a_known_price_costs_nobody_knows_what(alice, chat, settings):
    settings.MEMOS_LLM_MODEL = UNPRICED
    ask()

    (row,) = booked()
    assert row.cost is None
    assert row.price_source == ""
    (day,) = UsageDay.objects.across_namespaces()
    assert (day.calls, day.unpriced, day.cost) == (1, 1, 0)


def test_an_own_price_goes_before_the_known_one(alice, chat, settings):
    settings.MEMOS_MODEL_PRICES = read_prices(
        f'{{"openai/{PRICED}": {{"input": 10, "cached": 1, "output": 20, "call": 0.5, "date": "2026-11-01"}}}}'
    )
    ask()

    (row,) = booked()
    assert row.cost == Decimal("0.5") + Decimal(200 * 10 + 800 * 1 + 100 * 20) / 1_000_000
    assert (row.price_source, row.price_date.isoformat()) == ("MEMOS_MODEL_PRICES", "2026-11-01")


def test_cached_tokens_without_a_price_of_their_own_cost_what_others_do(alice, chat, settings):
    settings.MEMOS_MODEL_PRICES = read_prices(f'{{"openai/{PRICED}": {{"input": 10}}}}')
    ask()

    assert booked()[0].cost == Decimal("0.01")


def test_a_call_inside_a_transaction_that_is_rolled_back_is_kept(alice, chat):
    with transaction.atomic():
        ask()
        transaction.set_rollback(True)

    assert len(booked()) == 1


def test_a_call_inside_a_doomed_transaction_is_kept(alice, chat):
    with transaction.atomic():
        with pytest.raises(DatabaseError), connection.cursor() as cursor:
            cursor.execute("SELECT 1 / 0")
        ask()
        transaction.set_rollback(True)

    assert len(booked()) == 1


def test_a_failed_call_is_kept_and_costs_nothing_that_is_known(alice, chat):
    chat.answer = lambda body: (500, {"error": {"message": "out of order"}})
    with pytest.raises(LLMUnavailable):
        ask()

    (row,) = booked()
    assert (row.status, row.prompt_tokens, row.cost) == ("failed", None, None)
    (day,) = UsageDay.objects.across_namespaces()
    assert (day.calls, day.failed, day.unpriced) == (1, 1, 0)


def test_a_call_that_timed_out_counts_by_estimate_for_it_may_be_charged(alice, chat, settings):
    settings.MEMOS_LLM_TIMEOUT_SECONDS = 0.2
    arrived = threading.Event()

    def hang(body: dict[str, Any]) -> tuple[int, Any]:
        arrived.wait(timeout=1.0)
        return says("{}", None)

    chat.answer = hang
    with pytest.raises(LLMTimeout):
        ask()
    with pytest.raises(LLMTimeout), find_chat_model(ModelPurpose.ANSWER).stream(MESSAGES, max_tokens=50) as answer:
        list(answer)
    arrived.set()

    for row in booked():
        assert (row.status, row.prompt_tokens, row.estimated) == ("failed", 5, True)
        assert row.cost > 0


def test_tokens_that_the_provider_did_not_count_are_estimated(alice, chat):
    chat.answer = lambda body: says("{}", None)
    ask()

    (row,) = booked()
    assert row.estimated
    assert row.prompt_tokens == 5
    assert row.completion_tokens is None
    assert row.cost is not None


def test_a_stream_is_kept_with_its_first_token(alice, chat, settings):
    with streaming(5, usage_of(40, 5)) as url:
        settings.MEMOS_LLM_BASE_URL = url
        with find_chat_model(ModelPurpose.ANSWER).stream(MESSAGES, max_tokens=50) as answer:
            assert "".join(answer) == "w0 w1 w2 w3 w4 "

    (row,) = booked()
    assert (row.status, row.prompt_tokens, row.completion_tokens) == ("ok", 40, 5)
    assert row.ttft_ms is not None


def test_a_stream_whose_reader_leaves_is_kept_as_cancelled(alice, chat, settings):
    with streaming(50, usage_of(40, 5)) as url:
        settings.MEMOS_LLM_BASE_URL = url
        with find_chat_model(ModelPurpose.ANSWER).stream(MESSAGES, max_tokens=50) as answer:
            pieces = iter(answer)
            for _ in range(20):
                next(pieces)

    (row,) = booked()
    assert (row.status, row.estimated) == ("cancelled", True)
    assert row.completion_tokens >= 20, "what was answered until then counts against the budgets"


def test_the_one_who_asked_pays_also_where_the_stream_ends_elsewhere(alice, chat, settings):
    with streaming(2, usage_of(40, 2)) as url:
        settings.MEMOS_LLM_BASE_URL = url
        with reach.within(alice.scope.namespace_id), caller.hold(caller.Caller("req-1", key_id=7)):
            stream = find_chat_model(ModelPurpose.ANSWER).stream(MESSAGES, max_tokens=50)
            answer = stream.__enter__()
        list(answer)
        stream.__exit__(None, None, None)

    (row,) = booked()
    assert (row.namespace_id, row.key_id, row.request_id) == (alice.scope.namespace_id, 7, "req-1")


def test_the_calls_of_a_request_are_put_down_to_its_key_and_namespace(alice, bob, embedding):
    for tenant in (alice, bob):
        answer = tenant.post(
            "/v1/ingest", {"namespace": tenant.scope.namespace, "session_id": "s", "text": "Tea, please."}
        )
        assert answer.status_code == 200, answer.content
    found = alice.post("/v1/query", {"namespace": "alice", "query": "What does she drink?"}, X_Request_ID="ask-1")
    assert found.status_code == 200, found.content

    own = [row for row in booked() if row.namespace_id == alice.scope.namespace_id]
    assert [row.purpose for row in own] == ["embed", "embed"]
    assert own[-1].request_id == "ask-1"
    assert {f"key:{row.key.prefix}" for row in own} == {alice.scope.actor}
    assert [row.prompt_tokens for row in own] == [7, 7]
    assert own[0].cost == Decimal("0.00000014")
    assert len(booked(namespace_id=bob.scope.namespace_id)) == 1


def test_a_call_that_cannot_be_kept_is_loud_and_does_not_break_the_answer(alice, chat, caplog):
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE memory_usageday RENAME TO elsewhere")
    try:
        with caplog.at_level(logging.ERROR, "memos.usage"):
            assert ask() == "{}"
    finally:
        with connection.cursor() as cursor:
            cursor.execute("ALTER TABLE elsewhere RENAME TO memory_usageday")

    assert booked() == []
    (said,) = caplog.records
    assert said.getMessage() == "a call of a model could not be kept"
    assert "memory_usageday" in said.reason


def test_models_that_run_inside_memos_are_no_calls(alice, remember):
    remember(alice, "Tea, please.")
    assert alice.post("/v1/query", {"namespace": "alice", "query": "What does she drink?"}).status_code == 200

    assert booked() == []


def test_days_add_up_what_their_calls_took(alice, chat):
    with reach.within(alice.scope.namespace_id):
        for _ in range(3):
            ask()

    (day,) = UsageDay.objects.filter(namespace_id=alice.scope.namespace_id)
    assert (day.calls, day.prompt_tokens, day.cached_tokens, day.completion_tokens) == (3, 3000, 2400, 300)
    assert day.cost == Decimal("0.00045")


def test_calls_are_deleted_when_their_days_are_over_and_their_sums_stay(alice, chat, settings):
    settings.MEMOS_MODEL_CALLS_DAYS = 30
    ask()
    ask()
    old, young = booked()
    age = timezone.now() - timedelta(days=31)
    ModelCall.objects.across_namespaces().filter(pk=old.pk).update(id=first_id_of(age), at=age)

    assert run_task("forget_model_calls") == 1
    assert [row.pk for row in booked()] == [young.pk]
    assert UsageDay.objects.across_namespaces().get().calls == 2


def test_open_calls_are_not_kept_in_mind_for_ever(alice, chat, monkeypatch: Any):
    monkeypatch.setattr(calls, "_MOST_OPEN", 2)
    model = find_chat_model(ModelPurpose.ANSWER)
    for _ in range(5):
        model._plan(MESSAGES, 10)

    assert len(calls._payers) == 2
    calls._payers.clear()
