"""Preferences in answers: they join requests that share no word with them, and never displace answers about facts."""

from __future__ import annotations

import pytest
from django.utils import timezone

from memory.models import Memory
from memory.services.tenancy.policy import put_policy

REQUEST = "Can you recommend hotels for lively places in Rome?"


@pytest.fixture
def told(alice, remember, read) -> tuple[str, str]:
    turn = remember(alice, "I avoid lively places.", speaker="Ana", session="home")
    assert read("home").stored == 1
    return turn, str(Memory.objects.in_scope(alice.scope).preferences().get().pk)


def ask(tenant, query: str, **more) -> list[dict]:
    answer = tenant.post("/v1/query", {"namespace": "alice", "session_id": "elsewhere", "query": query, **more})
    assert answer.status_code == 200, answer.content
    return answer.json()["raw_chunks"]


def test_a_question_of_facts_searches_no_preference(alice, told):
    assert [chunk["id"] for chunk in ask(alice, "Where are lively places?")] == [told[0]]
    put_policy(alice.scope, wanted={"preferences": "rules", "duplicates": {"collapse": False}}, now=timezone.now())
    assert [chunk["id"] for chunk in ask(alice, "Where are lively places?")] == [told[0]]


def test_a_request_is_told_the_turn_with_what_it_says_of_taste(alice, told):
    [chunk] = ask(alice, REQUEST)
    assert chunk["id"] == told[0]
    body = {"namespace": "alice", "session_id": "elsewhere", "query": REQUEST}
    explained = alice.post("/v1/query", body).json()["rerank_debug"]
    assert explained[0]["components"]["preference"] > 0


def test_without_the_policy_a_request_is_answered_as_any_question(alice, told):
    put_policy(alice.scope, wanted={"preferences": "off"}, now=timezone.now())
    body = {"namespace": "alice", "session_id": "elsewhere", "query": REQUEST}
    assert "preference" not in alice.post("/v1/query", body).json()["rerank_debug"][0]["components"]


@pytest.mark.parametrize(("where", "place"), [({"kind": "preference"}, 1), ({"kind": {"ne": "preference"}}, 0)])
def test_a_filter_names_the_kind(alice, told, where, place):
    assert [chunk["id"] for chunk in ask(alice, "Where are lively places?", filter=where)] == [told[place]]


def test_the_list_has_the_kind_and_its_sources(alice, bob, told):
    listed = alice.get("/v1/memories", namespace="alice", kind="preference").json()["memories"]
    assert [(one["id"], one["kind"], one["sources"]) for one in listed] == [(told[1], "preference", [told[0]])]
    assert bob.get("/v1/memories", namespace="alice", kind="preference").status_code == 404


def components(tenant, query: str) -> dict[str, dict[str, float]]:
    body = {"namespace": "alice", "session_id": "elsewhere", "query": query}
    answer = tenant.post("/v1/query", body)
    assert answer.status_code == 200, answer.content
    return {one["explanation"]["id"]: one["components"] for one in answer.json()["rerank_debug"]}


def test_a_request_is_compared_with_what_people_say_of_themselves_though_no_rule_read_it(alice, remember, read):
    spoken = remember(alice, "Lively places give me a headache.", speaker="Ana", session="home")
    others = [
        remember(alice, "Lively places in Rome are hotels.", speaker="Ana", session="home"),
        remember(alice, "I find lively places for hotels in Rome.", role="agent", session="home"),
    ]
    assert read("home").stored == 0
    said = components(alice, REQUEST)
    assert said[spoken]["preference"] > 0
    assert not any(said[one].get("preference") for one in others)
    assert not any(one.get("preference") for one in components(alice, "Where are lively places in Rome?").values())


def test_choices_are_told_with_a_request_and_name_their_turns(alice, remember, read):
    for place in ("x", "y", "z"):
        remember(alice, "I'll take the aisle seat, please.", speaker="Ana", session=place)
        read(place)
    [chunk] = ask(alice, "Can you recommend an aisle seat?", filter={"kind": "preference"})
    assert chunk["text"] == "Usually chooses aisle seat."
    [first, *_] = ask(alice, "Can you recommend an aisle seat?")
    assert first["text"] == "I'll take the aisle seat, please."
