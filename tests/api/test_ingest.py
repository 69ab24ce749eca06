"""POST /v1/ingest: refusals first, then storing."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from unittest import mock

import pytest
import redis
from django.test import override_settings
from django.utils import timezone

from memory.models import AuditLog, Memory, MemoryVector, NamespaceStat, Posting, Session
from memory.providers.embedding.registry import provider_for
from memory.services.index.missing_vectors import embed_pending
from memory.stores import redis as redis_store
from memory.stores import window

TURN = {"namespace": "alice", "session_id": "s1", "role": "user", "text": "I moved to Lisbon in March.", "metadata": {}}
DEEP = {"a": None}
for _ in range(40):
    DEEP = {"a": DEEP}

ROLES = "must be one of user, agent (or assistant), system (or developer), tool (or function)."
WRONG = [
    ({"text": ""}, "text", "must not be empty."),
    ({"text": None}, "text", "must not be null."),
    ({"text": 7}, "text", "must be a string."),
    ({"text": ["a"]}, "text", "must be a string."),
    ({"text": "x" * 20_001}, "text", "has more than 20000 characters."),
    ({"text": "a\0b"}, "text", "Null characters are not allowed."),
    ({"namespace": ""}, "namespace", "must not be empty."),
    ({"namespace": "n" * 129}, "namespace", "has more than 128 characters."),
    ({"session_id": 12}, "session_id", "must be a string."),
    ({"role": "robot"}, "role", ROLES),
    ({"role": None}, "role", "must not be null."),
    ({"metadata": "text"}, "metadata", "must be an object."),
    ({"metadata": [1]}, "metadata", "must be an object."),
    ({"metadata": DEEP}, "metadata", "is nested more than 16 levels deep."),
    ({"metadata": {"k": "x" * 70_000}}, "metadata", "has more than 65536 bytes as JSON."),
    ({"metadata": {"k": "a\0"}}, "metadata.k", "holds a NUL character."),
    ({"metadata": {"a\0": 1}}, "metadata", "holds a NUL character."),
    ({"occurred_at": "yesterday"}, "occurred_at", "must be an ISO 8601 date and time such as 2026-05-08T13:56:00Z."),
    ({"occurred_at": 1_700_000_000}, "occurred_at", "must be an ISO 8601 date and time such as 2026-05-08T13:56:00Z."),
    ({"speaker": "s" * 129}, "speaker", "has more than 128 characters."),
]


@pytest.mark.parametrize(("change", "field", "problem"), WRONG, ids=[f"{f}-{i}" for i, (_, f, _) in enumerate(WRONG)])
def test_a_wrong_field_is_named_and_nothing_is_kept(alice, change, field, problem):
    answer = alice.post("/v1/ingest", TURN | change)

    assert answer.status_code == 400
    error = answer.json()["error"]
    assert error["code"] == "invalid_request"
    assert {"field": field, "problem": problem} in error["detail"]
    assert error["request_id"] == answer["X-Request-ID"]
    assert not Memory.objects.across_namespaces().exists()
    assert not AuditLog.objects.across_namespaces().filter(event_type="INGEST").exists()


def test_a_missing_field_is_named(alice):
    answer = alice.post("/v1/ingest", {name: value for name, value in TURN.items() if name != "text"})

    assert answer.status_code == 400
    assert answer.json()["error"]["detail"][0]["field"] == "text"


RAW = [
    (b'{"text": "cut of', "is not valid JSON"),
    (b"", "text: is missing"),
    (b"[]", "must be a JSON object, not a list"),
    (b"null", "must be a JSON object, not null"),
    (b'{"metadata": {"score": NaN}}', "`metadata.score` is nan, which is no JSON number"),
    (b'{"metadata": {"scores": [1, -Infinity]}}', "`metadata.scores[1]` is -inf, which is no JSON number"),
    (b'{"text": "\\ud800"}', "`text` holds a lone surrogate"),
    (b'{"metadata": {"\\udfff": 1}}', "a name inside `metadata` holds a lone surrogate"),
    (b'{"text": "\xff\xfe"}', "is not UTF-8"),
    (b'{"metadata": ' + b'{"a":' * 3000 + b"1" + b"}" * 3000 + b"}", "nested too deep"),
    (b'{"metadata": {"n": ' + b"9" * 5000 + b"}}", "is not valid JSON"),
]


@pytest.mark.parametrize(("body", "reason"), RAW, ids=range(len(RAW)))
def test_a_body_that_is_no_json_object_is_refused_with_the_place(alice, body, reason):
    answer = alice.client.post("/v1/ingest", data=body, content_type="application/json")

    assert answer.status_code == 400
    assert reason in answer.json()["error"]["message"]


def test_another_content_type_is_refused(alice):
    answer = alice.client.post("/v1/ingest", data="text=hello", content_type="text/plain")

    assert answer.status_code == 415
    assert "application/json" in answer.json()["error"]["message"]


@override_settings(MEMOS_MAX_BODY_BYTES=1000)
def test_a_body_above_the_limit_is_refused(alice):
    answer = alice.post("/v1/ingest", TURN | {"text": "x" * 1500})

    assert answer.status_code == 413
    assert answer.json()["error"]["code"] == "payload_too_large"


def test_a_turn_is_kept_with_vector_terms_counts_window_and_audit(alice):
    happened = datetime(2026, 3, 1, 9, 30, tzinfo=UTC)
    body = TURN | {"speaker": "Ann", "occurred_at": happened.isoformat(), "metadata": {"trip": 1}}

    answer = alice.post("/v1/ingest", body)

    assert answer.status_code == 200
    assert answer.json()["accepted"] is True
    assert answer.json()["degraded"] == []
    memory = Memory.objects.across_namespaces().get(pk=answer.json()["memory_id"])
    assert (memory.namespace.name, memory.session, memory.turn) == ("alice", "s1", 1)
    assert (memory.role, memory.speaker, memory.text) == ("user", "Ann", TURN["text"])
    assert memory.metadata == {"trip": 1}
    assert memory.occurred_at == happened
    assert timezone.now() - memory.created_at < timedelta(minutes=1)
    assert "lisbon" in memory.terms
    assert MemoryVector.objects.across_namespaces().get(memory_id=memory.pk).searchable
    assert set(Posting.objects.across_namespaces().filter(memory_id=memory.pk).values_list("term", flat=True)) == set(
        memory.terms
    )
    stat = NamespaceStat.objects.get(namespace=memory.namespace)
    assert (stat.memories, stat.terms) == (1, memory.length)
    (message,) = window.read(memory.namespace_id, "s1")
    assert (message.memory_id, message.text, message.speaker) == (str(memory.pk), TURN["text"], "Ann")
    event = AuditLog.objects.across_namespaces().get(event_type="INGEST")
    assert event.subject == str(memory.pk)
    assert event.actor == alice.scope.actor
    assert TURN["text"] not in str(event.details)


def test_a_word_of_a_megabyte_is_refused_and_one_of_the_limit_is_kept(alice):
    assert alice.post("/v1/ingest", TURN | {"text": "x" * 1_000_000}).status_code == 400

    kept = alice.post("/v1/ingest", TURN | {"text": "长" * 20_000})
    assert kept.status_code == 200


@pytest.mark.parametrize("text", ["a", "!!!", " ", "the", "😀", "\u200b"])
def test_a_text_without_index_terms_is_kept_and_found_by_meaning(alice, text):
    kept = alice.post("/v1/ingest", TURN | {"text": text})

    assert kept.status_code == 200
    found = alice.post("/v1/query", {"namespace": "alice", "session_id": "s1", "query": text}).json()
    assert [chunk["id"] for chunk in found["raw_chunks"]] == [kept.json()["memory_id"]]


def test_turns_are_numbered_in_their_session(alice):
    for session in ("s1", "s2", "s1"):
        alice.post("/v1/ingest", TURN | {"session_id": session})

    places = list(Memory.objects.across_namespaces().order_by("id").values_list("session", "turn"))
    assert places == [("s1", 1), ("s2", 1), ("s1", 2)]
    assert Session.objects.across_namespaces().get(name="s1").message_count == 2


def test_the_same_key_and_body_give_the_same_answer_once(alice):
    first = alice.post("/v1/ingest", TURN, Idempotency_Key="k-1")
    second = alice.post("/v1/ingest", TURN, Idempotency_Key="k-1")

    assert first.json()["memory_id"] == second.json()["memory_id"]
    assert Memory.objects.across_namespaces().count() == 1
    assert len(window.read(alice.scope.namespace_id, "s1")) == 1


def test_the_same_key_with_another_body_is_a_conflict(alice):
    alice.post("/v1/ingest", TURN, Idempotency_Key="k-1")

    answer = alice.post("/v1/ingest", TURN | {"text": "Something else."}, Idempotency_Key="k-1")

    assert answer.status_code == 409
    assert answer.json()["error"]["code"] == "idempotency_key_reused"
    assert Memory.objects.across_namespaces().count() == 1


def test_two_clients_may_use_the_same_idempotency_key(alice, bob):
    alice.post("/v1/ingest", TURN, Idempotency_Key="k-1")

    assert bob.post("/v1/ingest", TURN | {"namespace": "bob"}, Idempotency_Key="k-1").status_code == 200
    assert Memory.objects.across_namespaces().count() == 2


@pytest.mark.parametrize("key", ["", " ", "a b", "x" * 201, "é"])
def test_an_idempotency_key_that_is_none_is_refused(alice, key):
    answer = alice.post("/v1/ingest", TURN, Idempotency_Key=key)

    assert answer.status_code == 400
    assert answer.json()["error"]["detail"][0]["field"] == "Idempotency-Key"


@override_settings(
    MEMOS_EMBEDDING_PROVIDER="openai",
    MEMOS_EMBEDDING_BASE_URL="http://127.0.0.1:9/v1",
    MEMOS_EMBEDDING_DIMENSIONS=256,
    MEMOS_EMBEDDING_TIMEOUT_SECONDS=0.5,
)
def test_with_the_provider_away_the_turn_is_stored_and_embedded_later(alice):
    answer = alice.post("/v1/ingest", TURN)

    assert answer.status_code == 200
    assert answer.json()["degraded"] == ["embedding_delayed"]
    memory = Memory.objects.across_namespaces().get()
    assert not MemoryVector.objects.across_namespaces().exists()
    assert Posting.objects.across_namespaces().filter(term="lisbon").exists()

    # Once the endpoint is back, do the same as the worker's job.
    provider = provider_for("openai", "text-embedding-3-small")
    with mock.patch.object(provider, "embed", provider_for("hash", "hash-256").embed):
        assert embed_pending() == 1
    assert MemoryVector.objects.across_namespaces().get().memory_id == memory.pk


def test_with_redis_away_the_turn_is_stored_and_the_answer_says_what_is_missing(alice):
    with mock.patch.object(redis_store, "get_redis_connection", side_effect=redis.ConnectionError("away")):
        answer = alice.post("/v1/ingest", TURN)

    assert answer.status_code == 200
    assert answer.json()["degraded"] == ["session_window_unavailable"]
    assert Memory.objects.across_namespaces().count() == 1


@override_settings(MEMOS_WINDOW_MESSAGES=3, MEMOS_WINDOW_TTL_SECONDS=120)
def test_the_window_keeps_the_newest_messages_for_its_time(alice):
    for number in range(5):
        alice.post("/v1/ingest", TURN | {"text": f"message {number}"})

    messages = window.read(alice.scope.namespace_id, "s1")
    assert [message.text for message in messages] == ["message 2", "message 3", "message 4"]
    left = redis_store.call(lambda client: client.ttl(window._key(alice.scope.namespace_id, "s1")))
    assert 100 < left <= 120
