"""POST /v1/dev/seed: a session with something in it."""

from __future__ import annotations

from unittest import mock

import pytest
import redis

from memory.models import AuditLog, Memory
from memory.stores import redis as redis_store
from memory.stores import window

PATH = "/v1/dev/seed?namespace=alice&session_id=mine"


def test_a_session_is_filled_and_says_with_what(alice):
    answer = alice.post(PATH, None)

    assert answer.status_code == 200
    body = answer.json()
    assert (body["ok"], body["namespace"], body["session_id"]) == (True, "alice", "mine")
    rows = Memory.objects.in_scope(alice.scope).in_session("mine").order_by("turn")
    assert [str(row.pk) for row in rows] == body["memory_ids"]
    assert body["inserted"] == len(body["memory_ids"]) > 5
    assert len(window.read(alice.scope.namespace_id, "mine")) == min(20, len(rows))
    found = alice.post("/v1/query", {"namespace": "alice", "session_id": "mine", "query": rows[0].text}).json()
    assert found["raw_chunks"][0]["id"] == body["memory_ids"][0]


def test_a_second_call_adds_nothing(alice):
    first, second = alice.post(PATH, None).json(), alice.post(PATH, None).json()
    assert first["memory_ids"] == second["memory_ids"]
    assert Memory.objects.across_namespaces().count() == len(first["memory_ids"])
    assert AuditLog.objects.across_namespaces().filter(event_type="DEV_SEED").count() == 1


def test_a_reset_fills_it_anew(alice, remember):
    first = alice.post(PATH, None).json()["memory_ids"]
    remember(alice, "mine", session="mine")
    kept = remember(alice, "elsewhere", session="s2")

    second = alice.post(PATH + "&reset=true", None).json()["memory_ids"]

    assert set(first).isdisjoint(second)
    stored = {str(identity) for identity in Memory.objects.across_namespaces().values_list("pk", flat=True)}
    assert stored == {*second, kept}
    assert alice.post(PATH, None).json()["memory_ids"] == second


def test_without_names_the_demo_is_meant(make_tenant):
    demo = make_tenant("Demo")
    body = demo.post("/v1/dev/seed", None).json()
    assert (body["namespace"], body["session_id"]) == ("Demo", "demo-session")


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("namespace=&session_id=s", "namespace"),
        ("namespace=alice&session_id=" + "s" * 129, "session_id"),
        ("namespace=alice&reset=maybe", "reset"),
    ],
)
def test_a_wrong_parameter_is_named(alice, query, field):
    answer = alice.post(f"/v1/dev/seed?{query}", None)
    assert answer.status_code == 400
    assert answer.json()["error"]["detail"][0]["field"] == field
    assert not Memory.objects.across_namespaces().exists()


def test_a_key_that_may_only_read_fills_nothing(make_tenant):
    assert make_tenant("alice", scopes=("read",)).post(PATH, None).status_code == 403
    assert not Memory.objects.across_namespaces().exists()


def test_with_redis_away_a_filling_is_kept_and_a_reset_is_refused(alice):
    with mock.patch.object(redis_store, "get_redis_connection", side_effect=redis.ConnectionError("away")):
        assert alice.post(PATH, None).status_code == 200
        stored = Memory.objects.across_namespaces().count()
        assert alice.post(PATH + "&reset=true", None).status_code == 503
    assert Memory.objects.across_namespaces().count() == stored > 0


def test_a_key_without_the_admin_scope_cannot_empty_a_session_by_seeding(make_tenant):
    writer = make_tenant("alice", scopes=("write",))
    filled = writer.client.post("/v1/dev/seed?namespace=alice&session_id=s1")
    assert filled.status_code == 200

    refused = writer.client.post("/v1/dev/seed?namespace=alice&session_id=s1&reset=true")

    assert refused.status_code == 403
    assert refused.json()["error"]["detail"] == {"field": "reset"}
    assert Memory.objects.across_namespaces().count() == filled.json()["inserted"]
