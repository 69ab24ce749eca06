"""/v1/tree: the sessions of a namespace, their topics, and their contents."""

from __future__ import annotations

import uuid

import pytest
from django.utils import timezone

from memory.models import AuditLog, Job, Memory
from memory.retrieval.arms import topics
from memory.services.ingestion.ingest import ingest
from memory.services.memories import edit
from memory.services.tenancy.policy import put_policy
from memory.services.tree.grow import grow
from memory.types import NewMemory, system_access
from tests.services.tree.conftest import FERRY, KILN

ANYONE = "6f1c1a52-7d1e-4b9a-9a53-0c8f8f6f2b11"


@pytest.fixture
def tree(alice, remember):
    """Make a tree of two sessions for a tenant, the first with two topics; return the ids of the kiln's turns."""

    def make(tenant=alice, use: str = "browse") -> list[str]:
        put_policy(tenant.scope, wanted={"tree": use}, now=timezone.now())
        kiln = [remember(tenant, text) for text in KILN]
        for text in FERRY:
            remember(tenant, text)
        remember(tenant, "Nobody has watered the tomatoes.", session="s2")
        grow(tenant.scope, now=timezone.now())
        return kiln

    return make


def listed(tenant, **query) -> dict:
    answer = tenant.get("/v1/tree", namespace=tenant.scope.namespace, **query)
    assert answer.status_code == 200, answer.content
    return answer.json()


def topic_of(tenant, memory_id: str) -> dict:
    """Return the topic that a memory belongs to, from the topic's own route."""
    for session in listed(tenant, depth="2", limit="200")["nodes"]:
        for child in session["children"]:
            shown = tenant.get(f"/v1/tree/{child['id']}", namespace=tenant.scope.namespace).json()
            if memory_id in [memory["id"] for memory in shown["memories"]]:
                return shown
    raise AssertionError(f"{memory_id} is in no topic")


class TestRefusals:
    def test_looking_needs_the_read_scope_and_rebuilding_the_write_scope(self, make_tenant, olga):
        writer, reader = make_tenant("shop", scopes=("write",)), make_tenant("yard", scopes=("read",))
        for path in ("/v1/tree", f"/v1/tree/{ANYONE}"):
            assert olga.get(path).status_code == 401
            assert writer.get(path, namespace="shop").status_code == 403
        assert reader.post("/v1/tree/rebuild", {"namespace": "yard"}).status_code == 403

    @pytest.mark.parametrize(
        ("query", "field"),
        [
            ({"namespace": ""}, "namespace"),
            ({"parent": "x"}, "parent"),
            ({"depth": "3"}, "depth"),
            ({"depth": "0"}, "depth"),
            ({"limit": "201"}, "limit"),
            ({"limit": "9" * 400}, "limit"),
            ({"cursor": "x"}, "cursor"),
            ({"session_id": "s" * 129}, "session_id"),
        ],
    )
    def test_a_wrong_query_of_the_list_is_refused(self, alice, query, field):
        answer = alice.get("/v1/tree", **{"namespace": "alice", **query})
        assert answer.status_code == 400
        assert answer.json()["error"]["detail"][0]["field"] == field

    @pytest.mark.parametrize("query", [{"limit": "0"}, {"cursor": "x"}, {"namespace": ""}])
    def test_a_wrong_query_of_a_node_is_refused(self, alice, query):
        assert alice.get(f"/v1/tree/{ANYONE}", **{"namespace": "alice", **query}).status_code == 400

    def test_a_namespace_out_of_reach_is_not_there(self, alice, bob, tree):
        tree()
        for path in ("/v1/tree", f"/v1/tree/{listed(alice)['nodes'][0]['id']}"):
            assert bob.get(path, namespace="alice").status_code == 404
        assert bob.post("/v1/tree/rebuild", {"namespace": "alice"}).status_code == 404

    def test_a_node_of_another_tenant_is_not_there(self, alice, bob, tree):
        tree()
        tree(bob)
        node = listed(alice, depth="2")["nodes"][1]
        for identity in (node["id"], node["children"][0]["id"], ANYONE):
            answer = bob.get(f"/v1/tree/{identity}", namespace="bob")
            assert answer.status_code == 404
            assert "GET /v1/tree" in answer.json()["error"]["message"]
            assert bob.get("/v1/tree", namespace="bob", parent=identity).status_code == 404

    def test_a_topic_has_no_nodes_below_it(self, alice, tree):
        topic = topic_of(alice, tree()[0])["node"]["id"]
        answer = alice.get("/v1/tree", namespace="alice", parent=topic)
        assert answer.status_code == 400
        assert answer.json()["error"]["detail"]["field"] == "parent"

    def test_no_tree_is_made_anew_where_the_policy_keeps_none(self, alice):
        answer = alice.post("/v1/tree/rebuild", {"namespace": "alice"})
        assert answer.status_code == 409
        assert "PUT /v1/policy" in answer.json()["error"]["message"]
        assert not Job.objects.in_scope(alice.scope).exists()

    @pytest.mark.parametrize("value", ["x", 3, None, {"gt": ANYONE}, {"in": []}, {"in": ["x"]}])
    def test_a_wrong_filter_is_refused(self, alice, value):
        body = {"namespace": "alice", "query": "kiln", "filter": {"topic_id": value}}
        answer = alice.post("/v1/search", body)
        assert answer.status_code == 400
        assert "topic_id" in str(answer.json()["error"]["detail"])

    def test_a_wrong_topic_of_the_list_of_memories_is_refused(self, alice):
        assert alice.get("/v1/memories", namespace="alice", topic_id="x").status_code == 400


def test_without_a_tree_the_list_is_empty_and_says_so(alice):
    assert listed(alice) == {"use": "off", "complete": False, "nodes": [], "next_cursor": None}


def test_sessions_are_listed_newest_first_with_their_topics(alice, tree):
    kiln = tree()
    answer = listed(alice)
    assert (answer["use"], answer["complete"]) == ("browse", True)
    assert [node["session_id"] for node in answer["nodes"]] == ["s2", "s1"]
    assert all(node["children"] == [] and node["parent_id"] is None for node in answer["nodes"])
    session = answer["nodes"][1]
    assert (session["memories"], session["topics"], session["stale"]) == (6, 2, False)

    [_, deep] = listed(alice, depth="2")["nodes"]
    assert [child["memories"] for child in deep["children"]] == [3, 3]
    assert deep["children_cursor"] is None
    assert deep["children"][0]["label"].lower().count("kiln") == 1
    assert deep["children"][0]["sources"]
    assert {told["memory_id"] for told in deep["children"][0]["summary"]} <= set(kiln)
    below = listed(alice, parent=session["id"])["nodes"]
    assert [child["id"] for child in below] == [child["id"] for child in deep["children"]]
    assert [node["session_id"] for node in listed(alice, session_id="s1")["nodes"]] == ["s1"]


def test_pages_hold_each_node_once(alice, tree):
    tree()
    seen, cursor = [], {}
    while cursor is not None:
        page = listed(alice, limit="1", **cursor)
        seen += [node["session_id"] for node in page["nodes"]]
        cursor = {"cursor": page["next_cursor"]} if page["next_cursor"] else None
    assert seen == ["s2", "s1"]


def test_a_node_tells_its_path_and_its_memories_page_by_page(alice, tree):
    kiln = tree()
    shown = topic_of(alice, kiln[0])
    node = shown["node"]
    assert [memory["id"] for memory in shown["memories"]] == kiln
    assert [(step["level"], step["id"]) for step in node["path"]] == [
        ("session", node["parent_id"]),
        ("topic", node["id"]),
    ]
    first = alice.get(f"/v1/tree/{node['id']}", namespace="alice", limit="2").json()
    rest = alice.get(f"/v1/tree/{node['id']}", namespace="alice", limit="2", cursor=first["next_cursor"]).json()
    assert [memory["id"] for memory in first["memories"] + rest["memories"]] == kiln
    assert rest["next_cursor"] is None
    session = alice.get(f"/v1/tree/{node['parent_id']}", namespace="alice").json()
    assert len(session["memories"]) == 6
    assert len(session["node"]["children"]) == 2


def test_what_was_archived_is_told_of_no_more_before_the_worker_knows(alice, tree):
    kiln = tree()
    edit.archive(
        system_access("tests"), memory_ids=[uuid.UUID(one) for one in kiln], reason="wrong", now=timezone.now()
    )
    [_, session] = listed(alice, depth="2")["nodes"]
    assert (session["memories"], session["topics"]) == (3, 1)
    assert [child["memories"] for child in session["children"]] == [3]
    assert "kiln" not in str(session).lower()


def test_a_filter_finds_what_is_below_a_topic_or_a_session(alice, bob, tree):
    kiln = tree()
    tree(bob)
    node = topic_of(alice, kiln[0])["node"]
    s2 = listed(alice)["nodes"][0]["id"]

    def found(where: dict, tenant=alice) -> set[str]:
        body = {"namespace": tenant.scope.namespace, "query": "kiln ferry tomatoes", "top_k": 20, "filter": where}
        hits = tenant.post("/v1/search", {**body, "explain": True}).json()["hits"]
        return {hit["id"] for hit in hits} | {one for hit in hits for one in hit["explanation"]["restated_by"]}

    everything = found({"role": "user"})
    assert len(everything) == 7
    assert found({"topic_id": node["id"]}) == set(kiln)
    assert found({"topic_id": {"in": [node["id"], s2]}}) == everything - found(
        {"and": [{"session_id": "s1"}, {"not": {"topic_id": node["id"]}}]}
    )
    assert len(found({"topic_id": node["parent_id"]})) == 6
    assert found({"topic_id": {"ne": node["id"]}}) == everything - set(kiln)
    assert found({"topic_id": node["id"]}, bob) == set()
    assert found({"topic_id": ANYONE}) == set()
    pack = alice.post(
        "/v1/query",
        {"namespace": "alice", "session_id": "s9", "query": "ferry", "filter": {"topic_id": node["id"]}},
    ).json()
    assert {chunk["id"] for chunk in pack["raw_chunks"]} <= set(kiln)
    assert pack["raw_chunks"]


def test_the_list_of_memories_is_narrowed_to_a_node(alice, bob, tree):
    kiln = tree()
    tree(bob)
    node = topic_of(alice, kiln[0])["node"]

    def found(tenant, topic: str) -> list[str]:
        rows = tenant.get("/v1/memories", namespace=tenant.scope.namespace, topic_id=topic).json()["memories"]
        return [row["id"] for row in rows]

    assert found(alice, node["id"]) == kiln[::-1]
    assert len(found(alice, node["parent_id"])) == 6
    assert found(bob, node["id"]) == []
    assert alice.get("/v1/memories", namespace="alice", topic_id=node["id"], text="ferry").json()["memories"] == []


@pytest.mark.parametrize(("use", "takes_part"), [("browse", False), ("rank", True)])
def test_topics_take_part_in_a_search_where_the_policy_says_so(alice, tree, use, takes_part):
    tree(alice, use)
    body = {"namespace": "alice", "query": "Is the stoneware kiln hot?", "top_k": 3, "explain": True}
    [best, *_] = alice.post("/v1/search", body).json()["hits"]
    signals = best["explanation"]["signals"]
    assert ("topic" in signals) is takes_part
    if takes_part:
        assert signals["topic"] == {"raw": 1.0, "weight": 0.1, "weighted": 0.1}


def test_why_tells_the_topic_as_the_search_does(alice, tree):
    kiln = tree(alice, "rank")
    body = {"namespace": "alice", "query": "Is the stoneware kiln hot?", "top_k": 3}
    found = alice.post("/v1/search", {**body, "explain": True}).json()["hits"]
    signals = {hit["id"]: hit["explanation"]["signals"] for hit in found}
    told = {one: alice.post("/v1/why", {**body, "memory_id": one}).json() for one in kiln}
    assert {one: diagnosis["parts"]["signals"] for one, diagnosis in told.items()} == signals
    assert {diagnosis["parts"]["signals"]["topic"]["raw"] for diagnosis in told.values()} == {1.0}


def test_a_topic_of_any_size_brings_no_more_than_its_last_memories(alice, tree, monkeypatch):
    kiln = tree(alice, "rank")
    monkeypatch.setattr(topics, "MEMBERS", 2)
    body = {"namespace": "alice", "query": "Is the stoneware kiln hot?", "top_k": 9}
    told = {one: alice.post("/v1/why", {**body, "memory_id": one}).json()["parts"]["signals"] for one in kiln}
    assert ["topic" in signals for signals in told.values()] == [False, True, True]


def test_a_tree_is_made_anew_in_the_background_and_audited(alice, tree):
    tree()
    answer = alice.post("/v1/tree/rebuild", {"namespace": "alice"})
    assert answer.status_code == 202
    assert Job.objects.in_scope(alice.scope).get(pk=answer.json()["job_id"]).kind == "grow_tree"
    again = alice.post("/v1/tree/rebuild", {"namespace": "alice"})
    assert again.json() == answer.json()
    assert AuditLog.objects.in_scope(alice.scope).filter(event_type="TREE_REBUILD").count() == 2
    assert listed(alice)["complete"] is False


def test_a_document_is_called_by_its_title(alice, tree):
    tree()
    body = {"namespace": "alice", "document_id": "glazes", "title": "All our glazes", "text": "Celadon dries slowly."}
    alice.post("/v1/documents", body)
    grow(alice.scope, now=timezone.now())
    [document, *_] = listed(alice)["nodes"]
    assert (document["label"], document["memories"]) == ("All our glazes", 1)


def test_no_word_of_a_suspected_memory_is_told(alice, tree):
    tree()
    suspected = NewMemory(session="s3", role="user", text="The quagga and the zeppelin share a wooden hangar.")
    [memory_id] = ingest(alice.scope, memory=suspected, now=timezone.now()).memory_ids
    Memory.objects.in_scope(alice.scope).filter(pk=memory_id).update(review="suspected")
    grow(alice.scope, now=timezone.now())
    [node, *_] = listed(alice, depth="2")["nodes"]
    assert (node["session_id"], node["memories"], node["label"], node["summary"]) == ("s3", 1, "", [])
