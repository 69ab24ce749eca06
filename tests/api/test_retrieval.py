"""POST /v1/retrieval: the External Knowledge API as Dify calls it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client

from memory.models import AuditLog

ASKED: dict[str, Any] = {
    "knowledge_id": "alice",
    "query": "Who reviews the migration?",
    "retrieval_setting": {"top_k": 3, "score_threshold": 0.0},
}
TEXTS = {
    "Priya": {"project": "atlas", "price": 3, "due": "2026-05-01", "tags": ["a"]},
    "Tom": {"project": "lyon", "price": 10, "due": "2026-07-01"},
    "Ines": {"project": ""},
    "Nobody": {},
}


def ask(tenant: Any, **changed: Any) -> list[dict[str, Any]]:
    answer = tenant.post("/v1/retrieval", ASKED | changed)
    assert answer.status_code == 200, answer.content
    return list(answer.json()["records"])


@pytest.fixture
def told(alice: Any, remember: Any) -> Any:
    for name, metadata in TEXTS.items():
        remember(alice, f"{name} reviews the migration.", speaker="Ann", session="plan", metadata=metadata)
    return alice


class TestRefusals:
    @pytest.mark.parametrize(
        ("header", "code"),
        [
            ({}, 1001),
            ({"Authorization": "mos_abc"}, 1001),
            ({"Authorization": "Basic abc"}, 1001),
            ({"Authorization": "Bearer "}, 1001),
            ({"Authorization": "Bearer mos_wrong"}, 1002),
        ],
    )
    def test_without_a_valid_key(self, db, header, code):
        answer = Client().post("/v1/retrieval", ASKED, content_type="application/json", headers=header)

        assert (answer.status_code, answer.json()["error_code"]) == (401, code)
        assert answer.json()["error_msg"] == answer.json()["error"]["message"]

    def test_a_key_that_may_not_read(self, make_tenant):
        answer = make_tenant("alice", scopes=("write",)).post("/v1/retrieval", ASKED)

        assert (answer.status_code, answer.json()["error_code"]) == (403, 1002)

    @pytest.mark.parametrize("namespace", ["bob", "nobody"])
    def test_a_knowledge_base_out_of_reach_does_not_exist(self, alice, bob, make_tenant, namespace):
        for tenant in (alice, make_tenant("any", all_namespaces=True)):
            if (namespace, tenant is alice) == ("bob", False):
                continue
            answer = tenant.post("/v1/retrieval", ASKED | {"knowledge_id": namespace})
            assert (answer.status_code, answer.json()["error_code"]) == (404, 2001)
            assert namespace in answer.json()["error_msg"]

    @pytest.mark.parametrize(
        ("changed", "field"),
        [
            ({"query": ""}, "query"),
            ({"query": "x" * 20_001}, "query"),
            ({"knowledge_id": 7}, "knowledge_id"),
            ({"retrieval_setting": None}, "retrieval_setting"),
            ({"retrieval_setting": {}}, "retrieval_setting.top_k"),
            ({"retrieval_setting": {"top_k": 3, "score_threshold": 2}}, "retrieval_setting.score_threshold"),
            ({"metadata_condition": {"conditions": [{"name": "a"}]}}, "metadata_condition.conditions[0]"),
            ({"metadata_condition": {"logical_operator": "xor", "conditions": []}}, "metadata_condition.logical"),
        ],
    )
    def test_a_wrong_body(self, alice, changed, field):
        answer = alice.post("/v1/retrieval", ASKED | changed)

        assert (answer.status_code, answer.json()["error_code"]) == (400, 400)
        assert answer.json()["error"]["detail"][0]["field"].startswith(field)

    def test_what_dify_sends_when_the_address_is_registered(self, alice, make_tenant):
        """Dify sends nothing but the key, and takes 403, 404 and 502 for a wrong key or address."""
        writer = make_tenant("alice", scopes=("write",))
        sent = [one.client.generic("POST", "/v1/retrieval").status_code for one in (alice, writer)]

        assert sent == [400, 403]

    @pytest.mark.parametrize(
        ("operator", "value", "says"),
        [
            ("contains", "la", "does not compare parts of texts (`contains`). There are is, =,"),
            ("start with", "a", "does not compare parts of texts"),
            (">", None, "must be a number or a string."),
            ("in", [], "must hold 1 to 100 items."),
            ("is", {"a": 1}, "must be a string"),
        ],
    )
    def test_a_condition_that_cannot_be_asked(self, alice, operator, value, says):
        condition = {"name": "project", "comparison_operator": operator, "value": value}
        answer = alice.post("/v1/retrieval", ASKED | {"metadata_condition": {"conditions": [condition]}})

        assert answer.status_code == 400
        assert "conditions[0]: project: " in answer.json()["error_msg"]
        assert says in answer.json()["error_msg"]

    def test_too_many_conditions(self, alice):
        listed = [{"name": "a", "comparison_operator": "is", "value": "b"}] * 101
        answer = alice.post("/v1/retrieval", ASKED | {"metadata_condition": {"conditions": listed}})

        assert "must hold 1 to 100 items" in answer.json()["error_msg"]


class TestRecords:
    def test_what_answers_comes_back_best_first(self, told):
        found = ask(told)

        assert len(found) == 3
        assert all(set(one) == {"content", "score", "title", "metadata"} for one in found)
        assert [one["score"] for one in found] == sorted((one["score"] for one in found), reverse=True)
        assert all(0 <= one["score"] <= 1 for one in found)
        assert {one["title"] for one in found} == {"plan"}
        assert found[0]["metadata"]["speaker"] == "Ann"
        memory = told.get(f"/v1/memories/{found[0]['metadata']['memory_id']}").json()
        assert memory["text"] == found[0]["content"]

    def test_a_document_has_its_title(self, alice):
        for identity, title in (("runbook", "Deploying"), ("untitled", "")):
            document = {"namespace": "alice", "document_id": identity, "text": f"{identity}: Priya approves."}
            alice.post("/v1/documents", document | ({"title": title} if title else {}))

        assert {one["title"] for one in ask(alice, query="Who approves?")} == {"Deploying", "untitled"}

    def test_the_threshold_leaves_out_what_is_less_likely(self, told):
        scores = [one["score"] for one in ask(told)]
        setting = {"top_k": 3, "score_threshold": scores[1]}
        assert [one["score"] for one in ask(told, retrieval_setting=setting)] == [
            score for score in scores if score >= scores[1]
        ]
        assert ask(told, retrieval_setting={"top_k": 3, "score_threshold": 1}) == []

    @pytest.mark.parametrize("setting", [{"top_k": 100}, {"top_k": 100, "score_threshold": None}])
    def test_more_than_there_may_be_is_the_most(self, told, setting):
        assert len(ask(told, retrieval_setting=setting, metadata_condition=None)) == 4

    def test_a_long_question_is_looked_up_by_its_beginning(self, told):
        assert "reviews" in ask(told, query="Who reviews the migration? " * 200)[0]["content"]

    def test_it_is_audited_as_a_question(self, told):
        ask(told)

        assert AuditLog.objects.across_namespaces().filter(event_type="QUERY").count() == 1


def conditions(*listed: tuple[Any, ...], joined: str = "and") -> dict[str, Any]:
    names = ("name", "comparison_operator", "value")
    return {"logical_operator": joined, "conditions": [dict(zip(names, one, strict=False)) for one in listed]}


@pytest.mark.parametrize(
    ("asked", "names"),
    [
        (conditions(), "Priya Tom Ines Nobody"),
        (conditions(("project", "is", "atlas")), "Priya"),
        (conditions(("project", "is not", "atlas")), "Tom Ines"),
        (conditions(("project", "in", ["atlas", "lyon"])), "Priya Tom"),
        (conditions(("project", "in", "atlas, lyon")), "Priya Tom"),
        (conditions(("project", "not in", ["atlas", "x"])), "Tom Ines"),
        (conditions(("project", "empty")), "Ines Nobody"),
        (conditions(("project", "not empty")), "Priya Tom"),
        (conditions(("price", "=", "3")), "Priya"),
        (conditions(("price", "≠", 3)), "Tom"),
        (conditions(("price", ">", "3")), "Tom"),
        (conditions(("price", "≥", 3)), "Priya Tom"),
        (conditions(("price", "<", 3.5)), "Priya"),
        (conditions(("price", "≤", "2.5")), ""),
        (conditions(("due", "before", "2026-06-01")), "Priya"),
        (conditions(("due", "after", "2026-06-01")), "Tom"),
        (conditions(("speaker", "is", "Ann"), ("price", ">", 0)), "Priya Tom"),
        (conditions(("speaker", "is", "Bob"), ("price", ">", 5), joined="or"), "Tom"),
        (conditions(("speaker", "empty")), ""),
        (conditions(("occurred_at", "after", "2020-01-01T00:00:00Z")), "Priya Tom Ines Nobody"),
    ],
    ids=lambda value: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False),
)
def test_conditions_on_metadata_narrow_what_is_searched(told, asked, names):
    setting = {"top_k": 10, "score_threshold": 0}
    found = ask(told, retrieval_setting=setting, metadata_condition=asked)

    assert {one["content"].split()[0] for one in found} == set(names.split())
