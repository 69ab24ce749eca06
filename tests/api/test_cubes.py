"""`/v1/cubes`: refusals first; then cubes are made, configured, shared and searched together."""

from __future__ import annotations

import uuid
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from memory.models import ApiKey, AuditLog, CubeShare
from memory.services.tenancy.keys import set_owner
from memory.services.tenancy.users import create_user
from memory.types import system_access
from tests.api.mcp.client import answer_of
from tests.api.test_users import send

EVERYTHING = system_access("test")


@pytest.fixture
def boss(make_tenant):
    """Return a key for everything, as an operator has it."""
    return make_tenant("boss", all_namespaces=True)


@pytest.fixture
def ben(bob):
    """Return the user to whom Bob's key belongs."""
    user = create_user(EVERYTHING, namespace="bob", name="ben", now=timezone.now())
    key = ApiKey.objects.get(prefix=bob.scope.actor.removeprefix("key:"))
    set_owner(key_id=key.pk, owner=user, actor="tests", now=timezone.now())
    return user


@pytest.fixture
def cube(alice):
    answer = alice.post("/v1/cubes/register", {"namespace": "alice", "name": "Alice's notes"})
    assert answer.status_code == 201, answer.content
    return answer.json()


def share(boss: Any, cube: dict[str, Any], user: Any, **fields: Any) -> Any:
    answer = boss.post(f"/v1/cubes/{cube['id']}/shares", {"user_id": str(user.pk), "level": "read", **fields})
    assert answer.status_code == 200, answer.content
    return answer.json()


def find(tenant: Any, **fields: Any) -> Any:
    return tenant.post("/v1/search", {"query": "Where does the ferry leave?", **fields})


def test_nobody_without_a_key_and_no_key_without_the_scope(olga, make_tenant, cube):
    assert olga.get("/v1/cubes").status_code == 401
    writer = make_tenant("alice", scopes=("read", "write"))
    for method, path, body in (
        ("post", "/v1/cubes", {"namespace": "x", "name": "x"}),
        ("post", "/v1/cubes/register", {"namespace": "alice", "name": "x"}),
        ("patch", f"/v1/cubes/{cube['id']}", {"name": "x"}),
        ("delete", f"/v1/cubes/{cube['id']}", None),
        ("get", f"/v1/cubes/{cube['id']}/shares", None),
        ("post", f"/v1/cubes/{cube['id']}/shares", {"user_id": str(uuid.uuid4()), "level": "read"}),
    ):
        assert send(writer, method, path, body).status_code == 403, (method, path)
    assert writer.get(f"/v1/cubes/{cube['id']}").status_code == 200


def test_another_tenants_cube_is_as_one_that_is_not_there(bob, cube):
    for identity in (cube["id"], str(uuid.uuid4())):
        user = str(uuid.uuid4())
        for method, path, body in (
            ("get", "", None),
            ("patch", "", {"name": "x"}),
            ("delete", "", None),
            ("get", "/shares", None),
            ("post", "/shares", {"user_id": user, "level": "read"}),
            ("post", "/shares", {"key": "mos_00000000", "level": "read"}),
            ("delete", f"/shares/{user}", None),
        ):
            answer = send(bob, method, f"/v1/cubes/{identity}{path}", body)
            assert answer.status_code == 404, (method, path, answer.content)
            assert answer.json()["error"]["message"] == f"There is no cube {identity} that this key reaches."
        refused = find(bob, cubes=[identity])
        assert refused.status_code == 404
        assert refused.json()["error"]["message"] == f"There is no cube {identity} that this key reaches."
    assert bob.get("/v1/cubes").json()["cubes"] == []
    assert bob.get("/v1/cubes", namespace="alice").status_code == 404
    assert bob.post("/v1/cubes/register", {"namespace": "alice", "name": "Mine"}).status_code == 404
    assert bob.post("/v1/cubes", {"namespace": "new", "name": "New"}).status_code == 404


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"user_id": "x", "level": "read"}, "user_id"),
        ({"level": "read"}, "user_id"),
        ({"user_id": str(uuid.uuid4()), "key": "mos_1", "level": "read"}, "user_id"),
        ({"user_id": str(uuid.uuid4())}, "level"),
        ({"user_id": str(uuid.uuid4()), "level": "own"}, "level"),
        ({"user_id": str(uuid.uuid4()), "level": "read", "expires_at": "soon"}, "expires_at"),
        ({"user_id": str(uuid.uuid4()), "level": "read", "expires_at": "2020-01-01T00:00:00Z"}, "expires_at"),
    ],
)
def test_a_wrong_share_is_refused_with_the_field(alice, cube, body, field):
    answer = alice.post(f"/v1/cubes/{cube['id']}/shares", body)

    assert answer.status_code == 400, answer.content
    detail = answer.json()["error"]["detail"]
    assert (detail["field"] if isinstance(detail, dict) else detail[0]["field"]) == field


def test_a_wrong_configuration_changes_nothing(alice, ben, cube):
    path = f"/v1/cubes/{cube['id']}"
    for body, status in (
        ({"kinds": ["activation"]}, 400),
        ({"kinds": ["dreams"]}, 400),
        ({"name": "x" * 129}, 400),
        ({"owner_id": str(ben.pk)}, 404),
        ({"name": "Other", "policy": {"ttl_days": -1}}, 400),
        ({"name": "Other", "policy": {"no_such": 1}}, 400),
    ):
        answer = send(alice, "patch", path, body)
        assert answer.status_code == status, (body, answer.content)
    assert send(alice, "patch", path, {"name": "Other"}, If_Match='"2"').status_code == 412
    assert alice.get(path).json() == cube


def test_a_cube_is_made_configured_listed_and_ended(boss, alice, cube, remember):
    remember(alice, "The ferry leaves from pier nine.")
    made = boss.post("/v1/cubes", {"namespace": "fresh", "name": "Fresh", "kinds": ["parametric", "textual"]})
    assert made.status_code == 201
    assert (made.json()["kinds"], made.json()["contents"]["memories"]) == (["textual", "parametric"], 0)
    assert boss.post("/v1/cubes", {"namespace": "alice", "name": "Again"}).status_code == 409
    assert alice.post("/v1/cubes/register", {"namespace": "alice", "name": "Again"}).status_code == 409

    path = f"/v1/cubes/{cube['id']}"
    changes = {"kinds": ["textual", "activation"], "description": "What I know", "policy": {"ttl_days": 30}}
    changed = send(alice, "patch", path, changes, If_Match='"1"')
    assert (changed.status_code, changed["ETag"]) == (200, '"2"'), changed.content
    shown = alice.get(path).json()
    assert (shown["policy"], shown["policy_version"], shown["level"]) == ({"ttl_days": 30}, 1, "own")
    assert shown["contents"]["memories"] == sum(shown["contents"]["by_kind"].values()) == 1
    assert shown["contents"]["text_bytes"] == len("The ferry leaves from pier nine.")
    assert [one["name"] for one in boss.get("/v1/cubes").json()["cubes"]] == ["Fresh", "Alice's notes"]
    assert [one["name"] for one in alice.get("/v1/cubes").json()["cubes"]] == ["Alice's notes"]

    assert send(alice, "delete", path).status_code == 204
    assert alice.get(path).status_code == 404
    assert find(alice, namespace="alice").json()["hits"]
    events = AuditLog.objects.across_namespaces().filter(namespace="alice", event_type__startswith="CUBE_")
    assert sorted(events.values_list("event_type", flat=True)) == ["CUBE_CHANGE", "CUBE_CREATE", "CUBE_UNREGISTER"]


def test_a_share_governs_what_a_key_reaches_and_ends_at_once(boss, alice, bob, ben, cube, remember):
    memory = remember(alice, "The ferry leaves from pier nine.")
    remember(bob, "The train leaves from platform two.")
    listing = lambda: bob.get("/v1/memories", namespace="alice").status_code  # noqa: E731
    turn = {"namespace": "alice", "session_id": "s1", "text": "The captain is called Ines Duarte."}
    reads = [
        lambda: bob.get(f"/v1/memories/{memory}").status_code,
        lambda: bob.get(f"/v1/memories/{memory}/history").status_code,
        listing,
        lambda: find(bob, namespace="alice").status_code,
        lambda: find(bob, cubes=[cube["id"]]).status_code,
        lambda: bob.post("/v1/query", {"namespace": "alice", "query": "ferry"}).status_code,
        lambda: bob.post("/v1/answer", {"namespace": "alice", "query": "ferry"}).status_code,
        lambda: bob.get("/v1/documents", namespace="alice").status_code,
        lambda: bob.get("/v1/entities", namespace="alice").status_code,
    ]
    writes = [
        lambda: bob.post("/v1/ingest", turn).status_code,
        lambda: send(bob, "patch", f"/v1/memories/{memory}", {"importance": 0.9, "reason": "x"}).status_code,
    ]
    # Neither a reader nor a writer may manage the sharer's cube, or see more of it than the memories.
    closed = [
        lambda: bob.get("/v1/policy", namespace="alice").status_code,
        lambda: bob.get("/v1/webhooks", namespace="alice").status_code,
        lambda: bob.get("/v1/ops/audit", namespace="alice").status_code,
        lambda: bob.get("/v1/memories/export", namespace="alice").status_code,
        lambda: bob.get(f"/v1/cubes/{cube['id']}/shares").status_code,
        lambda: send(bob, "patch", f"/v1/cubes/{cube['id']}", {"name": "Mine"}).status_code,
        lambda: bob.post("/v1/erasures", {"namespace": "alice", "session_id": "s1", "reason": "x"}).status_code,
        lambda: (
            send(
                bob, "delete", "/v1/memories", {"namespace": "alice", "filter": {"role": "user"}, "reason": "x"}
            ).status_code
        ),
        lambda: bob.post("/v1/users", {"namespace": "alice", "name": "mole"}).status_code,
    ]
    assert {look() for look in (*reads, *writes, *closed)} == {404}

    share(boss, cube, ben)
    assert [look() for look in reads] == [200] * len(reads)
    assert {look() for look in (*writes, *closed)} == {404}
    kept = bob.post("/v1/answer", {"namespace": "alice", "query": "ferry", "remember": True})
    assert (kept.status_code, kept.json()["error"]["detail"]) == (403, {"field": "remember"})
    owner = create_user(EVERYTHING, namespace="alice", name="ann", now=timezone.now())
    send(alice, "patch", f"/v1/cubes/{cube['id']}", {"owner_id": str(owner.pk)})
    assert alice.get(f"/v1/cubes/{cube['id']}").json()["owner"]["name"] == "ann"
    shown = bob.get(f"/v1/cubes/{cube['id']}").json()
    assert shown["owner"] == {"id": str(owner.pk), "name": None}
    assert (shown["level"], shown["policy"], shown["models"]) == ("read", None, None)
    assert "alice" not in str(bob.get("/v1/ops/stats").json())

    share(boss, cube, ben, level="write")
    assert {look() for look in (*reads, *writes)} == {200}
    assert {look() for look in closed} == {404}

    soon = share(boss, cube, ben, level="write", expires_at=(timezone.now() + timedelta(hours=1)).isoformat())
    assert not soon["expired"]
    CubeShare.objects.across_namespaces().update(expires_at=timezone.now())
    assert {look() for look in (*reads, *writes)} == {404}
    assert boss.get(f"/v1/cubes/{cube['id']}/shares").json()["shares"][0]["expired"]

    share(boss, cube, ben)
    assert listing() == 200
    revoke = f"/v1/cubes/{cube['id']}/shares/{ben.pk}"
    assert send(alice, "delete", revoke).status_code == 204
    assert {look() for look in (*reads, *writes)} == {404}
    assert send(alice, "delete", revoke).status_code == 404
    events = AuditLog.objects.across_namespaces().filter(event_type__in=["CUBE_SHARE", "CUBE_REVOKE"])
    assert events.count() == 5


def test_a_write_share_does_not_clear_what_is_suspected(boss, alice, bob, ben, cube, remember):
    memory = remember(alice, "The ferry leaves from pier nine.")
    share(boss, cube, ben, level="write")
    alice_memory = f"/v1/memories/{memory}"
    from memory.models import Memory

    Memory.objects.across_namespaces().filter(pk=memory).update(review="suspected")

    assert send(bob, "patch", alice_memory, {"reviewed": True, "reason": "fine"}).status_code == 403
    assert send(alice, "patch", alice_memory, {"reviewed": True, "reason": "fine"}).status_code == 200


def test_a_share_names_the_owner_of_a_key(boss, alice, bob, ben, cube):
    path = f"/v1/cubes/{cube['id']}/shares"
    prefix = bob.scope.actor.removeprefix("key:")
    for named in (f"mos_{prefix}", prefix):
        assert boss.post(path, {"key": named, "level": "read"}).json()["user_name"] == "ben"
    # Alice cannot see Ben, neither by one of his keys nor by his id.
    assert alice.post(path, {"key": prefix, "level": "read"}).status_code == 404
    assert alice.post(path, {"user_id": str(ben.pk), "level": "read"}).status_code == 404
    (shown,) = alice.get(path).json()["shares"]
    assert (shown["user_id"], shown["user_name"]) == (str(ben.pk), None)
    assert send(alice, "delete", f"/v1/cubes/{cube['id']}").status_code == 204
    assert not CubeShare.objects.across_namespaces().exists()


def test_a_search_spans_cubes_and_says_whose_each_hit_is(boss, alice, bob, ben, cube, remember):
    remember(alice, "The ferry leaves from pier nine.")
    remember(bob, "The ferry leaves at noon on Sundays.")
    share(boss, cube, ben)
    own = bob.post("/v1/cubes/register", {"namespace": "bob", "name": "Bob's", "owner_id": str(ben.pk)}).json()

    found = find(bob, cubes=[own["id"], cube["id"], cube["id"]], top_k=2)
    assert found.status_code == 200, found.content
    hits = found.json()["hits"]
    assert {(hit["namespace"], hit["cube"]["id"], hit["cube"]["owner_id"]) for hit in hits} == {
        ("alice", cube["id"], None),
        ("bob", own["id"], str(ben.pk)),
    }
    assert [hit["relevance"] for hit in hits] == sorted((hit["relevance"] for hit in hits), reverse=True)
    assert {hit["namespace"] for hit in find(bob, namespace="bob", cubes=[cube["id"]]).json()["hits"]} == {
        "alice",
        "bob",
    }
    assert len(find(bob, cubes=[own["id"], cube["id"]], top_k=1).json()["hits"]) == 1
    assert find(bob, cubes=[own["id"], str(uuid.uuid4())]).status_code == 404
    assert find(bob, cubes=[cube["id"]] * 21).status_code == 400
    assert find(bob, cubes="x").status_code == 400
    assert {hit["text"] for hit in find(bob).json()["hits"]} == {"The ferry leaves at noon on Sundays."}
    assert AuditLog.objects.across_namespaces().filter(event_type="QUERY", namespace="alice").count() == 3


def test_a_shared_cube_does_not_become_the_only_namespace_of_a_key(boss, alice, bob, ben, cube, remember):
    remember(alice, "The ferry leaves from pier nine.")
    share(boss, cube, ben)
    call = {"name": "search_memories", "arguments": {"query": "ferry"}}
    asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    ask = lambda: bob.client.post("/mcp", asked, content_type="application/json").json()["result"]  # noqa: E731

    assert answer_of(ask())["memories"] == []
    call["arguments"]["namespace"] = "alice"
    assert answer_of(ask())["memories"]
    assert send(boss, "delete", f"/v1/cubes/{cube['id']}/shares/{ben.pk}").status_code == 204
    assert ask()["isError"]
    assert Client().get("/v1/cubes").status_code == 401
