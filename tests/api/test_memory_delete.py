"""DELETE /v1/memories/{memory_id} archives, and POST …/restore restores."""

from __future__ import annotations

import pytest

from memory.models import AuditLog, Memory
from memory.services.index.recount import differences


@pytest.fixture
def memory_id(alice, remember) -> str:
    return remember(alice, "The zeppelin leaves at six.")


def delete(tenant, memory_id, query="", **headers):
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return tenant.client.delete(f"/v1/memories/{memory_id}{query}", headers=named)


def found(tenant) -> list[str]:
    return [hit["id"] for hit in tenant.post("/v1/search", {"namespace": "alice", "query": "zeppelin"}).json()["hits"]]


def test_a_reason_that_says_nothing_or_too_much_is_refused(alice, memory_id):
    assert delete(alice, memory_id, "?reason=").status_code == 400
    assert delete(alice, memory_id, "?reason=" + "r" * 301).status_code == 400
    assert Memory.objects.across_namespaces().get().state == "active"


def test_another_etag_is_a_412(alice, memory_id):
    assert delete(alice, memory_id, If_Match='"2"').status_code == 412
    assert Memory.objects.across_namespaces().get().state == "active"


def test_it_is_archived_and_the_answer_says_how_to_erase_it(alice, memory_id):
    answer = delete(alice, memory_id, "?reason=not+true", If_Match='"1"')

    assert answer.status_code == 200
    body = answer.json()
    assert (body["state"], body["erased"], body["changed"], answer["ETag"]) == ("archived", False, ["state"], '"2"')
    assert "/v1/sessions/reset" in body["to_erase"]
    assert found(alice) == []
    assert alice.get(f"/v1/memories/{memory_id}").json()["text"] == "The zeppelin leaves at six."
    details = AuditLog.objects.across_namespaces().get(event_type="MEMORY_ARCHIVE").details
    assert details == {
        "reason": "not true", "before": {"state": "active"}, "after": {"state": "archived"}, "revision": 2,
    }  # fmt: skip
    assert differences([alice.scope.namespace_id]) == []


def test_again_changes_nothing(alice, memory_id):
    delete(alice, memory_id)

    again = delete(alice, memory_id)

    assert (again.status_code, again.json()["changed"], again["ETag"]) == (200, [], '"2"')
    assert AuditLog.objects.across_namespaces().filter(event_type="MEMORY_ARCHIVE").count() == 1


def test_one_idempotency_key_archives_once(alice, memory_id):
    first = delete(alice, memory_id, Idempotency_Key="k1")
    alice.post(f"/v1/memories/{memory_id}/restore", {"reason": "back"})
    again = delete(alice, memory_id, Idempotency_Key="k1")

    assert first.json() == again.json()
    assert Memory.objects.across_namespaces().get().state == "active"
