"""POST /v1/query: the contract's answer, kept and replayable."""

from __future__ import annotations

from unittest import mock

import psycopg
import pytest
import redis
from django.db import connection
from django.test import override_settings

from memory.models import AuditLog, Condensation, ContextPack
from memory.stores import redis as redis_store
from memory.tasks import condense_session

QUESTION = {"namespace": "alice", "session_id": "s1", "query": "Where did Ann move?", "top_k": 3}

FIELDS = {
    "id", "source_tier", "similarity", "raw_chunks", "condensed_summary", "token_usage_original",
    "token_usage_condensed", "rerank_debug", "session_summary_id", "session_summary_cache_hit",
    "session_summary_enqueued", "context_pack_id", "context_pack",
}  # fmt: skip


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"query": ""}, "query"),
        ({"query": "q" * 2001}, "query"),
        ({"query": None}, "query"),
        ({"top_k": 0}, "top_k"),
        ({"top_k": 51}, "top_k"),
        ({"top_k": "6"}, "top_k"),
        ({"top_k": 2.5}, "top_k"),
        ({"top_k": True}, "top_k"),
        ({"session_id": ""}, "session_id"),
        ({"namespace": {}}, "namespace"),
    ],
)
def test_a_wrong_field_is_named(alice, change, field):
    answer = alice.post("/v1/query", QUESTION | change)

    assert answer.status_code == 400
    assert answer.json()["error"]["detail"][0]["field"] == field


def test_the_memory_that_answers_comes_first_with_the_whole_contract(alice, remember):
    remember(alice, "The weather is nice today.")
    wanted = remember(alice, "I will move to Lisbon in March.", speaker="Ann", metadata={"doc": "d1", "role": "x"})
    remember(alice, "Lunch was fine.", session="s2")

    answer = alice.post("/v1/query", QUESTION)

    assert answer.status_code == 200
    body = answer.json()
    assert set(body) >= FIELDS
    first = body["raw_chunks"][0]
    assert first["id"] == wanted
    assert set(first) == {"id", "tier", "text", "score", "metadata"}
    assert first["tier"] == "L2 Semantic (Vector DB)" == body["source_tier"]
    assert first["metadata"]["doc"] == "d1"
    # Ours win over the client's own of the same name.
    assert first["metadata"]["role"] == "user"
    assert first["metadata"]["overlap"] == pytest.approx(1.0)
    assert body["similarity"] == pytest.approx(max(chunk["score"] for chunk in body["raw_chunks"]))
    assert -1 <= first["score"] <= 1
    assert len(body["raw_chunks"]) == 3
    pack = body["context_pack"]
    assert pack["schema"] == "memos.context_pack.v1"
    assert (pack["namespace"], pack["session_id"], pack["query_text"]) == ("alice", "s1", QUESTION["query"])
    assert [message["text"] for message in pack["working_memory"]["l1_window"]] == [
        "The weather is nice today.",
        "I will move to Lisbon in March.",
    ]
    assert pack["retrieval"]["raw_chunks"] == body["raw_chunks"]
    assert set(pack["procedural"]) == {"prompt", "tools"}
    assert body["token_usage_condensed"] > 0


def test_every_hit_says_where_its_score_comes_from(alice, remember):
    for text in ("Ann moved to Lisbon.", "Bob stayed in Oslo.", "Ann likes tea."):
        remember(alice, text)

    body = alice.post("/v1/query", QUESTION).json()

    assert len(body["rerank_debug"]) == len(body["raw_chunks"])
    for chunk, explanation in zip(body["raw_chunks"], body["rerank_debug"], strict=True):
        components = explanation["components"]
        assert components["id"] == chunk["id"]
        assert sum(arm["weighted"] for arm in components["arms"].values()) == pytest.approx(components["final"])
        assert chunk["metadata"]["rerank_score"] == pytest.approx(components["final"], abs=1e-6)
        assert components["reason"].startswith("Found by")
    finals = [explanation["components"]["final"] for explanation in body["rerank_debug"]]
    assert finals == sorted(finals, reverse=True)


def test_the_pack_is_stored_as_it_was_handed_over(alice, remember):
    remember(alice, "Ann moved to Lisbon.")

    body = alice.post("/v1/query", QUESTION).json()

    stored = ContextPack.objects.get(pk=body["context_pack_id"])
    assert stored.pack == body["context_pack"]
    assert (stored.token_original, stored.token_condensed) == (
        body["token_usage_original"],
        body["token_usage_condensed"],
    )
    assert set(AuditLog.objects.filter(subject=str(stored.pk)).values_list("event_type", flat=True)) == {
        "QUERY",
        "CONTEXT_PACK",
    }
    assert not AuditLog.objects.filter(details__icontains="Lisbon").exists()


def test_the_whole_namespace_is_searched_from_any_session(alice, remember):
    wanted = remember(alice, "Ann moved to Lisbon.", session="long ago")

    body = alice.post("/v1/query", QUESTION | {"session_id": "new"}).json()

    assert body["raw_chunks"][0]["id"] == wanted


def test_an_empty_namespace_answers_with_nothing(alice):
    body = alice.post("/v1/query", QUESTION).json()

    assert body["raw_chunks"] == []
    assert body["similarity"] == 0
    assert body["source_tier"] == "L1 Scratchpad (Redis)"
    assert body["session_summary_enqueued"] is False


@pytest.mark.parametrize(
    "text",
    [
        "the of and is",
        "?!... --",
        "😀🎉",
        "'; DROP TABLE memory_memory; --",
        "a & b | !c <-> d:*",
        "mixed 中文 and Ελληνικά",
        "x" * 2000,
        "\t\n",
        "%s %(name)s",
    ],
)
def test_questions_without_plain_words_are_answered(alice, remember, text):
    remember(alice, "Ann moved to Lisbon; 她搬到了里斯本。")

    answer = alice.post("/v1/query", QUESTION | {"query": text})

    assert answer.status_code == 200
    assert len(answer.json()["raw_chunks"]) == 1


def test_a_summary_is_asked_for_once_and_then_handed_over(alice, remember):
    for text in ("We decided to use PostgreSQL.", "I prefer tea.", "Never deploy on Friday.", "Remember the backup."):
        remember(alice, text)
    first = alice.post("/v1/query", QUESTION).json()
    assert first["session_summary_enqueued"] is True
    assert first["session_summary_cache_hit"] is False
    # One flight a session.
    assert alice.post("/v1/query", QUESTION).json()["session_summary_enqueued"] is False

    assert condense_session(alice.scope.namespace_id, "s1") == 1

    second = alice.post("/v1/query", QUESTION).json()
    summary = Condensation.objects.get()
    assert second["session_summary_id"] == str(summary.pk)
    assert second["session_summary_cache_hit"] is True
    assert second["condensed_summary"] == summary.condensed_text
    assert second["context_pack"]["working_memory"]["session_summary"]["schema"] == "memos.memory_card.v2"


def test_a_query_asks_for_the_first_summary_of_a_short_session(alice, remember):
    remember(alice, "Hello there, I am Ann.")

    assert alice.post("/v1/query", QUESTION).json()["session_summary_enqueued"] is True
    assert alice.post("/v1/query", QUESTION).json()["session_summary_enqueued"] is False


def test_with_redis_away_the_question_is_answered_without_the_window(alice, remember):
    remember(alice, "Ann moved to Lisbon.")
    with mock.patch.object(redis_store, "get_redis_connection", side_effect=redis.ConnectionError("away")):
        body = alice.post("/v1/query", QUESTION).json()

    assert body["degraded"] == ["session_window_unavailable"]
    assert len(body["raw_chunks"]) == 1
    assert body["context_pack"]["working_memory"]["l1_window"] == []


@override_settings(
    MEMOS_EMBEDDING_PROVIDER="openai",
    MEMOS_EMBEDDING_BASE_URL="http://127.0.0.1:9/v1",
    MEMOS_EMBEDDING_DIMENSIONS=8,
    MEMOS_EMBEDDING_TIMEOUT_SECONDS=0.5,
)
def test_with_the_embedding_provider_away_a_query_says_so(alice):
    answer = alice.post("/v1/query", QUESTION)

    assert answer.status_code == 503
    error = answer.json()["error"]
    assert error["code"] == "embedding_unavailable"
    assert "MEMOS_EMBEDDING_BASE_URL" in error["message"]


@pytest.mark.django_db(transaction=True)
def test_a_search_that_takes_too_long_is_answered_503_with_what_to_do(alice, remember, settings):
    remember(alice, "green tea")
    settings.MEMOS_SEARCH_TIMEOUT_MS = 100
    where = connection.get_connection_params()
    with psycopg.connect(host=where["host"], user=where["user"], dbname=where["dbname"]) as other:
        other.execute("LOCK TABLE memory_posting IN ACCESS EXCLUSIVE MODE")
        answer = alice.post("/v1/query", {"namespace": "alice", "session_id": "s1", "query": "tea"})
    assert answer.status_code == 503
    error = answer.json()["error"]
    assert error["code"] == "search_timeout"
    assert "100 ms" in error["message"]
    assert "MEMOS_SEARCH_TIMEOUT_MS" in error["message"]
    assert alice.post("/v1/query", {"namespace": "alice", "session_id": "s1", "query": "tea"}).status_code == 200
