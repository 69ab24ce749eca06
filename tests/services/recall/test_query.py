"""Answering a question: the pack, its token counts, and the stored pack."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any
from unittest import mock

import pytest
import redis
from django.test import override_settings

from memory.demo.procedures import demo_procedures
from memory.models import AuditLog, ContextPack, Session
from memory.policy_values import DEFAULTS
from memory.services.recall.query import QueryAnswer, query
from memory.services.recall.search import Ask
from memory.services.sessions.reset import reset_session
from memory.services.sessions.seed import ensure_procedures
from memory.services.summaries.condense import condense_session
from memory.services.usage.saved import count_saved
from memory.stores import redis as redis_store
from memory.stores import window
from memory.text.tokens import count_tokens
from memory.types import system_access
from tests.job_queue import queued_jobs

NOW = datetime(2026, 5, 8, 12, tzinfo=UTC)


def ask(
    tenant: Any,
    text: str = "tea?",
    *,
    session: str = "s1",
    top_k: int = 5,
    now: datetime = NOW,
    as_of: datetime | None = None,
) -> QueryAnswer:
    return query(tenant.scope, Ask(text, top_k, now, as_of=as_of), session=session)


def test_an_empty_namespace_is_answered_with_nothing(alice):
    answer = ask(alice)
    assert (answer.retrieval.hits, answer.explanations, answer.similarity) == ([], [], 0)
    assert (answer.condensed_summary, answer.token_original) == ("", 0)
    assert answer.pack["text"] == "Memories:\n- No stored memory answers this question.\n"
    assert answer.token_condensed == answer.pack["manifest"]["tokens"]
    assert not answer.summary_enqueued
    assert answer.degraded == []


def test_the_pack_and_its_events_are_kept(alice, remember):
    remember(alice, "I prefer green tea.")
    answer = ask(alice)

    stored = ContextPack.objects.across_namespaces().get()
    assert stored.pk == answer.pack_id
    assert (stored.namespace_id, stored.session, stored.query_text) == (alice.scope.namespace_id, "s1", "tea?")
    assert stored.pack == json.loads(json.dumps(answer.pack))
    assert (stored.retrieved_count, stored.token_original) == (1, answer.token_original)
    events = {event.event_type: event for event in AuditLog.objects.across_namespaces().exclude(event_type="INGEST")}
    assert set(events) >= {"QUERY", "CONTEXT_PACK"}
    assert events["QUERY"].details["hits"] == 1
    assert {events[kind].subject for kind in ("QUERY", "CONTEXT_PACK")} == {str(answer.pack_id)}


def test_what_the_window_shows_is_not_told_or_counted_twice(alice, remember):
    text = "I prefer green tea."
    remember(alice, text)
    once = ask(alice)
    assert once.condensed_summary.count(text) == 1
    assert once.token_original == count_tokens(text)

    window.forget(alice.scope.namespace_id, "s1")
    from_memory = ask(alice)
    assert from_memory.condensed_summary.startswith("Memories:\n- [")
    assert from_memory.token_original == count_tokens(text)


def test_a_summary_counts_for_the_turns_that_it_stands_for(alice, remember):
    for text in ("I prefer green tea.", "We ship on Friday.", "Never call before nine."):
        remember(alice, text)
    (stored,) = condense_session(alice.scope, session="s1", now=NOW)
    answer = ask(alice)

    assert answer.summary.id == stored.pk
    assert answer.condensed_summary == stored.condensed_text
    memory = answer.pack["working_memory"]
    assert memory["session_summary_id"] == str(stored.pk)
    assert memory["session_summary"] == stored.condensed_text
    assert answer.token_original == stored.token_original
    assert ContextPack.objects.across_namespaces().get().session_summary_id == stored.pk


def test_a_summary_tells_what_left_the_window(alice, remember, settings):
    settings.MEMOS_WINDOW_MESSAGES = 2
    texts = ("I prefer green tea.", "We ship on Friday.", "Never call before nine.", "My desk is in room 42.")
    for text in texts:
        remember(alice, text)
    condense_session(alice.scope, session="s1", now=NOW)

    summary, rest = ask(alice).pack["text"].split("Latest messages:\n")

    assert [text in summary for text in texts] == [True, True, False, False]
    assert [text in rest.split("Memories:")[0] for text in texts] == [False, False, True, True]


def test_a_session_of_two_turns_costs_its_turns_and_saves_nothing(alice, remember):
    texts = ("I prefer green tea.", "Never call before nine.")
    for text in texts:
        remember(alice, text)
    condense_session(alice.scope, session="s1", now=NOW)

    answer = ask(alice)

    assert answer.pack["text"] == "Latest messages:\n" + "".join(f"- user: {text}\n" for text in texts)
    assert answer.token_original == sum(map(count_tokens, texts)) < answer.token_condensed
    assert count_saved(system_access("test"), now=NOW).saved == 0


def test_the_whole_history_of_the_session_is_what_a_pack_stands_for(alice, remember):
    texts = [f"Shelf {number} holds {number * 7} jars of glaze and {number} brushes." for number in range(60)]
    for text in texts[:40]:
        remember(alice, text)
    condense_session(alice.scope, session="s1", now=NOW)
    for text in texts[40:]:
        remember(alice, text)
    elsewhere = "I prefer green tea."
    remember(alice, elsewhere, session="s2")

    answer = ask(alice)

    history = sum(map(count_tokens, texts))
    assert elsewhere in answer.pack["text"]
    assert answer.token_original == history + count_tokens(elsewhere)
    saved = count_saved(system_access("test"), now=NOW)
    assert (saved.packs, saved.saved) == (1, answer.token_original - answer.token_condensed)


@override_settings(MEMOS_POLICY=DEFAULTS | {"summary.messages": 2})
def test_a_look_into_the_past_shows_the_summary_of_then_and_asks_for_none(alice, remember):
    remember(alice, "I prefer green tea.")
    assert not ask(alice, as_of=NOW).summary_enqueued
    (first,) = condense_session(alice.scope, session="s1", now=NOW)
    for text in ("We ship on Friday.", "Never call before nine."):
        remember(alice, text)
    (second,) = condense_session(alice.scope, session="s1", now=NOW + timedelta(days=1))

    assert ask(alice, as_of=NOW - timedelta(seconds=1)).summary is None
    assert ask(alice, as_of=NOW).summary.id == first.pk
    assert ask(alice, as_of=NOW + timedelta(days=1)).summary.id == ask(alice).summary.id == second.pk


def test_the_first_query_asks_for_a_summary_once(alice, remember):
    remember(alice, "I prefer green tea.")
    assert [ask(alice).summary_enqueued for _ in range(3)] == [True, False, False]
    assert queued_jobs().count() == 1
    assert Session.objects.across_namespaces().get().summary_requested_at == NOW


def test_a_request_that_nobody_fulfilled_is_made_again(alice, remember, settings):
    remember(alice, "I prefer green tea.")
    ask(alice)
    late = NOW + timedelta(seconds=settings.MEMOS_SUMMARY_LOCK_SECONDS + 1)
    assert ask(alice, now=late).summary_enqueued


@override_settings(MEMOS_POLICY=DEFAULTS | {"summary.messages": 2})
def test_a_refresh_is_asked_for_after_enough_messages(alice, remember):
    remember(alice, "I prefer green tea.")
    condense_session(alice.scope, session="s1", now=NOW)
    remember(alice, "More.")
    assert not ask(alice).summary_enqueued
    remember(alice, "And more.")
    assert ask(alice).summary_enqueued


def test_other_sessions_are_searched_but_their_window_and_summary_are_not_shown(alice, remember):
    remember(alice, "I prefer green tea.", session="s1")
    condense_session(alice.scope, session="s1", now=NOW)
    answer = ask(alice, session="s2")
    assert [hit.text for hit in answer.retrieval.hits] == ["I prefer green tea."]
    assert answer.summary is None
    assert answer.pack["working_memory"] == {"l1_window": [], "session_summary": "", "session_summary_id": None}


def test_with_redis_away_memories_answer_and_the_answer_says_what_is_missing(alice, remember):
    remember(alice, "I prefer green tea.")
    with mock.patch.object(redis_store, "get_redis_connection", side_effect=redis.ConnectionError("away")):
        answer = ask(alice)
    assert answer.degraded == ["session_window_unavailable"]
    assert [hit.text for hit in answer.retrieval.hits] == ["I prefer green tea."]
    assert AuditLog.objects.across_namespaces().get(event_type="QUERY").details["degraded"] == answer.degraded


def test_after_a_reset_nothing_of_the_session_is_handed_over(alice, remember):
    remember(alice, "I prefer green tea.")
    condense_session(alice.scope, session="s1", now=NOW)
    ask(alice)
    reset_session(alice.scope, session="s1", dry_run=False, clear_audit=False, now=NOW)
    answer = ask(alice)
    assert (answer.retrieval.hits, answer.summary, answer.condensed_summary) == ([], None, "")


def test_texts_of_any_script_are_asked_for(alice, remember):
    for text in ("我们决定用 Redis 做限流", "😀", "naïve Café"):
        remember(alice, text)
    assert ask(alice, "限流").retrieval.hits[0].text == "我们决定用 Redis 做限流"
    assert ask(alice, "cafe\u0301").retrieval.hits[0].text == "naïve Café"
    assert len(ask(alice, "?!", top_k=2).retrieval.hits) == 2


@pytest.mark.parametrize("top_k", [1, 3])
def test_as_many_as_asked_for_come_back(alice, remember, top_k):
    for number in range(5):
        remember(alice, f"tea number {number}")
    assert len(ask(alice, top_k=top_k).retrieval.hits) == top_k


def test_two_questions_of_a_session_share_all_but_their_hits(alice, remember):
    ensure_procedures(demo_procedures(alice.scope.namespace_id))
    remember(alice, "The kiln cracked.", session="workshop")
    remember(alice, "Tea is in the cupboard.", session="kitchen")
    for number in range(26):
        remember(alice, f"Message {number}.")
    condense_session(alice.scope, session="s1", now=NOW)
    before, memories, _ = ask(alice, "Tea?").pack["text"].partition("Memories:\n")
    assert memories

    for text in ("Which kiln?", "It cracked."):
        remember(alice, text)
    second = ask(alice, "What happened to the kiln?").pack["text"]

    assert second.startswith(before)
    assert [before.count(heading) for heading in ("Instructions:", "Summary of the session:", "Latest messages:")] == [
        1,
        1,
        1,
    ]


def test_instructions_are_in_the_text_and_not_in_the_summary_that_stands_in(alice, remember):
    remember(alice, "I prefer green tea.")
    plain = ask(alice)
    ensure_procedures(demo_procedures(alice.scope.namespace_id))
    answer = ask(alice)

    assert answer.pack["text"].startswith("Instructions:\n- Answer from the memories")
    assert answer.condensed_summary == plain.condensed_summary == "Latest messages:\n- user: I prefer green tea."
    # These tokens cost the same either way, so they are not savings.
    assert answer.token_original - answer.token_condensed == plain.token_original - plain.token_condensed
