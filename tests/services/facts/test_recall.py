"""Facts in answers and lists: found by kind, returned once with their turns, and never for another tenant."""

from __future__ import annotations

from uuid import UUID

import pytest
from django.utils import timezone

from memory.models import Memory, Namespace
from memory.services.recall.probe import sources
from memory.services.sessions.listing import turns
from memory.services.tenancy.policy import put_policy
from tests.services.facts.conversations import fact

pytestmark = pytest.mark.usefixtures("wanted")
LISBON = fact("Ana", "home", "Lisbon", "Ana lives in Lisbon.")


@pytest.fixture
def told(alice, remember, extract) -> tuple[str, str]:
    """Return the ids of a turn and of the fact that rests on it."""
    turn = remember(alice, "I live in Lisbon with my brother.", speaker="Ana", session="home")
    assert extract(LISBON, session="home").stored == 1
    return turn, str(Memory.objects.in_scope(alice.scope).facts().get().pk)


def ask(tenant, **more) -> list[dict]:
    body = {"namespace": "alice", "session_id": "elsewhere", "query": "Where does Ana live?", **more}
    answer = tenant.post("/v1/query", body)
    assert answer.status_code == 200, answer.content
    return answer.json()["raw_chunks"]


def test_a_query_tells_the_turn_and_not_its_fact(alice, told):
    turn, _ = told
    assert [chunk["id"] for chunk in ask(alice)] == [turn]


def test_without_collapsing_both_are_shown(alice, told):
    put_policy(alice.scope, wanted={"extract": "facts", "duplicates": {"collapse": False}}, now=timezone.now())
    assert {chunk["id"] for chunk in ask(alice)} == set(told)


@pytest.mark.parametrize(("where", "place"), [({"kind": "fact"}, 1), ({"kind": {"ne": "fact"}}, 0)])
def test_a_filter_names_the_kind(alice, told, where, place):
    assert [chunk["id"] for chunk in ask(alice, filter=where)] == [told[place]]


def test_a_kind_that_there_is_not_is_refused(alice):
    answer = alice.post(
        "/v1/query", {"namespace": "alice", "session_id": "s", "query": "x", "filter": {"kind": "claim"}}
    )
    assert answer.status_code == 400
    assert "fact" in answer.content.decode()


def test_the_pack_shows_no_fact_of_a_turn_in_the_window(alice, told):
    answer = alice.post("/v1/query", {
        "namespace": "alice", "session_id": "home", "query": "Where does Ana live?", "filter": {"kind": "fact"},
    }).json()  # fmt: skip
    assert answer["context_pack"]["text"].count("Lisbon") == 1


def test_lists_and_single_memories_say_kind_and_sources(alice, told):
    turn, fact_id = told
    listed = alice.get("/v1/memories", namespace="alice", kind="fact").json()["memories"]
    assert [(one["id"], one["kind"], one["sources"]) for one in listed] == [(fact_id, "fact", [turn])]
    one = alice.get(f"/v1/memories/{turn}").json()
    assert (one["kind"], one["sources"]) == ("said", [])
    links = alice.get(f"/v1/memories/{fact_id}/history").json()["links"]
    assert [(link["kind"], link["other_id"]) for link in links] == [("derived_from", turn)]


def test_another_tenant_finds_neither(alice, bob, told):
    assert bob.get("/v1/memories", namespace="alice", kind="fact").status_code == 404
    assert bob.get(f"/v1/memories/{told[1]}").status_code == 404


def test_why_says_that_the_turn_is_told_in_its_place(alice, told):
    _, fact_id = told
    answer = alice.post("/v1/why", {
        "namespace": "alice", "query": "Where does Ana live?", "memory_id": fact_id,
    })  # fmt: skip
    assert answer.status_code == 200, answer.content
    said = answer.json()
    assert said["verdict"] == "restated", said


def test_the_pages_of_a_session_and_a_probe_take_facts_for_what_they_are(alice, told):
    turn, fact_id = told
    shown, _ = turns(Namespace.objects.get(name="alice"), "home", before=None, limit=10)
    assert [str(memory.pk) for memory in shown] == [turn]
    origins = sources(alice.scope, [UUID(turn), UUID(fact_id)])
    assert {origin.document for origin in origins.values()} == {""}
