"""POST /v1/answer: answers in the words of the memories, or the statement that there are none."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from memory.enums import AuditEvent, Review
from memory.errors import EmbeddingUnavailable
from memory.models import AuditLog, ContextPack, Memory
from memory.retrieval.render import NOTHING_FITS, QUOTED
from memory.services.answers.extract import NOTHING_FITS_ZH, WORDS_ONLY
from memory.services.index.embedding_model import ActiveModel
from memory.text.tokens import count_tokens

SAID = datetime(2024, 5, 8, 9, tzinfo=UTC)
QUESTION = {"namespace": "alice", "session_id": "s1", "query": "Who reviews the migration before the release?"}
CHAT = (
    "The launch moved from the 21st to the 28th.",
    "Good morning! Priya reviews the migration before the release.",
    "We keep PostgreSQL and drop the MongoDB prototype.",
    "The staging server runs out of disk every Monday.",
)


@pytest.fixture
def chat(alice, remember):
    return [remember(alice, text, speaker="Tom", occurred_at=SAID) for text in CHAT]


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"query": ""}, "query"),
        ({"top_k": 51}, "top_k"),
        ({"max_tokens": 15}, "max_tokens"),
        ({"max_tokens": 1001}, "max_tokens"),
        ({"max_tokens": None}, "max_tokens"),
        ({"filter": {"colour": "red"}}, "filter.colour"),
        ({"as_of": "yesterday"}, "as_of"),
        ({"model": "gpt"}, "model"),
        ({"response_schema": []}, "response_schema"),
        ({"response_schema": {"type": "object"}}, "response_schema"),
        (
            {"response_schema": {"type": "object", "properties": {"a": {"$ref": "http://127.0.0.1:1/s"}}}},
            "response_schema.properties.a.$ref",
        ),
        ({"remember": "yes"}, "remember"),
        ({"dry_run": True}, "dry_run"),
    ],
)
def test_a_wrong_field_and_one_that_is_not_known_are_named(alice, change, field):
    answer = alice.post("/v1/answer", QUESTION | change)

    assert answer.status_code == 400
    assert answer.json()["error"]["detail"][0]["field"] == field


def test_another_tenants_key_gets_nothing_of_it(bob, chat):
    assert bob.post("/v1/answer", QUESTION).status_code == 404
    assert bob.post("/v1/answer", QUESTION | {"namespace": "bob"}).status_code == 200
    assert "Priya" not in bob.post("/v1/answer", QUESTION | {"namespace": "bob"}).content.decode()


def test_a_key_that_may_only_write_is_refused(make_tenant):
    writer = make_tenant("carol", scopes=("write",))

    assert writer.post("/v1/answer", QUESTION | {"namespace": "carol"}).status_code == 403


def test_the_answer_is_a_quote_of_the_memory_that_answers(alice, chat):
    body = alice.post("/v1/answer", QUESTION).json()

    first = body["citations"][0]
    assert body["answer"].splitlines()[0] == "Priya reviews the migration before the release. [1]"
    assert first == {
        "n": 1,
        "memory_id": chat[1],
        "quote": "Priya reviews the migration before the release.",
        "speaker": "Tom",
        "occurred_at": "2024-05-08T09:00:00+00:00",
        "place": "",
        "marked": False,
        "at": 48,
        "supported": True,
    }
    assert (body["abstained"], body["reason"], body["mode"], body["degraded"]) == (False, None, "extractive", [])
    assert body["tokens"] == count_tokens(body["answer"]) <= 60
    assert body["request_id"]


def test_what_was_found_is_kept_as_a_pack_and_audited_like_a_query(alice, chat):
    body = alice.post("/v1/answer", QUESTION).json()

    pack = ContextPack.objects.in_scope(alice.scope).get(pk=body["context_pack_id"])
    held = {one["id"] for one in pack.pack["retrieval"]["raw_chunks"]}
    assert {one["memory_id"] for one in body["citations"]} <= held
    events = AuditLog.objects.in_scope(alice.scope).filter(subject=body["context_pack_id"])
    assert set(events.values_list("event_type", flat=True)) == {AuditEvent.QUERY, AuditEvent.CONTEXT_PACK}


def test_when_is_answered_with_the_date(alice, remember):
    remember(alice, "Priya reviewed the migration yesterday.", occurred_at=SAID)

    body = alice.post("/v1/answer", QUESTION | {"query": "When did Priya review the migration?"}).json()

    assert body["answer"] == "Priya reviewed the migration yesterday. [1] (7 May 2024; said on 8 May 2024)"


@pytest.mark.parametrize(
    ("question", "text"),
    [("What is the capital of Mongolia?", NOTHING_FITS), ("蒙古的首都是哪里？", NOTHING_FITS_ZH)],
)
def test_a_question_about_something_else_is_not_answered(alice, chat, question, text):
    body = alice.post("/v1/answer", QUESTION | {"query": question}).json()

    assert (body["answer"], body["abstained"], body["reason"]) == (text, True, "below_relevance_floor")
    assert body["citations"] == []
    assert body["tokens"] == count_tokens(text)
    assert body["context_pack_id"]


@pytest.mark.parametrize(
    ("floor", "question", "answerable"),
    [
        (0, "Do penguins sleep on ice?", True),
        (0.04, "Do penguins sleep on ice?", False),
        (0, "What is the capital of the country?", True),
        (0.04, "What is the capital of the country?", False),
        (0, "How do I bake bread?", True),
        (0.04, "How do I bake bread?", False),
        (0.04, QUESTION["query"], True),
        (1, QUESTION["query"], False),
    ],
)
def test_what_a_query_calls_answerable_is_answered_and_the_policy_moves_both(alice, chat, floor, question, answerable):
    policy = {"namespace": "alice", "policy": {"retrieval": {"relevance_floor": floor}}}
    changed = alice.client.put("/v1/policy", data=policy, content_type="application/json")
    assert changed.status_code == 200, changed.content

    found = alice.post("/v1/query", QUESTION | {"query": question}).json()
    body = alice.post("/v1/answer", QUESTION | {"query": question}).json()

    assert found["answerable"] is answerable
    assert body["reason"] == (None if answerable else "below_relevance_floor")


def test_a_fact_on_rank_one_is_not_refused(alice, remember):
    remember(alice, "I'm allergic to peanuts and shellfish.")
    for text in CHAT:
        remember(alice, text)

    body = alice.post("/v1/answer", QUESTION | {"query": "What am I allergic to?"}).json()

    assert body["answer"] == "I'm allergic to peanuts and shellfish. [1]"


def test_a_question_for_the_brother_is_not_answered_with_the_sister(alice, remember):
    remember(alice, "My sister Ines is a nurse in Porto.")

    body = alice.post("/v1/answer", QUESTION | {"query": "What is my brother's job?"}).json()
    assert (body["abstained"], body["citations"]) == (True, [])

    # The same holds if the policy accepts every hit as an answer.
    policy = {"namespace": "alice", "policy": {"retrieval": {"relevance_floor": 0}}}
    assert alice.client.put("/v1/policy", data=policy, content_type="application/json").status_code == 200
    body = alice.post("/v1/answer", QUESTION | {"query": "What is my brother's job?"}).json()

    assert (body["abstained"], body["reason"], body["citations"]) == (True, "nothing_quotable", [])


def test_of_an_empty_namespace_nothing_is_answered(alice, remember):
    remember(alice, "The kiln is behind the harbour.")

    body = alice.post("/v1/answer", QUESTION | {"filter": {"speaker": "nobody"}}).json()

    assert (body["abstained"], body["reason"]) == (True, "nothing_found")


def test_what_was_recorded_later_is_not_quoted(alice, chat):
    body = alice.post("/v1/answer", QUESTION | {"as_of": "2020-01-01T00:00:00Z"}).json()

    assert (body["abstained"], body["citations"]) == (True, [])


def test_a_suspected_memory_is_marked_as_a_quotation(alice, chat):
    Memory.objects.in_scope(alice.scope).filter(pk=chat[1]).update(review=Review.SUSPECTED)

    body = alice.post("/v1/answer", QUESTION | {"max_tokens": 200}).json()

    assert body["answer"].startswith(f"Tom{QUOTED}: “Priya reviews the migration before the release.” [1]")
    assert body["citations"][0]["marked"] is True


def test_a_superseded_value_is_not_quoted(alice, remember):
    former = remember(alice, "The launch is on the 21st.")
    newer = remember(alice, "The launch is on the 28th.")
    change = {"by": newer, "reason": "moved"}
    assert alice.post(f"/v1/memories/{former}/supersede", change).status_code == 200

    body = alice.post("/v1/answer", QUESTION | {"query": "What is the day of the launch?"}).json()

    assert [one["memory_id"] for one in body["citations"]] == [newer]


def test_without_vectors_of_its_excerpts_it_answers_by_their_words(alice, chat, monkeypatch):
    def away(self, texts):
        raise EmbeddingUnavailable("The embedding endpoint is away.")

    started = ActiveModel.embed

    def embed(self, texts):
        return started(self, texts) if len(texts) == 1 else away(self, texts)

    monkeypatch.setattr(ActiveModel, "embed", embed)

    body = alice.post("/v1/answer", QUESTION).json()

    assert body["degraded"] == [WORDS_ONLY]
    assert body["answer"].startswith("Priya reviews the migration before the release. [1]")


def test_a_malformed_idempotency_key_is_refused_though_nothing_is_stored_under_it(alice, chat):
    refused = alice.post("/v1/answer", QUESTION, Idempotency_Key="two words")

    assert refused.status_code == 400
    assert refused.json()["error"]["detail"][0]["field"] == "Idempotency-Key"
