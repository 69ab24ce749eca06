"""Session summaries: when they are requested, the contents of a version, and a single result of concurrent runs."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection, transaction
from django.test import override_settings

from memory.models import AuditLog, Condensation, Memory, Session
from memory.services.ingestion.ingest import ingest_batch
from memory.services.sessions.reset import reset_session
from memory.services.summaries import condense
from memory.services.summaries.condense import condense_session
from memory.services.summaries.refresh import read_refresh_settings, request_if_due, request_overdue
from memory.services.summaries.writer import EXTRACTIVE
from memory.text.card import MAX_CARD_TOKENS, card_tokens
from memory.text.tokens import count_tokens
from memory.types import NewMemory
from tests.job_queue import queued_jobs, run_task
from tests.threads import together

NOW = datetime(2026, 5, 8, 12, tzinfo=UTC)
WORDS = ("red", "green", "brass", "glass", "paper", "stone")
CARD = {"facts", "preferences", "constraints", "decisions", "risks", "actions"}


def tell(tenant: Any, count: int, *, session: str = "s1", first: int = 1, now: datetime = NOW) -> list[str]:
    turns = [
        NewMemory(session=session, role="user", speaker="Ann", text=f"We decided to ship part {number} on Friday.")
        for number in range(first, first + count)
    ]
    return [str(identity) for identity in ingest_batch([(tenant.scope, turn) for turn in turns], now=now).memory_ids]


def run(tenant: Any, session: str = "s1") -> list[Condensation]:
    return condense_session(tenant.scope, session=session, now=NOW)


def request(tenant: Any, *, has_summary: bool, now: datetime = NOW, session: str = "s1") -> bool:
    with transaction.atomic():
        return request_if_due(tenant.scope, session=session, has_summary=has_summary, now=now)


def jobs() -> list[tuple]:
    return [tuple(job.arguments) for job in queued_jobs().order_by("pk")]


def test_a_version_says_what_it_was_made_from_and_what_it_costs(alice):
    ids = tell(alice, 3)
    (stored,) = run(alice)

    assert (stored.number, stored.covers_to_turn, stored.method) == (1, 3, EXTRACTIVE)
    assert (stored.version, stored.trigger_reason) == ("memos.session_summary.v1", "bootstrap_summary")
    assert stored.trigger_details == {
        "source": "worker",
        "strategy": "first_summary",
        "schema": "memos.session_summary.v1",
        "new_memory_ids": ids,
        "new_message_count": 3,
        "from_turn": 1,
        "to_turn": 3,
    }
    assert [str(identity) for identity in stored.source_memory_ids] == ids
    assert stored.token_condensed == count_tokens(stored.condensed_text, stored.tokenizer)
    assert stored.token_original == sum(
        count_tokens(text) for text in Memory.objects.across_namespaces().values_list("text", flat=True)
    )
    assert set(json.loads(stored.condensed_text)) >= CARD
    event = AuditLog.objects.across_namespaces().get(event_type="CONDENSATION")
    assert (event.subject, event.details["number"], event.details["messages"]) == (str(stored.pk), 1, 3)
    assert "ship part" not in str(event.details)


def test_the_items_of_a_card_name_memories_that_exist(alice):
    tell(alice, 60)
    run(alice)
    for stored in Condensation.objects.across_namespaces():
        card = json.loads(stored.condensed_text)
        assert "sources" not in card
        for bucket in CARD:
            assert len(stored.item_sources[bucket]) == len(card[bucket])
        named = {identity for lists in stored.item_sources.values() for ids in lists for identity in ids}
        assert named
        assert Memory.objects.in_scope(alice.scope).filter(pk__in=named).count() == len(named)


def test_with_nothing_new_a_run_changes_nothing(alice):
    tell(alice, 3)
    assert len(run(alice)) == 1
    before = list(Session.objects.across_namespaces().values())
    events = AuditLog.objects.across_namespaces().count()

    assert run(alice) == []
    assert list(Session.objects.across_namespaces().values()) == before
    assert (Condensation.objects.across_namespaces().count(), AuditLog.objects.across_namespaces().count()) == (
        1,
        events,
    )


def test_versions_count_up_and_say_why_they_were_made(alice):
    tell(alice, 3)
    run(alice)
    tell(alice, 4, first=4)
    (second,) = run(alice)

    assert (second.number, second.covers_to_turn, second.trigger_reason) == (2, 7, "new_messages_threshold")
    told = {name: second.trigger_details[name] for name in ("strategy", "new_message_count", "from_turn", "to_turn")}
    assert told == {"strategy": "rolling_summary", "new_message_count": 4, "from_turn": 4, "to_turn": 7}
    assert len(second.source_memory_ids) == 4
    first = Condensation.objects.across_namespaces().get(number=1)
    new = Memory.objects.across_namespaces().filter(turn__gt=3).values_list("tokens", flat=True)
    assert second.token_original == first.token_original + sum(new)


def test_a_long_session_is_taken_in_batches(alice):
    tell(alice, 95)
    made = run(alice)
    assert [(entry.number, len(entry.source_memory_ids), entry.covers_to_turn) for entry in made] == [
        (1, 40, 40),
        (2, 40, 80),
        (3, 15, 95),
    ]
    assert Session.objects.across_namespaces().get().summarised_turn == 95


def test_a_rest_below_the_threshold_waits_for_the_next_run(alice):
    tell(alice, 42)
    assert [entry.covers_to_turn for entry in run(alice)] == [40]
    assert run(alice) == []
    tell(alice, 2)
    assert [entry.covers_to_turn for entry in run(alice)] == [44]


@override_settings(MEMOS_SUMMARY_BATCH_MESSAGES=5)
def test_the_size_of_a_batch_is_a_setting(alice):
    tell(alice, 10)
    assert [len(entry.source_memory_ids) for entry in run(alice)] == [5, 5]


def test_a_chinese_session_has_a_chinese_card(alice):
    texts = [
        "我们决定用 Redis 做限流。",
        "我喜欢绿茶，不喝咖啡。",
        "千万不要在九点以前打电话。",
        "下周五之前把报告发给小李。",
    ]
    turns = [NewMemory(session="s1", role="user", text=text) for text in texts]
    ingest_batch([(alice.scope, turn) for turn in turns], now=NOW)

    (stored,) = run(alice)
    card = json.loads(stored.condensed_text)
    assert "我们决定用 Redis 做限流" in str(card["decisions"])
    assert "绿茶" in str(card["preferences"])
    assert "\\u" not in stored.condensed_text


def test_sessions_and_namespaces_are_summarised_apart(alice, bob):
    tell(alice, 2)
    tell(alice, 2, session="s2")
    tell(bob, 2)
    run(alice)
    assert list(Condensation.objects.across_namespaces().values_list("namespace__name", "session")) == [("alice", "s1")]
    assert run(alice, "nowhere") == []


def test_the_first_summary_is_due_with_the_first_message_and_a_new_one_with_enough(alice):
    tell(alice, 1)
    assert request(alice, has_summary=False)
    assert jobs() == [(alice.scope.namespace_id, "s1")]
    run(alice)
    assert Session.objects.across_namespaces().get().summary_requested_at is None

    tell(alice, 3, first=2)
    assert not request(alice, has_summary=True)
    tell(alice, 1, first=5)
    assert request(alice, has_summary=True)
    # The first request's job is still in the queue, and serves both requests.
    assert len(jobs()) == 1


def test_a_request_that_is_under_way_is_not_made_again_until_it_expires(alice, settings):
    tell(alice, 5)
    assert request(alice, has_summary=True)
    late = NOW + timedelta(seconds=settings.MEMOS_SUMMARY_LOCK_SECONDS)
    assert not request(alice, has_summary=True, now=late)
    assert request(alice, has_summary=True, now=late + timedelta(seconds=1))
    assert len(jobs()) == 1  # the first job still waits: a second one would do the same


def test_a_request_is_rolled_back_with_its_transaction(alice):
    tell(alice, 5)
    with transaction.atomic():
        assert request_if_due(alice.scope, session="s1", has_summary=True, now=NOW)
        transaction.set_rollback(True)
    assert jobs() == []
    assert Session.objects.across_namespaces().get().summary_requested_at is None


def test_a_session_whose_job_was_lost_is_found(alice, bob, settings):
    tell(alice, 5)
    tell(bob, 3)
    assert request(alice, has_summary=True)
    queued_jobs().delete()
    lock = timedelta(seconds=settings.MEMOS_SUMMARY_LOCK_SECONDS + 1)

    assert request_overdue(now=NOW) == 0
    assert request_overdue(now=NOW + lock) == 1
    assert jobs() == [(alice.scope.namespace_id, "s1")]
    assert request_overdue(now=NOW + lock) == 0
    assert run_task("condense_session", *jobs()[0]) == 1
    assert request_overdue(now=NOW + 10 * lock) == 0


def test_the_scheduled_task_looks_at_the_clock(alice):
    tell(alice, 5, now=datetime.now(UTC) - timedelta(hours=1))
    assert run_task("request_missing_summaries") == 1
    assert run_task("condense_session", *jobs()[0]) == 1


@pytest.mark.parametrize("afterwards", [0, 2], ids=["empty", "goes-on"])
def test_a_reset_during_the_first_run_leaves_no_summary_of_what_is_gone(alice, monkeypatch, afterwards):
    tell(alice, 5)
    whole = condense._write_card

    def interrupted(scope: Any, batch: Any) -> Any:
        monkeypatch.setattr(condense, "_write_card", whole)
        reset_session(alice.scope, session="s1", dry_run=False, clear_audit=False, now=NOW)
        if afterwards:
            tell(alice, afterwards)
        return whole(scope, batch)

    monkeypatch.setattr(condense, "_write_card", interrupted)
    assert run(alice) == []
    assert not Condensation.objects.across_namespaces().exists()
    assert Session.objects.across_namespaces().get().summarised_turn == 0


def test_a_reset_of_a_summarised_session_during_a_run_makes_it_a_no_op(alice, monkeypatch):
    tell(alice, 5)
    run(alice)
    tell(alice, 5, first=6)
    whole = condense._write_card

    def interrupted(scope: Any, batch: Any) -> Any:
        reset_session(alice.scope, session="s1", dry_run=False, clear_audit=False, now=NOW)
        return whole(scope, batch)

    monkeypatch.setattr(condense, "_write_card", interrupted)
    assert run(alice) == []
    assert not Condensation.objects.across_namespaces().exists()
    assert Session.objects.across_namespaces().get().summarised_turn == 0


def test_a_run_that_another_overtakes_while_it_reads_stores_nothing_twice(alice):
    tell(alice, 95)
    overtaken: list[bool] = []

    def overtake(execute: Callable, sql: str, params: Any, many: bool, context: Any) -> Any:
        if 'FROM "memory_condensation"' in sql and not overtaken:
            overtaken.append(True)
            condense._store(alice.scope, "s1", batch, written, read_refresh_settings(), now=NOW)
        return execute(sql, params, many, context)

    batch = condense._next_batch(alice.scope, "s1", read_refresh_settings(), now=NOW)
    written = condense._write_card(alice.scope, batch)
    with connection.execute_wrapper(overtake):
        run(alice)
        run(alice)

    versions = Condensation.objects.across_namespaces().order_by("number")
    assert [(entry.number, entry.covers_to_turn) for entry in versions] == [(1, 40), (2, 80), (3, 95)]
    sources = [identity for entry in versions for identity in entry.source_memory_ids]
    assert len(sources) == len(set(sources)) == 95


@pytest.mark.django_db(transaction=True)
def test_of_runs_at_once_one_stores_each_version(alice):
    tell(alice, 95)
    made = together(4, lambda _: len(run(alice)))
    assert sum(made) == 3
    assert list(
        Condensation.objects.across_namespaces().order_by("number").values_list("number", "covers_to_turn")
    ) == [
        (1, 40),
        (2, 80),
        (3, 95),
    ]


@pytest.mark.django_db(transaction=True)
def test_of_many_requests_at_once_one_queues_a_job(alice):
    tell(alice, 5)
    claimed = together(8, lambda _: request(alice, has_summary=True))
    assert sorted(claimed) == [False] * 7 + [True]
    assert jobs() == [(alice.scope.namespace_id, "s1")]


def test_over_forty_rounds_a_card_stays_bounded_and_every_item_has_its_memories(alice):
    for number in range(40):
        texts = [f"Room {number}-{n} got {word} lamps for {n * 7 + number} euros." for n, word in enumerate(WORDS)]
        texts.append("千万不要在九点以前打电话。")
        ingest_batch([(alice.scope, NewMemory(session="s1", role="user", text=text)) for text in texts], now=NOW)
        run(alice)
    versions = list(Condensation.objects.across_namespaces().order_by("number"))
    assert len(versions) == 40
    assert max(card_tokens(json.loads(entry.condensed_text)) for entry in versions) <= MAX_CARD_TOKENS
    newest = versions[-1]
    card = json.loads(newest.condensed_text)
    assert card["constraints"] == ["千万不要在九点以前打电话。"]
    for bucket in CARD:
        assert len(newest.item_sources[bucket]) == len(card[bucket])
        assert all(newest.item_sources[bucket])
    named = {identity for lists in newest.item_sources.values() for ids in lists for identity in ids}
    assert Memory.objects.in_scope(alice.scope).filter(pk__in=named).count() == len(named)


@pytest.mark.parametrize(
    "text", ["x" * 20_000, "😀😀😀", "...", "今天 " * 6_000], ids=["long", "emoji", "marks", "time"]
)
def test_odd_messages_make_a_card(alice, text):
    ingest_batch([(alice.scope, NewMemory(session="s1", role="user", text=text))], now=NOW)
    (stored,) = run(alice)
    assert card_tokens(json.loads(stored.condensed_text)) <= MAX_CARD_TOKENS


def test_what_is_said_of_time_stays_true_in_later_versions(alice):
    said = datetime(2026, 5, 1, 9, tzinfo=UTC)
    first = NewMemory(session="s1", role="user", speaker="Ann", text="I sold the canoe yesterday.", occurred_at=said)
    ingest_batch([(alice.scope, first)], now=NOW)
    run(alice)
    tell(alice, 6)
    (second,) = run(alice)
    assert "Ann: I sold the canoe yesterday (2026-04-30)." in json.loads(second.condensed_text)["facts"]
