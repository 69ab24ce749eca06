"""POST /v1/search/batch: many questions at once, each answered as if it came alone."""

from __future__ import annotations

import pytest

from memory.models import AuditLog
from memory.services.index.embedding_model import ActiveModel
from memory.stores.redis import call

BATCH = "/v1/search/batch"
ANN, TOM = "Where did Ann move?", "What does Tom play?"


def asked(*questions, **defaults):
    return {"questions": list(questions), "defaults": {"namespace": "alice", **defaults}}


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "questions"),
        ({"questions": []}, "questions"),
        ({"questions": "Where did Ann move?"}, "questions"),
        ({"questions": [{"query": ANN}] * 51}, "questions"),
        ({"questions": [{"query": ANN}], "defaults": {"top_k": 0}}, "defaults.top_k"),
        ({"questions": [{"query": ANN}], "defaults": {"filter": {"age": 3}}}, "defaults.filter.age"),
        ({"questions": [{"query": ANN}], "defaults": 7}, "defaults"),
    ],
)
def test_what_concerns_all_of_them_is_refused_as_a_whole(alice, body, field):
    answer = alice.post(BATCH, body)

    assert answer.status_code == 400
    assert answer.json()["error"]["detail"][0]["field"] == field


def test_without_a_key_or_with_one_that_may_only_write_it_is_refused(olga, make_tenant):
    body = asked({"query": ANN})

    assert olga.post(BATCH, body, content_type="application/json").status_code == 401
    assert make_tenant("alice", scopes=("write",)).post(BATCH, body).status_code == 403


def test_each_is_answered_as_if_it_came_alone(alice, remember):
    remember(alice, "Ann moved to Lisbon.")
    remember(alice, "Tom plays the cello.")
    questions = [{"query": ANN}, {"query": TOM, "top_k": 1}, {"query": TOM, "filter": {"session_id": "none"}}]

    answer = alice.post(BATCH, asked(*questions, dry_run=True, explain=True)).json()

    assert answer["degraded"] == []
    for one, question in zip(answer["results"], questions, strict=True):
        alone = alice.post("/v1/search", {"namespace": "alice", "dry_run": True, "explain": True, **question}).json()
        assert one["status"] == 200
        assert one["error"] is None
        del one["found"]["milliseconds"], alone["milliseconds"]
        assert one["found"] == alone
    assert [len(one["found"]["hits"]) for one in answer["results"]] == [2, 1, 0]


def test_what_is_wrong_with_one_does_not_keep_the_others_from_their_answers(alice, bob, remember):
    remember(alice, "Ann moved to Lisbon.")
    remember(bob, "Ann moved to Porto.")
    wrong = [
        {"query": ""},
        {"query": ANN, "top_k": "six"},
        {"query": ANN, "filter": {"or": []}},
        "no object",
        None,
        {"query": ANN, "namespace": "bob"},
        {"query": ANN, "namespace": "nobody"},
    ]

    results = alice.post(BATCH, asked({"query": ANN}, *wrong, {"query": ANN, "top_k": 1})).json()["results"]

    assert [one["status"] for one in results] == [200, 400, 400, 400, 400, 400, 404, 404, 200]
    assert [one["error"]["detail"][0]["field"] for one in results[1:5]] == ["query", "top_k", "filter.or", "body"]
    # Another tenant's namespace looks like one that does not exist.
    theirs, none = (one["error"] for one in results[6:8])
    assert theirs["message"].replace("bob", "nobody") == none["message"]
    assert [[hit["text"] for hit in results[place]["found"]["hits"]] for place in (0, 8)] == [
        ["Ann moved to Lisbon."]
    ] * 2


def test_questions_of_several_namespaces_find_each_its_own(alice, bob, make_tenant, remember):
    remember(alice, "Ann moved to Lisbon.")
    remember(bob, "Ann moved to Porto.")
    both = make_tenant("any", all_namespaces=True)
    questions = [{"query": ANN, "namespace": name} for name in ("bob", "alice", "none yet", "bob")]

    results = both.post(BATCH, {"questions": questions}).json()["results"]

    assert [[hit["text"] for hit in one["found"]["hits"]] for one in results] == [
        ["Ann moved to Porto."], ["Ann moved to Lisbon."], [], ["Ann moved to Porto."]
    ]  # fmt: skip
    assert results[2]["found"]["degraded"] == ["namespace_unknown"]
    events = AuditLog.objects.across_namespaces().filter(event_type="QUERY")
    assert sorted(events.values_list("namespace_id", flat=True)) == sorted(
        [alice.scope.namespace_id, bob.scope.namespace_id, bob.scope.namespace_id]
    )


def test_all_are_embedded_at_once(alice, remember, monkeypatch):
    remember(alice, "Ann moved to Lisbon.")
    calls = []
    embed = ActiveModel.embed

    def note(self, texts):
        calls.append(list(texts))
        return embed(self, texts)

    monkeypatch.setattr(ActiveModel, "embed", note)
    alice.post(BATCH, asked({"query": ANN}, {"query": ""}, {"query": TOM}))

    assert calls == [[ANN, TOM]]


def test_each_question_counts_against_the_limit_of_the_key(make_tenant):
    limited = make_tenant("limited", requests_per_minute=10)
    body = {"questions": [{"query": ANN}] * 6, "defaults": {"namespace": "limited"}}
    first, second = limited.post(BATCH, body), limited.post(BATCH, body)
    counted = call(lambda client: [int(client.get(key)) for key in client.scan_iter("memos:rate:*")])

    assert first.status_code == 200
    # Both together are 12, unless the clock's minute ended between them.
    assert (second.status_code, counted) in [(429, [12]), (200, [6, 6])]


def test_with_the_embedding_provider_away_each_says_so(alice, settings):
    settings.MEMOS_EMBEDDING_PROVIDER = "openai"
    settings.MEMOS_EMBEDDING_BASE_URL = "http://127.0.0.1:9/v1"
    settings.MEMOS_EMBEDDING_DIMENSIONS = 8
    settings.MEMOS_EMBEDDING_TIMEOUT_SECONDS = 0.5

    results = alice.post(BATCH, asked({"query": ANN}, {"query": TOM})).json()["results"]

    assert [(one["status"], one["error"]["code"]) for one in results] == [(503, "embedding_unavailable")] * 2


def test_when_the_time_of_the_request_is_over_the_others_say_so(alice, remember, settings):
    remember(alice, "Ann moved to Lisbon.")
    settings.MEMOS_REQUEST_SECONDS = 0

    results = alice.post(BATCH, asked({"query": ANN}, {"query": TOM})).json()["results"]

    assert [one["error"]["code"] for one in results] == ["deadline_exceeded"] * 2


def test_a_dry_run_leaves_no_trace(alice, remember):
    remember(alice, "Ann moved to Lisbon.")
    before = AuditLog.objects.across_namespaces().count()

    alice.post(BATCH, asked({"query": ANN}, {"query": TOM}, dry_run=True))

    assert AuditLog.objects.across_namespaces().count() == before
