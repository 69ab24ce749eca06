"""POST /v1/query: the contract's answer, kept and replayable."""

from __future__ import annotations

from datetime import UTC, datetime
from unittest import mock

import psycopg
import pytest
import redis
from django.apps import apps
from django.db import connection
from django.test import override_settings

from memory.models import AuditLog, Condensation, ContextPack, Memory, Namespace
from memory.stores import redis as redis_store
from memory.text.tokens import count_tokens
from tests.job_queue import run_task

QUESTION = {"namespace": "alice", "session_id": "s1", "query": "Where did Ann move?", "top_k": 3}

FIELDS = {
    "id", "source_tier", "similarity", "raw_chunks", "condensed_summary", "token_usage_original",
    "token_usage_condensed", "rerank_debug", "dropped", "session_summary_id", "session_summary_cache_hit",
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
        ({"max_tokens": 0}, "max_tokens"),
        ({"max_tokens": 200_001}, "max_tokens"),
        ({"max_tokens": "800"}, "max_tokens"),
        ({"dry_run": 1}, "dry_run"),
        ({"namespace": {}}, "namespace"),
        ({"filter": []}, "filter"),
        ({"filter": {"colour": "red"}}, "filter.colour"),
        ({"filter": {"metadata.n": {"gt": True}}}, "filter.metadata.n.gt"),
        ({"filter": {"or": [{"role": "user"}, {"role": "boss"}]}}, "filter.or[1].role"),
        ({"filter": {"occurred_at": {"gte": "yesterday"}}}, "filter.occurred_at.gte"),
        ({"filter": {"session_id": {"in": ["s1", 2]}}}, "filter.session_id.in[1]"),
        ({"filter": {"metadata.n": "a\0b"}}, "filter.metadata.n"),
        (
            {"filter": {"metadata.n'; DROP TABLE memory_memory; --": {"= 1 OR": 1}}},
            "filter.metadata.n'; DROP TABLE memory_memory; --",
        ),
        ({"as_of": "yesterday"}, "as_of"),
        ({"as_of": 1_700_000_000}, "as_of"),
        ({"as_of": "0001-01-01T00:00:00+23:59"}, "as_of"),
    ],
)
def test_a_wrong_field_is_named(alice, change, field):
    answer = alice.post("/v1/query", QUESTION | change)

    assert answer.status_code == 400
    assert answer.json()["error"]["detail"][0]["field"] == field


def test_a_dry_run_makes_no_namespace(make_tenant):
    anyone = make_tenant("any", all_namespaces=True)

    answer = anyone.post("/v1/query", QUESTION | {"namespace": "new", "dry_run": True})

    assert answer.json()["degraded"] == ["namespace_unknown"]
    assert not Namespace.objects.filter(name="new").exists()


@pytest.mark.parametrize("word", ["and", "or", "not"])
def test_a_filter_that_is_nested_too_deep_is_refused_by_its_place(alice, word):
    data: object = {"role": "user"}
    for _ in range(20):
        data = {word: data} if word == "not" else {word: [data]}

    answer = alice.post("/v1/query", QUESTION | {"filter": data})

    assert answer.status_code == 400
    (problem,) = answer.json()["error"]["detail"]
    place = ".".join([word if word == "not" else f"{word}[0]"] * 6)
    assert problem == {"field": f"filter.{place}", "problem": "is nested more than 5 levels deep."}


def test_every_wrong_field_is_named_beside_a_wrong_filter(alice):
    answer = alice.post("/v1/query", QUESTION | {"top_k": 0, "filter": {"role": 1}, "as_of": "never"})

    assert {problem["field"] for problem in answer.json()["error"]["detail"]} == {"top_k", "filter.role", "as_of"}


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
    assert set(first) == {"id", "tier", "text", "score", "relevance", "metadata", "retired_statements"}
    assert first["tier"] == "L2 Semantic (Vector DB)" == body["source_tier"]
    assert first["metadata"]["doc"] == "d1"
    # MemOS's own fields replace the client's fields of the same name.
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
        explained = explanation["explanation"]
        assert explained["id"] == chunk["id"]
        parts = {**explained["arms"], **explained["signals"]}
        assert explanation["components"] == {name: part["weighted"] for name, part in parts.items()}
        assert sum(explanation["components"].values()) == pytest.approx(explained["final"])
        assert chunk["metadata"]["final_score"] == pytest.approx(explained["final"], abs=1e-6)
        assert explained["reason"].startswith("Found ")
    finals = [explanation["explanation"]["final"] for explanation in body["rerank_debug"]]
    assert finals == sorted(finals, reverse=True)
    within = [chunk["metadata"]["rerank_score"] for chunk in body["raw_chunks"]]
    assert within == sorted(within, reverse=True)
    assert all(0 <= score <= 1 for score in within)


def test_the_pack_is_stored_as_it_was_handed_over(alice, remember):
    remember(alice, "Ann moved to Lisbon.")

    body = alice.post("/v1/query", QUESTION).json()

    stored = ContextPack.objects.across_namespaces().get(pk=body["context_pack_id"])
    assert stored.pack == body["context_pack"]
    assert (stored.token_original, stored.token_condensed) == (
        body["token_usage_original"],
        body["token_usage_condensed"],
    )
    assert set(
        AuditLog.objects.across_namespaces().filter(subject=str(stored.pk)).values_list("event_type", flat=True)
    ) == {
        "QUERY",
        "CONTEXT_PACK",
    }
    assert not AuditLog.objects.across_namespaces().filter(details__icontains="Lisbon").exists()


def test_the_whole_namespace_is_searched_from_any_session(alice, remember):
    wanted = remember(alice, "Ann moved to Lisbon.", session="long ago")

    body = alice.post("/v1/query", QUESTION | {"session_id": "new"}).json()

    assert body["raw_chunks"][0]["id"] == wanted


def test_a_filter_narrows_the_search_and_leaves_the_window(alice, remember):
    wanted = remember(alice, "Ann stayed.", metadata={"project": {"name": "atlas"}, "priority": 3}, speaker="Ann")
    remember(alice, "Ann moved to Lisbon.", metadata={"project": "atlas", "priority": "3"})

    for filter_ in (
        {"metadata.project.name": "atlas"},
        {"metadata.priority": {"gte": 3}},
        {"speaker": "Ann", "not": {"metadata.project": "atlas"}},
    ):
        body = alice.post("/v1/query", QUESTION | {"filter": filter_}).json()
        assert [chunk["id"] for chunk in body["raw_chunks"]] == [wanted]
        assert len(body["context_pack"]["working_memory"]["l1_window"]) == 2
    event = AuditLog.objects.across_namespaces().filter(event_type="QUERY").first()
    assert event.details["filtered"] is True
    assert "atlas" not in str(event.details)


@pytest.mark.parametrize(
    "filter_",
    [
        {"metadata.absent": "x"},
        {"metadata.absent": {"ne": "x"}},
        {"metadata.absent.deeper": {"gt": 3}},
        {"metadata.project": {"gt": 3}},
        {"metadata.project": {"contains": "atlas"}},
        {"session_id": "no such session"},
        {"metadata.project": "' OR '1'='1"},
        {"metadata.project') IS NULL OR (m": "x"},
        {"speaker": "%(namespace_id)s"},
    ],
)
def test_a_filter_that_nothing_meets_answers_with_nothing(alice, bob, remember, filter_):
    remember(alice, "Ann moved to Lisbon.", metadata={"project": "atlas"})
    remember(bob, "Ann moved to Lisbon.", metadata={"absent": "x"}, session="no such session")

    answer = alice.post("/v1/query", QUESTION | {"filter": filter_})

    assert answer.status_code == 200
    assert answer.json()["raw_chunks"] == []


@pytest.mark.parametrize("nothing", [{}, {"filter": {}}, {"filter": None, "as_of": None}])
def test_without_a_filter_everything_is_searched(alice, remember, nothing):
    remember(alice, "Ann moved to Lisbon.")

    assert len(alice.post("/v1/query", QUESTION | nothing).json()["raw_chunks"]) == 1
    event = AuditLog.objects.across_namespaces().filter(event_type="QUERY").first()
    assert (event.details["filtered"], event.details["as_of"]) == (False, None)


def test_as_of_brings_back_what_was_recorded_by_then(alice, remember):
    early = remember(alice, "Ann lives in Oslo.", occurred_at=datetime(2026, 1, 1, tzinfo=UTC))
    remember(alice, "Ann moved to Lisbon.", occurred_at=datetime(2025, 1, 1, tzinfo=UTC))
    Memory.objects.across_namespaces().filter(pk=early).update(created_at=datetime(2026, 5, 8, 12, tzinfo=UTC))

    for moment in ("2026-05-08T12:00:00Z", "2026-05-08T14:00:00+02:00"):
        body = alice.post("/v1/query", QUESTION | {"as_of": moment}).json()
        assert [chunk["id"] for chunk in body["raw_chunks"]] == [early]
        assert [message["text"] for message in body["context_pack"]["working_memory"]["l1_window"]] == [
            "Ann lives in Oslo."
        ]
    later = QUESTION | {"as_of": "2026-05-08T12:00:00Z", "filter": {"occurred_at": {"gt": "2026-02-01"}}}
    assert alice.post("/v1/query", later).json()["raw_chunks"] == []
    assert alice.post("/v1/query", QUESTION | {"as_of": "2026-05-08T11:59:59Z"}).json()["raw_chunks"] == []
    assert len(alice.post("/v1/query", QUESTION | {"as_of": "9999-12-31T23:59:59Z"}).json()["raw_chunks"]) == 2


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
    # A session is summarised by one job at a time.
    assert alice.post("/v1/query", QUESTION).json()["session_summary_enqueued"] is False

    assert run_task("condense_session", alice.scope.namespace_id, "s1") == 1

    second = alice.post("/v1/query", QUESTION).json()
    summary = Condensation.objects.across_namespaces().get()
    assert second["session_summary_id"] == str(summary.pk)
    assert second["session_summary_cache_hit"] is True
    assert second["condensed_summary"] == summary.condensed_text
    assert second["context_pack"]["working_memory"]["session_summary"] == summary.condensed_text


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


def test_a_dry_run_answers_the_same_and_leaves_no_trace(alice, remember):
    remember(alice, "Ann moved to Lisbon.")
    alice.post("/v1/query", QUESTION | {"session_id": "other"})

    def rows() -> dict[str, int]:
        return {model._meta.label: model._base_manager.count() for model in apps.get_models()}

    before = rows()
    dry = alice.post("/v1/query", QUESTION | {"dry_run": True}).json()
    assert rows() == before
    wet = alice.post("/v1/query", QUESTION).json()

    assert (dry["dry_run"], dry["id"], dry["context_pack_id"]) == (True, None, None)
    assert (dry["session_summary_enqueued"], wet["session_summary_enqueued"]) == (False, True)
    assert wet["dry_run"] is False
    changed = {"dry_run", "id", "context_pack_id", "session_summary_enqueued"}
    assert {name: dry[name] for name in dry.keys() - changed} == {name: wet[name] for name in wet.keys() - changed}


@pytest.mark.parametrize("tokenizer", ["o200k_base", "cl100k_base"])
def test_the_text_has_as_many_tokens_as_asked_for_at_most(alice, remember, settings, tokenizer):
    settings.MEMOS_TOKENIZER = tokenizer
    for number in range(6):
        remember(alice, f"Ann moved house {number} times. 她搬家了。", session="long ago")
    whole = alice.post("/v1/query", QUESTION | {"max_tokens": None}).json()
    assert whole["context_pack"]["manifest"]["max_tokens"] is None

    body = alice.post("/v1/query", QUESTION | {"max_tokens": 40}).json()

    pack = body["context_pack"]
    assert 0 < count_tokens(pack["text"], tokenizer) == body["token_usage_condensed"] <= 40
    assert whole["token_usage_condensed"] == count_tokens(whole["context_pack"]["text"], tokenizer) > 40
    manifest = pack["manifest"]
    assert (manifest["tokenizer"], manifest["max_tokens"], manifest["tokens"]) == (
        tokenizer,
        40,
        body["token_usage_condensed"],
    )
    (hits,) = [section["items"] for section in manifest["sections"] if section["section"] == "hits"]
    assert [entry["id"] for entry in hits] == [chunk["id"] for chunk in body["raw_chunks"]]
    assert [entry["reason"] for entry in hits][-1] == "over_budget"
    # The hits are returned in full anyway.
    assert body["raw_chunks"] == whole["raw_chunks"]
    assert body["token_usage_original"] == whole["token_usage_original"]
    assert ContextPack.objects.across_namespaces().get(pk=body["context_pack_id"]).pack == pack


def test_the_servers_budget_holds_where_the_query_names_none(alice, remember, settings):
    settings.MEMOS_PACK_MAX_TOKENS = 30
    remember(alice, "Ann moved to Lisbon. " * 20, session="long ago")

    assert alice.post("/v1/query", QUESTION).json()["token_usage_condensed"] <= 30
    assert 30 < alice.post("/v1/query", QUESTION | {"max_tokens": 60}).json()["token_usage_condensed"] <= 60


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
    assert answer["Retry-After"] == "1"
    assert "100 ms" in error["message"]
    assert alice.post("/v1/query", {"namespace": "alice", "session_id": "s1", "query": "tea"}).status_code == 200


def test_a_lean_answer_says_each_text_in_the_hits_and_in_the_packs_text_only(alice, remember):
    texts = (
        "Ann moved to Lisbon in March.",
        "We decided to use PostgreSQL.",
        "I prefer tea.",
        "Never deploy on Friday.",
    )
    pinned = [remember(alice, text) for text in texts][-1]
    assert alice.post(f"/v1/memories/{pinned}/pin", {}).status_code == 200
    assert run_task("condense_session", alice.scope.namespace_id, "s1") == 1
    body = QUESTION | {"query": "Where did Ann move? PostgreSQL, tea, Friday?", "top_k": 5, "explain": True}
    whole = alice.post("/v1/query", body).json()
    memory = whole["context_pack"]["working_memory"]
    assert len(whole["context_pack"]["durable"]) == 1
    assert len(memory["l1_window"]) == len(whole["raw_chunks"]) == len(whole["rerank_debug"]) == len(texts)
    assert memory["session_summary"] == whole["condensed_summary"] != ""

    response = alice.post("/v1/query", body | {"lean": True})
    answer = response.json()

    assert answer.keys() == whole.keys()
    assert [hit["id"] for hit in answer["raw_chunks"]] == [hit["id"] for hit in whole["raw_chunks"]]
    assert answer["context_pack"]["text"] == whole["context_pack"]["text"]
    said = response.content.decode()
    for text in texts:
        assert said.count(text) == answer["context_pack"]["text"].count(text) + 1
    kept = ContextPack.objects.get(namespace_id=alice.scope.namespace_id, id=answer["context_pack_id"])
    assert [hit["id"] for hit in kept.pack["retrieval"]["raw_chunks"]] == [hit["id"] for hit in whole["raw_chunks"]]
    assert kept.pack["durable"] == whole["context_pack"]["durable"]
