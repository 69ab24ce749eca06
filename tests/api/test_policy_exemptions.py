"""POST /v1/policy/exemptions: legal holds and lifetimes of single memories."""

from __future__ import annotations

import uuid

import pytest

from memory.models import AuditLog, MemoryUpkeep


def exempt(tenant, ids, *, namespace=None, **fields):
    body = {"namespace": namespace or tenant.scope.namespace, "memory_ids": ids, "reason": "lawsuit", **fields}
    return tenant.post("/v1/policy/exemptions", body)


def test_it_needs_the_admin_scope(make_tenant, olga, remember):
    writer = make_tenant("shop", scopes=("read", "write"))
    memory_id = remember(writer, "Tea.")

    assert olga.post("/v1/policy/exemptions").status_code == 401
    assert exempt(writer, [memory_id], legal_hold=True).status_code == 403


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"memory_ids": []}, "memory_ids"),
        ({"memory_ids": ["x"]}, "memory_ids"),
        ({"memory_ids": [str(uuid.uuid4())] * 1001}, "memory_ids"),
        ({"legal_hold": "yes"}, "legal_hold"),
        ({"legal_hold": None}, "legal_hold"),
        ({"expires_at": "soon"}, "expires_at"),
        ({"reason": ""}, "reason"),
        ({"reason": "x" * 301}, "reason"),
    ],
)
def test_a_wrong_body_is_refused(alice, remember, changes, field):
    answer = exempt(alice, [remember(alice, "Tea.")], **{"legal_hold": True, **changes})

    assert answer.status_code == 400
    assert answer.json()["error"]["detail"][0]["field"].startswith(field)
    assert not MemoryUpkeep.objects.across_namespaces().exists()


def test_a_body_that_changes_nothing_is_refused(alice, remember):
    answer = exempt(alice, [remember(alice, "Tea.")])

    assert answer.status_code == 400
    assert "legal_hold, expires_at or both" in answer.json()["error"]["message"]


def test_another_tenants_memory_refuses_all(alice, bob, remember):
    own, of_bob = remember(alice, "Tea."), remember(bob, "Tea.")

    assert exempt(alice, [own, of_bob], legal_hold=True).status_code == 404
    assert exempt(alice, [of_bob], legal_hold=True, namespace="bob").status_code == 404
    assert not MemoryUpkeep.objects.across_namespaces().exists()


def test_a_hold_is_set_once_and_audited_with_before_and_after(alice, remember):
    memory_id = remember(alice, "Tea.")

    assert exempt(alice, [memory_id, memory_id], legal_hold=True).json() == {"changed": 1}
    assert exempt(alice, [memory_id], legal_hold=True).json() == {"changed": 0}
    event = AuditLog.objects.across_namespaces().get(event_type="POLICY_EXEMPTION")
    assert event.subject == memory_id
    assert event.details == {
        "reason": "lawsuit",
        "before": {"legal_hold": False, "expires_at": None},
        "after": {"legal_hold": True, "expires_at": None},
    }


def test_an_expiry_is_set_and_taken_off_and_the_hold_stays(alice, remember):
    memory_id = remember(alice, "Tea.")
    exempt(alice, [memory_id], legal_hold=True)
    exempt(alice, [memory_id], expires_at="2030-01-01T00:00:00Z")

    row = MemoryUpkeep.objects.across_namespaces().get(memory_id=memory_id)
    assert (row.legal_hold, row.expires_at.year) == (True, 2030)
    assert exempt(alice, [memory_id], expires_at=None).json() == {"changed": 1}
    row.refresh_from_db()
    assert (row.legal_hold, row.expires_at) == (True, None)


def test_what_is_known_of_a_memory_is_kept(alice, remember):
    memory_id = remember(alice, "Tea.")
    MemoryUpkeep.objects.create(namespace_id=alice.scope.namespace_id, memory_id=memory_id, uses=7, stale=True)
    exempt(alice, [memory_id], legal_hold=True)

    row = MemoryUpkeep.objects.across_namespaces().get(memory_id=memory_id)
    assert (row.uses, row.stale, row.legal_hold) == (7, True, True)
