"""POST /v1/memories/{memory_id}/restore: out of the archive, to an earlier version, or valid again."""

from __future__ import annotations

import uuid

import pytest

from memory.models import AuditLog, Memory, MemoryVector, MemoryVersion
from memory.services.index.recount import differences

TEXT = "The zeppelin leaves at six."


@pytest.fixture
def memory_id(alice, remember) -> str:
    return remember(alice, TEXT, speaker="Ann")


def restore(tenant, memory_id, **body):
    return tenant.post(f"/v1/memories/{memory_id}/restore", {"reason": "right after all", **body})


def patch(tenant, memory_id, **body):
    body = {"reason": "typo", **body}
    return tenant.client.patch(f"/v1/memories/{memory_id}", data=body, content_type="application/json")


def found(tenant, query="zeppelin") -> list[str]:
    return [hit["id"] for hit in tenant.post("/v1/search", {"namespace": "alice", "query": query}).json()["hits"]]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"reason": ""}, "reason"),
        ({"reason": 1}, "reason"),
        ({"version_id": "x"}, "version_id"),
        ({"undo_supersede": "yes"}, "undo_supersede"),
        ({"version_id": str(uuid.uuid4()), "undo_supersede": True}, "body"),
    ],
)
def test_a_wrong_body_is_refused(alice, memory_id, body, field):
    answer = restore(alice, memory_id, **body)

    assert answer.status_code == 400
    assert answer.json()["error"]["detail"][0]["field"] == field


def test_a_version_of_another_memory_is_a_404(alice, memory_id, remember):
    other = remember(alice, "Tea is at five.")
    patch(alice, other, text="Tea is at six.")

    answer = restore(alice, memory_id, version_id=str(MemoryVersion.objects.across_namespaces().get().pk))

    assert answer.status_code == 404
    assert answer.json()["error"]["detail"] == {"field": "version_id"}
    assert Memory.objects.across_namespaces().get(pk=memory_id).text == TEXT


def test_another_tenants_version_is_a_404(alice, bob, memory_id):
    patch(alice, memory_id, text="x")

    assert (
        restore(bob, memory_id, version_id=str(MemoryVersion.objects.across_namespaces().get().pk)).status_code == 404
    )


def test_from_the_archive_it_is_found_again(alice, memory_id):
    alice.client.delete(f"/v1/memories/{memory_id}")
    assert found(alice) == []

    answer = restore(alice, memory_id)

    assert (answer.json()["state"], answer.json()["changed"], answer["ETag"]) == ("active", ["state"], '"3"')
    assert found(alice) == [memory_id]
    assert MemoryVector.objects.across_namespaces().get().searchable
    assert differences([alice.scope.namespace_id]) == []
    assert restore(alice, memory_id).json()["changed"] == []


def test_to_a_former_version(alice, memory_id):
    patch(alice, memory_id, text="Trains leave at seven.", speaker="Ben", importance=0.9)
    version = MemoryVersion.objects.across_namespaces().get()

    answer = restore(alice, memory_id, version_id=str(version.pk))

    assert answer.json()["changed"] == ["text", "speaker"]
    memory = Memory.objects.across_namespaces().get()
    assert (memory.text, memory.speaker, memory.importance, memory.revision) == (TEXT, "Ann", 0.9, 3)
    assert found(alice) == [memory_id]
    assert MemoryVersion.objects.across_namespaces().first().text == "Trains leave at seven."
    event = AuditLog.objects.across_namespaces().get(event_type="MEMORY_RESTORE")
    assert event.details["version"] == str(version.pk)
    assert "zeppelin" not in str(event.details)


def test_a_version_of_an_archived_memory_leaves_it_archived(alice, memory_id):
    patch(alice, memory_id, text="Trains leave at seven.")
    alice.client.delete(f"/v1/memories/{memory_id}")

    restore(alice, memory_id, version_id=str(MemoryVersion.objects.across_namespaces().get().pk))

    assert Memory.objects.across_namespaces().get().state == "archived"
    assert found(alice) == []
    assert restore(alice, memory_id).json()["state"] == "active"
    assert found(alice) == [memory_id]


def test_a_version_from_before_speakers_were_kept_leaves_the_speaker(alice, memory_id):
    patch(alice, memory_id, text="Trains leave at seven.")
    MemoryVersion.objects.across_namespaces().update(speaker=None, occurred_at=None, revision=None)

    restore(alice, memory_id, version_id=str(MemoryVersion.objects.across_namespaces().get().pk))

    assert (Memory.objects.across_namespaces().get().text, Memory.objects.across_namespaces().get().speaker) == (
        TEXT,
        "Ann",
    )


def test_to_hold_again(alice, memory_id, remember):
    newer = remember(alice, "The zeppelin leaves at eight.")
    alice.post(f"/v1/memories/{memory_id}/supersede", {"by": newer, "reason": "new plan"})

    answer = restore(alice, memory_id, undo_supersede=True)

    body = answer.json()
    assert (body["valid_to"], body["superseded_by"], body["changed"]) == (None, None, ["valid_to", "superseded_by"])
    history = alice.get(f"/v1/memories/{memory_id}/history").json()
    assert history["links"] == []
    assert [event["event_type"] for event in history["events"]] == ["MEMORY_REINSTATE", "MEMORY_SUPERSEDE", "INGEST"]
    assert history["events"][0]["details"]["before"]["superseded_by"] == newer
    assert restore(alice, memory_id, undo_supersede=True).json()["changed"] == []
