"""Idempotency-Key of users, cubes, shares, imports and files: another body is refused, and a repeat creates nothing."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from memory.models import AuditLog, Cube, DocumentFile, IdempotencyRecord, Job, MemoryImport, User
from tests.api.test_cubes import ben, boss
from tests.api.test_users import send
from tests.threads import together

__all__ = ["ben", "boss"]

KEY = {"Idempotency_Key": "once"}
JSON_ROUTES: tuple[tuple[str, dict[str, Any], Any], ...] = (
    ("/v1/users", {"namespace": "alice", "name": "ann"}, User),
    ("/v1/cubes", {"namespace": "fresh", "name": "Fresh"}, Cube),
    ("/v1/cubes/register", {"namespace": "alice", "name": "Alice's"}, Cube),
    ("/v1/imports", {"namespace": "alice", "text": "[2024-05-01] - I take the train to Lyon."}, MemoryImport),
)


def count(model: Any) -> int:
    return model.objects.across_namespaces().count()


@pytest.mark.parametrize(("path", "body", "model"), JSON_ROUTES)
def test_a_repeat_makes_nothing_and_another_body_is_refused(boss, alice, path, body, model):
    refused = boss.post(path, body, Idempotency_Key="with a space")
    assert (refused.status_code, count(model)) == (400, 0)
    first = boss.post(path, body, **KEY)
    assert first.status_code in (200, 201), first.content
    events, jobs = AuditLog.objects.across_namespaces().count(), Job.objects.across_namespaces().count()

    again = boss.post(path, dict(reversed(body.items())), **KEY)
    assert (again.status_code, again.json()["id"]) == (first.status_code, first.json()["id"])
    other = boss.post(path, {**body, next(reversed(body)): "[2024-05-01] - Another."}, **KEY)
    assert (other.status_code, other.json()["error"]["code"]) == (409, "idempotency_key_reused")
    assert (AuditLog.objects.across_namespaces().count(), Job.objects.across_namespaces().count(), count(model)) == (
        events,
        jobs,
        1,
    )
    # An idempotency key belongs to the API key that sends it.
    assert alice.post(path, body, **KEY).status_code in (200, 404, 409)


def test_what_was_made_and_is_gone_is_not_made_again(boss, alice, ben):
    user = boss.post("/v1/users", {"namespace": "alice", "name": "ann"}, **KEY).json()
    asked = {"reason": "asked", "confirm": "ann"}
    assert send(boss, "delete", f"/v1/users/{user['id']}", asked).status_code == 200
    assert boss.post("/v1/users", {"namespace": "alice", "name": "ann"}, **KEY).status_code == 404

    cube = boss.post("/v1/cubes/register", {"namespace": "alice", "name": "Alice's"}).json()
    path = f"/v1/cubes/{cube['id']}/shares"
    body = {"user_id": str(ben.pk), "level": "read"}
    assert boss.post(path, body, Idempotency_Key="share").status_code == 200
    assert send(boss, "delete", f"{path}/{ben.pk}").status_code == 204
    refused = boss.post(path, body, Idempotency_Key="share")
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "conflict")
    assert boss.get(path).json()["shares"] == []
    # A refused request does not use up its idempotency key.
    assert boss.post(path, {**body, "user_id": str(uuid.uuid4())}, Idempotency_Key="wrong").status_code == 404
    assert boss.post(path, body, Idempotency_Key="wrong").status_code == 200


@pytest.mark.parametrize(
    ("path", "name", "model"), [("/v1/documents", "a.md", DocumentFile), ("/v1/imports", "a.txt", MemoryImport)]
)
def test_a_form_is_known_by_its_fields_and_the_bytes_of_its_file(alice, path, name, model):
    def give(content: bytes, key: str = "once", **fields: str) -> Any:
        form = {"namespace": "alice", "file": SimpleUploadedFile(name, content), **fields}
        return alice.client.post(path, form, headers={"Idempotency-Key": key})

    lines = b"[2024-05-01] - I take the train to Lyon.\n"
    first = give(lines)
    assert first.status_code in (200, 202), first.content
    assert give(lines).json()["id"] == first.json()["id"]
    changed = give(lines.replace(b"Lyon", b"Nice"))
    assert (changed.status_code, changed.json()["error"]["code"]) == (409, "idempotency_key_reused")
    field = {"title": "Trips"} if path == "/v1/documents" else {"speaker": "Ann"}
    assert give(lines, **field).status_code == 409
    assert count(model) == 1
    assert give(lines, key="two", **field).status_code in (200, 202)
    hashes = set(IdempotencyRecord.objects.values_list("body_hash", flat=True))
    assert len(hashes) == 2


@pytest.mark.django_db(transaction=True)
def test_two_at_once_make_one(alice):
    def make(number: int) -> Any:
        return alice.post("/v1/users", {"namespace": "alice", "name": "ann"}, **KEY).json()["id"]

    assert len(set(together(2, make))) == 1
    assert count(User) == 1
