"""/v1/tree lists sessions with the topics of the map, and `topic_id` narrows lists and searches to one of them."""

from __future__ import annotations

import pytest
from django.utils import timezone

from memory.models import AuditLog, Job
from memory.services.erasure import requests, run
from memory.services.erasure.requests import Target
from memory.services.memories import edit
from memory.services.projection import fit
from memory.types import system_access

KILN = [f"The kiln of the pottery fires the clay bowls, batch {number}." for number in range(12)]
FERRY = [f"The ferry across the harbour leaves late because of fog, day {number}." for number in range(12)]


@pytest.fixture
def tree(alice, remember):
    """Gives a tenant two sessions on the map; returns the ids of the first one's turns."""

    def make(tenant=alice) -> list[str]:
        ids = [remember(tenant, text) for text in (*KILN, *FERRY)]
        remember(tenant, KILN[0].replace("batch 0", "again"), session="s2")
        fit.project(tenant.scope, now=timezone.now())
        return ids

    return make


def listed(tenant, **query) -> dict:
    answer = tenant.get("/v1/tree", namespace=tenant.scope.namespace, **query)
    assert answer.status_code == 200, answer.content
    return answer.json()


def test_listing_needs_the_read_scope_and_rebuilding_the_write_scope(make_tenant, olga):
    writer, reader = make_tenant("shop", scopes=("write",)), make_tenant("yard", scopes=("read",))
    assert olga.get("/v1/tree").status_code == 401
    assert writer.get("/v1/tree", namespace="shop").status_code == 403
    assert reader.post("/v1/tree/rebuild", {"namespace": "yard"}).status_code == 403


def test_another_tenants_tree_is_not_there(alice, bob, tree):
    tree(bob)
    assert alice.get("/v1/tree", namespace="bob").status_code == 404
    assert alice.post("/v1/tree/rebuild", {"namespace": "bob"}).status_code == 404
    assert listed(alice) == {"placed_at": None, "complete": False, "sessions": [], "next_cursor": None}


def test_sessions_come_with_their_topics_newest_first(alice, tree):
    tree()
    found = listed(alice)
    assert found["complete"] is True
    second, first = found["sessions"]
    assert (second["session_id"], second["memories"]) == ("s2", 1)
    assert (first["session_id"], first["memories"]) == ("s1", 24)
    sizes = [topic["memories"] for topic in first["topics"]]
    assert sizes == sorted(sizes, reverse=True)
    assert sum(sizes) == 24
    labels = " ".join(topic["label"] for topic in first["topics"])
    assert "bowls" in labels
    assert "ferry" in labels


def test_pages_follow_each_other_and_one_session_is_found_by_its_name(alice, tree):
    tree()
    page = listed(alice, limit=1)
    assert [one["session_id"] for one in page["sessions"]] == ["s2"]
    rest = listed(alice, limit=1, cursor=page["next_cursor"])
    assert [one["session_id"] for one in rest["sessions"]] == ["s1"]
    assert rest["next_cursor"] is None
    assert [one["session_id"] for one in listed(alice, session_id="s1")["sessions"]] == ["s1"]
    answer = alice.get("/v1/tree", namespace="alice", cursor="memories.6f1c1a52-7d1e-4b9a-9a53-0c8f8f6f2b11")
    assert answer.status_code == 400


def test_a_topic_narrows_lists_and_searches(alice, tree):
    tree()
    [session] = listed(alice, session_id="s1")["sessions"]
    ferry = next(topic for topic in session["topics"] if "ferry" in topic["label"])
    found = alice.get("/v1/memories", namespace="alice", topic_id=ferry["topic_id"], session_id="s1").json()
    assert len(found["memories"]) == ferry["memories"]
    assert all("ferry" in memory["text"] for memory in found["memories"])
    ask = {"namespace": "alice", "session_id": "s9", "query": "Which bowls were fired?", "top_k": 50}

    def hits(where: object) -> list[str]:
        answer = alice.post("/v1/query", {**ask, "filter": {"topic_id": where}})
        assert answer.status_code == 200, answer.content
        return [chunk["text"] for chunk in answer.json()["raw_chunks"]]

    assert set(hits(ferry["topic_id"])) <= set(FERRY)
    assert hits(ferry["topic_id"])
    assert not set(hits({"ne": ferry["topic_id"]})) & {memory["text"] for memory in found["memories"]}
    assert set(hits({"in": [topic["topic_id"] for topic in session["topics"]]})) >= {KILN[3], FERRY[3]}


@pytest.mark.parametrize("wrong", ["3", -1, 32_768, True, 1.5, "6f1c1a52-7d1e-4b9a-9a53-0c8f8f6f2b11"])
def test_a_topic_is_a_number(alice, wrong):
    body = {"namespace": "alice", "session_id": "s", "query": "q", "filter": {"topic_id": wrong}}
    answer = alice.post("/v1/query", body)
    assert answer.status_code == 400
    assert "topic_id" in answer.json()["error"]["message"] + str(answer.json()["error"].get("detail"))


def test_later_memories_make_the_tree_incomplete(alice, tree, remember):
    tree()
    remember(alice, "The kiln is cold on Sundays.")
    assert listed(alice)["complete"] is False
    fit.project(alice.scope, now=timezone.now())
    assert listed(alice)["complete"] is True


def test_memories_that_hold_no_longer_are_not_counted(alice, tree):
    ids = tree()
    edit.archive(system_access("t"), memory_ids=ids[:5], reason="r", now=timezone.now())
    [session] = listed(alice, session_id="s1")["sessions"]
    assert session["memories"] == 19


def test_erased_memories_leave_no_topic(alice, tree):
    tree()
    erasure = requests.request(alice.scope, target=Target(session="s1"), reason="r", now=timezone.now())
    run.carry_out(namespace_id=erasure.namespace_id, erasure_id=erasure.id, now=timezone.now)
    found = listed(alice)
    assert "s1" not in [one["session_id"] for one in found["sessions"]]
    assert "ferry" not in str(found)


def test_rebuilding_is_a_job_and_is_audited(alice, tree):
    tree()
    answer = alice.post("/v1/tree/rebuild", {"namespace": "alice"})
    assert answer.status_code == 202
    job = Job.objects.across_namespaces().get(pk=answer.json()["job_id"])
    assert job.kind == "project_memories"
    assert AuditLog.objects.across_namespaces().filter(event_type="TREE_REBUILD").count() == 1
