"""Summaries become due by messages, by tokens, and after a quiet time; the reason is recorded."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import transaction

from memory import caches
from memory.enums import SummaryTrigger
from memory.models import Condensation, Memory, Session
from memory.services.ingestion.ingest import ingest_batch
from memory.services.recall.context import session_context
from memory.services.summaries.condense import condense_session
from memory.services.summaries.refresh import (
    Refresh,
    read_refresh_settings,
    refresh_of,
    request_if_due,
    request_overdue,
)
from memory.services.tenancy import policy
from memory.types import NewMemory
from tests.job_queue import queued_jobs

NOW = datetime(2026, 5, 8, 12, tzinfo=UTC)
REFRESH = Refresh(messages=4, tokens=100, idle=timedelta(minutes=15))
QUIET = NOW + timedelta(minutes=16)
LONG = "The pump of the northern basin needs forty litres of oil before the frost. " * 10


def tell(tenant: Any, *texts: str, session: str = "s1") -> None:
    ingest_batch([(tenant.scope, NewMemory(session=session, role="user", text=text)) for text in texts], now=NOW)


@pytest.fixture
def summarised(alice):
    tell(alice, "We decided to ship on Friday.", "I prefer green tea.")
    condense_session(alice.scope, session="s1", now=NOW)
    queued_jobs().delete()
    return alice


def request(tenant: Any, *, now: datetime = NOW, refresh: Refresh | None = REFRESH) -> bool:
    with transaction.atomic():
        return request_if_due(tenant.scope, session="s1", has_summary=True, now=now, refresh=refresh)


def run(tenant: Any, *, now: datetime = NOW, refresh: Refresh | None = REFRESH) -> list[str]:
    made = condense_session(tenant.scope, session="s1", now=now, refresh=refresh)
    return [entry.trigger_reason for entry in made]


def test_nothing_new_is_never_due(summarised):
    assert not request(summarised, now=QUIET)
    assert request_overdue(now=QUIET, refresh=REFRESH) == 0
    assert run(summarised, now=QUIET) == []


def test_one_short_message_waits_until_the_session_is_quiet(summarised):
    tell(summarised, "The ferry leaves at seven.")
    assert not request(summarised)
    assert run(summarised) == []
    assert request_overdue(now=QUIET - timedelta(minutes=2), refresh=REFRESH) == 0

    assert request_overdue(now=QUIET, refresh=REFRESH) == 1
    assert run(summarised, now=QUIET) == [SummaryTrigger.IDLE]
    assert request_overdue(now=QUIET + timedelta(hours=1), refresh=REFRESH) == 0


def test_one_long_message_is_due_at_once(summarised):
    tell(summarised, LONG)
    assert request(summarised)
    assert run(summarised) == [SummaryTrigger.NEW_TOKENS]


def test_the_tokens_of_what_the_summary_covers_do_not_count(alice):
    tell(alice, LONG)
    condense_session(alice.scope, session="s1", now=NOW)
    queued_jobs().delete()
    tell(alice, "Short.")
    assert not request(alice)


def test_as_many_messages_are_due_at_once(summarised):
    tell(summarised, *[f"Part {number} is here." for number in range(4)])
    assert request(summarised)
    assert run(summarised) == [SummaryTrigger.NEW_MESSAGES]


def test_a_quiet_session_that_never_had_a_summary_waits_for_its_first_query(alice):
    tell(alice, "One message.")
    assert request_overdue(now=QUIET, refresh=REFRESH) == 0
    with transaction.atomic():
        assert request_if_due(alice.scope, session="s1", has_summary=False, now=QUIET, refresh=REFRESH)
    assert run(alice, now=QUIET) == [SummaryTrigger.BOOTSTRAP]


def test_without_an_idle_time_the_rest_waits_for_more(summarised):
    tell(summarised, "The ferry leaves at seven.")
    never = Refresh(messages=4, tokens=100, idle=None)
    assert not request(summarised, now=QUIET, refresh=never)
    assert request_overdue(now=QUIET, refresh=never) == 0
    assert run(summarised, now=QUIET, refresh=never) == []


def test_the_settings_are_the_default(settings):
    given = {"summary.messages": 7, "summary.tokens": 90, "summary.idle_seconds": 60}
    settings.MEMOS_POLICY = settings.MEMOS_POLICY | given
    assert read_refresh_settings() == Refresh(messages=7, tokens=90, idle=timedelta(minutes=1))
    settings.MEMOS_POLICY = settings.MEMOS_POLICY | {"summary.idle_seconds": 0}
    assert read_refresh_settings().idle is None


@pytest.mark.parametrize(
    ("texts", "now", "due"),
    [
        ((), QUIET, False),
        (("Short.",), NOW, False),
        (("Short.",), QUIET, True),
        ((LONG,), NOW, True),
        (("a", "b", "c", "d"), NOW, True),
    ],
    ids=["nothing", "short", "quiet", "long", "many"],
)
def test_a_query_sees_the_same_as_the_request(summarised, settings, texts, now, due):
    settings.MEMOS_POLICY = settings.MEMOS_POLICY | {"summary.tokens": 100}
    if texts:
        tell(summarised, *texts)
    assert session_context(summarised.scope, session="s1", now=now).summary_due is due
    assert request(summarised, now=now, refresh=None) is due


def test_archived_messages_end_the_wait_without_a_version(summarised):
    tell(summarised, LONG)
    Memory.objects.across_namespaces().filter(turn=3).update(state="archived")
    assert run(summarised) == []
    assert Session.objects.across_namespaces().get().summarised_turn == 3
    assert Condensation.objects.across_namespaces().count() == 1


def test_a_namespace_has_thresholds_of_its_own(alice, summarised):
    tell(summarised, "The ferry leaves at seven.")
    assert request_overdue(now=QUIET - timedelta(minutes=2)) == 0

    policy.put_policy(alice.scope, wanted={"summary": {"messages": 1, "tokens": 50, "idle_seconds": 0}}, now=NOW)
    caches.forget_all()

    assert refresh_of(alice.scope.namespace_id) == Refresh(1, 50, None)
    assert session_context(alice.scope, session="s1", now=NOW + timedelta(minutes=5)).summary_due
    assert request_overdue(now=QUIET - timedelta(minutes=2)) == 1


def test_ingest_asks_when_the_namespaces_own_number_is_reached(alice, settings):
    settings.MEMOS_WINDOW_MESSAGES = 2
    settings.MEMOS_POLICY = settings.MEMOS_POLICY | {"summary.messages": 2}
    policy.put_policy(alice.scope, wanted={"summary": {"messages": 4}}, now=NOW)
    caches.forget_all()

    tell(alice, "one", "two", "three")
    assert Session.objects.across_namespaces().get().summary_requested_at is None

    tell(alice, "four")
    assert Session.objects.across_namespaces().get().summary_requested_at == NOW
