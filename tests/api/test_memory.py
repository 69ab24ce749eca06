"""GET /v1/memories/{memory_id}: one memory and its ETag."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime

import pytest
from django.utils import timezone

from memory.models import Memory
from memory.services.memories import edit
from memory.types import system_access

PATHS = [
    ("get", ""), ("patch", ""), ("delete", ""), ("get", "/history"), ("post", "/restore"), ("post", "/supersede"),
    ("post", "/pin"), ("post", "/unpin"), ("post", "/feedback"),
]  # fmt: skip
# Valid bodies of each route; unknown fields are refused.
BODIES = {
    "patch": {"reason": "r", "text": "t"}, "delete": {}, "post/restore": {"reason": "r"},
    "post/supersede": {"reason": "r", "text": "t"}, "post/pin": {"reason": "r"}, "post/unpin": {"reason": "r"},
    "post/feedback": {"kind": "useful"},
}  # fmt: skip


def call(client, method: str, path: str, ending: str):
    return getattr(client, method)(path, data=BODIES[method + ending], content_type="application/json")


def send(client, method: str, memory_id: str, ending: str):
    path = f"/v1/memories/{memory_id}{ending}"
    return client.get(path) if method == "get" else call(client, method, path, ending)


@pytest.fixture
def world(alice, bob, olga, make_tenant, remember):
    """Return everyone, a memory of Alice's, and one key of hers for each single scope."""
    keys = {scope: make_tenant("alice", scopes=(scope,)) for scope in ("read", "write")}
    return alice, bob, olga, remember(alice, "Tea is at five."), keys


@pytest.mark.parametrize(("method", "ending"), PATHS)
def test_who_may_not_is_refused_on_every_route(world, method, ending):
    alice, bob, olga, memory_id, keys = world

    assert send(olga, method, memory_id, ending).status_code == 401
    assert send(keys["write" if method == "get" else "read"].client, method, memory_id, ending).status_code == 403
    refused = send(bob.client, method, memory_id, ending)
    assert refused.status_code == 404
    absent = send(bob.client, method, str(uuid.uuid4()), ending).json()["error"]
    assert (refused.json()["error"]["code"], refused.json()["error"]["detail"]) == (absent["code"], absent["detail"])
    after = alice.get(f"/v1/memories/{memory_id}").json()
    assert (after["revision"], after["text"], after["state"]) == (1, "Tea is at five.", "active")


@pytest.mark.parametrize("memory_id", ["1", "x", "01A1F915-2054-75A1-9F3A"])
def test_an_id_that_is_none_says_so(alice, memory_id):
    answer = alice.get(f"/v1/memories/{memory_id}")

    assert answer.status_code == 400
    assert answer.json()["error"]["detail"][0]["field"] == "memory_id"


def test_a_path_of_more_parts_is_no_route(alice):
    assert alice.get("/v1/memories/../query").status_code == 404


def test_a_memory_with_all_that_is_known_of_it(alice, remember):
    when = datetime(2026, 5, 1, 8, tzinfo=UTC)
    memory_id = remember(alice, "Tea is at five.", speaker="Ann", metadata={"room": 4}, occurred_at=when)

    answer = alice.get(f"/v1/memories/{memory_id}")

    assert answer.status_code == 200
    assert answer["ETag"] == '"1"'
    body = answer.json()
    assert body.pop("created_at") > "2026"
    assert body.pop("tokens") > 3
    assert body == {
        "id": memory_id,
        "namespace": "alice",
        "session_id": "s1",
        "turn": 1,
        "role": "user",
        "speaker": "Ann",
        "text": "Tea is at five.",
        "metadata": {"room": 4},
        "retired_statements": [],
        "importance": Memory.objects.across_namespaces().get().importance,
        "tier": "L2",
        "kind": "said",
        "sources": [],
        "state": "active",
        "pinned": False,
        "review": None,
        "revision": 1,
        "occurred_at": "2026-05-01T08:00:00+00:00",
        "valid_from": None,
        "valid_to": None,
        "superseded_by": None,
    }


def test_what_staff_do_changes_the_etag(alice, remember):
    memory_id = remember(alice, "Tea is at five.")
    staff, one = system_access("staff:ann"), [uuid.UUID(memory_id)]

    edit.archive(staff, memory_ids=one, reason="junk", now=timezone.now())
    assert alice.get(f"/v1/memories/{memory_id}")["ETag"] == '"2"'
    edit.restore(staff, memory_ids=one, reason="not junk", now=timezone.now())
    assert alice.get(f"/v1/memories/{memory_id}")["ETag"] == '"3"'
