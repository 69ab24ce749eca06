"""POST /v1/memories/{memory_id}/pin and …/unpin."""

from __future__ import annotations

import pytest

from memory.models import AuditLog, Memory


@pytest.fixture
def memory_id(alice, remember) -> str:
    return remember(alice, "Tea is at five.")


def send(tenant, memory_id, verb, body=None, **headers):
    return tenant.post(f"/v1/memories/{memory_id}/{verb}", body or {}, **headers)


@pytest.mark.parametrize("verb", ["pin", "unpin"])
@pytest.mark.parametrize("reason", ["", 5, "r" * 301, None])
def test_a_wrong_reason_is_refused(alice, memory_id, verb, reason):
    answer = send(alice, memory_id, verb, {"reason": reason})

    assert answer.status_code == 400
    assert answer.json()["error"]["detail"][0]["field"] == "reason"


def test_another_etag_is_a_412(alice, memory_id):
    assert send(alice, memory_id, "pin", If_Match='"2"').status_code == 412
    assert not Memory.objects.across_namespaces().get().pinned


def test_pinned_and_unpinned_once_each(alice, memory_id):
    pinned = send(alice, memory_id, "pin", {"reason": "a rule"}, If_Match='"1"')
    again = send(alice, memory_id, "pin")

    assert (pinned.json()["pinned"], pinned.json()["changed"], pinned["ETag"]) == (True, ["pinned"], '"2"')
    assert (again.json()["changed"], again["ETag"]) == ([], '"2"')
    assert [row["id"] for row in alice.get("/v1/memories", namespace="alice", pinned="true").json()["memories"]] == [
        memory_id
    ]
    unpinned = send(alice, memory_id, "unpin")
    assert (unpinned.json()["pinned"], unpinned["ETag"]) == (False, '"3"')
    events = AuditLog.objects.across_namespaces().filter(subject=memory_id).order_by("id")
    assert [(event.event_type, event.details.get("reason")) for event in events] == [
        ("INGEST", None),
        ("MEMORY_PIN", "a rule"),
        ("MEMORY_UNPIN", "no reason given"),
    ]


def test_one_idempotency_key_pins_once(alice, memory_id):
    first = send(alice, memory_id, "pin", Idempotency_Key="k1")
    send(alice, memory_id, "unpin")

    assert send(alice, memory_id, "pin", Idempotency_Key="k1").json() == first.json()
    assert not Memory.objects.across_namespaces().get().pinned
