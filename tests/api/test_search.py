"""POST /v1/search: hits with their reasons; a search leaves one audit event and no other trace."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest
from django.apps import apps
from django.test import override_settings
from django.utils import timezone

from memory import caches
from memory.models import AuditLog, EmbeddingModel, Memory, Namespace
from memory.services.tenancy import policy

QUESTION = {"namespace": "alice", "query": "Where did Ann move?", "top_k": 3}


def row_counts() -> dict[str, int]:
    return {model._meta.label: model._base_manager.count() for model in apps.get_models()}


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"query": ""}, "query"),
        ({"query": "q" * 2001}, "query"),
        ({"query": 7}, "query"),
        ({"top_k": 0}, "top_k"),
        ({"top_k": 51}, "top_k"),
        ({"namespace": None}, "namespace"),
        ({"dry_run": "yes"}, "dry_run"),
    ],
)
def test_a_wrong_field_is_named(alice, change, field):
    answer = alice.post("/v1/search", QUESTION | change)

    assert answer.status_code == 400
    assert answer.json()["error"]["detail"][0]["field"] == field


def test_without_a_key_or_with_one_that_may_only_write_it_is_refused(olga, make_tenant):
    assert olga.post("/v1/search", QUESTION, content_type="application/json").status_code == 401
    writer = make_tenant("alice", scopes=("write",))
    assert writer.post("/v1/search", QUESTION).status_code == 403


@pytest.mark.parametrize("namespace", ["bob", "nobody"])
def test_another_tenants_namespace_looks_like_none(alice, bob, remember, namespace):
    remember(bob, "Ann moved to Lisbon.")

    answer = alice.post("/v1/search", QUESTION | {"namespace": namespace})

    assert answer.status_code == 404
    assert namespace in answer.json()["error"]["message"]


def test_no_namespace_is_made(make_tenant):
    anyone = make_tenant("any", all_namespaces=True)

    assert anyone.post("/v1/search", QUESTION | {"namespace": "new"}).json()["degraded"] == ["namespace_unknown"]
    assert not Namespace.objects.filter(name="new").exists()


@override_settings(
    MEMOS_EMBEDDING_PROVIDER="openai",
    MEMOS_EMBEDDING_BASE_URL="http://127.0.0.1:9/v1",
    MEMOS_EMBEDDING_DIMENSIONS=8,
    MEMOS_EMBEDDING_TIMEOUT_SECONDS=0.5,
)
def test_with_the_embedding_provider_away_it_says_so(alice):
    answer = alice.post("/v1/search", QUESTION)

    assert answer.status_code == 503
    assert answer.json()["error"]["code"] == "embedding_unavailable"


def test_on_a_server_without_a_model_a_dry_run_chooses_none(alice):
    answer = alice.post("/v1/search", QUESTION | {"dry_run": True})

    assert answer.status_code == 503
    assert "remember something first" in answer.json()["error"]["message"]
    assert not EmbeddingModel.objects.exists()


def test_the_memory_that_answers_comes_first_and_says_why(alice, bob, remember):
    remember(bob, "Ann moved to Berlin.")
    remember(alice, "The weather is nice today.")
    wanted = remember(alice, "I will move to Lisbon in March.", speaker="Ann", session="s2", metadata={"doc": "d1"})

    answer = alice.post("/v1/search", QUESTION)

    assert answer.status_code == 200
    body = answer.json()
    assert set(body) == {"hits", "answerable", "dropped", "weights", "milliseconds", "dry_run", "degraded"}
    assert [hit["text"] for hit in body["hits"]] == ["I will move to Lisbon in March.", "The weather is nice today."]
    first = body["hits"][0]
    assert first["id"] == wanted == first["explanation"]["id"]
    fields = {"id", "tier", "text", "score", "relevance", "metadata", "retired_statements", "explanation"}
    assert set(first) == fields
    assert (first["metadata"]["doc"], first["metadata"]["session_id"]) == ("d1", "s2")
    assert body["weights"]["dense"] + body["weights"]["lexical"] == pytest.approx(1)
    assert {"question", "words", "meaning"} <= set(body["milliseconds"])
    assert (body["dry_run"], body["degraded"]) == (False, [])


def test_the_hits_are_those_of_a_query(alice, remember):
    for text in ("Ann moved to Lisbon.", "Bob stayed in Oslo.", "Ann likes tea.", "Ann sold the boat."):
        remember(alice, text)

    found = alice.post("/v1/search", QUESTION).json()["hits"]
    body = alice.post("/v1/query", QUESTION | {"session_id": "s1"}).json()

    assert [{**hit, "explanation": None} for hit in found] == [
        {**chunk, "explanation": None} for chunk in body["raw_chunks"]
    ]
    assert [hit["explanation"] for hit in found] == [entry["explanation"] for entry in body["rerank_debug"]]


def test_one_audit_event_is_all_that_is_kept_and_a_dry_run_keeps_none(alice, remember):
    remember(alice, "Ann moved to Lisbon.")
    alice.post("/v1/search", QUESTION)
    before = row_counts()

    dry = alice.post("/v1/search", QUESTION | {"dry_run": True}).json()
    assert row_counts() == before
    wet = alice.post("/v1/search", QUESTION).json()

    assert row_counts() == before | {"memory.AuditLog": before["memory.AuditLog"] + 1}
    event: Any = AuditLog.objects.across_namespaces().order_by("-created_at")[0]
    assert (event.event_type, event.session, event.actor) == ("QUERY", "", alice.scope.actor)
    assert event.details["hits"] == 1
    assert "Lisbon" not in str(event.details)
    assert (dry["dry_run"], wet["dry_run"]) == (True, False)
    assert dry["hits"] == wet["hits"]


def test_a_search_costs_as_many_statements_as_hits_are_few_or_many(alice, remember, monkeypatch):
    for number in range(12):
        remember(alice, f"Ann moved {number} times.")
    alice.post("/v1/search", QUESTION)
    counts: list[int] = []

    class Counting(psycopg.Cursor):
        def execute(self, *arguments: Any, **named: Any) -> Any:
            counts[-1] += 1
            return super().execute(*arguments, **named)

    monkeypatch.setattr(psycopg, "Cursor", Counting)
    for top_k in (1, 12):
        counts.append(0)
        assert len(alice.post("/v1/search", QUESTION | {"top_k": top_k}).json()["hits"]) == top_k

    # The statements: the key, the limit and its end, words and names, meaning and features, texts, the audit event.
    assert counts == [7, 7]


def test_an_empty_namespace_answers_with_nothing(alice, remember):
    remember(alice, "Ann moved to Lisbon.")
    Memory.objects.across_namespaces().delete()

    assert alice.post("/v1/search", QUESTION).json()["hits"] == []


def test_a_namespace_may_want_repetitions_told(alice, remember):
    for _ in range(3):
        remember(alice, "Ann moved to Lisbon.")
    assert len(alice.post("/v1/search", QUESTION).json()["hits"]) == 1

    policy.put_policy(alice.scope, wanted={"duplicates": {"collapse": False}}, now=timezone.now())
    caches.forget_all()

    assert len(alice.post("/v1/search", QUESTION).json()["hits"]) == 3


def test_metadata_of_a_client_does_not_pass_for_what_memos_says_of_a_hit(alice, remember):
    own = {"suspected": False, "later": "never", "retired_statements": "none", "document": "handbook.pdf"}
    remember(alice, "Ann moved to Lisbon.", metadata=own)

    (hit,) = alice.post("/v1/search", QUESTION).json()["hits"]

    assert not {"suspected", "later", "retired_statements"} & set(hit["metadata"])
    assert hit["metadata"]["document"] == "handbook.pdf"
