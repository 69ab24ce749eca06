"""POST /v1/policy/preview: what a change would do, before it is saved."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from memory.models import AuditLog, ContextPack, Memory, NamespacePolicy, UpkeepMark
from memory.services.ingestion.ingest import ingest_batch
from memory.services.retention import sweep
from memory.services.tenancy.policy import put_policy
from memory.types import NewMemory

FACT = "The kiln of the pottery in Lisbon fires at 1,240 degrees."


def preview(tenant, policy, *, namespace=None):
    return tenant.post("/v1/policy/preview", {"namespace": namespace or tenant.scope.namespace, "policy": policy})


def remember(tenant, *texts, days=0):
    items = [(tenant.scope, NewMemory(session="s1", role="user", text=text)) for text in texts]
    return [str(value) for value in ingest_batch(items, now=timezone.now() - timedelta(days=days)).memory_ids]


def test_a_stranger_and_a_writer_are_refused(make_tenant, olga):
    assert olga.post("/v1/policy/preview").status_code == 401
    assert preview(make_tenant("shop", scopes=("write",)), {}).status_code == 403
    assert preview(make_tenant("shop", scopes=("read",)), {}).status_code == 200


def test_another_tenants_namespace_is_not_found(alice, bob):
    remember(bob, FACT)

    assert preview(alice, {}, namespace="bob").status_code == 404
    assert preview(alice, {}, namespace="nowhere").status_code == 404


@pytest.mark.parametrize("policy", [{"ttl_days": -1}, {"ttl": 1}, {"gate": {"strict": True, "worth_threshold": 0}}, []])
def test_a_wrong_policy_is_refused(alice, policy):
    assert preview(alice, policy).status_code == 400


def test_it_tells_how_many_and_which_and_writes_nothing(alice, bob):
    remember(bob, FACT, days=40)
    young = remember(alice, FACT, days=20)
    old = remember(alice, FACT, FACT + "!", days=40)
    events = AuditLog.objects.across_namespaces().count()

    body = preview(alice, {"ttl_days": 30}).json()

    assert body["active_memories"] == 3
    assert body["would"] == {"archive": 2, "decayed": 0, "expired": 2, "packs": 0, "evaluations": 0, "quarantined": 0}
    assert body["without_change"]["archive"] == 0
    assert [entry["memory_id"] for entry in body["memories"]] == sorted(old)
    assert {entry["rule"] for entry in body["memories"]} == {"expired"}
    assert body["policy"]["ttl_days"] == 30
    assert AuditLog.objects.across_namespaces().count() == events
    assert not NamespacePolicy.objects.across_namespaces().exists()
    assert not UpkeepMark.objects.exists()
    assert Memory.objects.across_namespaces().active().count() == 4
    assert young


def test_each_memory_says_how_strong_it_is(alice):
    remember(alice, FACT, days=10)

    [entry] = preview(alice, {"decay": {"floor": 0.2, "half_life_days": {"said": 5, "episode": 5}}}).json()["memories"]

    assert (entry["rule"], entry["kind"]) == ("decayed", "said")
    strength = entry["strength"]
    assert strength["decay"] == pytest.approx(0.25, abs=1e-3)
    assert strength["value"] == pytest.approx(strength["importance"] * strength["decay"] * strength["use"], abs=1e-5)
    assert "below the floor 0.2" in entry["reason"]


def test_it_names_fifty_and_counts_all(alice):
    remember(alice, *[f"{FACT} {number}" for number in range(60)], days=40)

    body = preview(alice, {"ttl_days": 30}).json()

    assert (body["would"]["expired"], len(body["memories"])) == (60, 50)


def test_what_it_says_is_what_the_sweep_then_does(alice):
    remember(alice, FACT, "Thanks!", days=95)
    remember(alice, FACT, "Thanks!", days=5)
    ContextPack.objects.create(
        namespace_id=alice.scope.namespace_id,
        session="s",
        query_text="q",
        retrieved_count=0,
        token_original=0,
        token_condensed=0,
        pack={},
        created_at=timezone.now() - timedelta(days=8),
    )
    change = {"ttl_days": 200, "retention": {"packs_days": 7}, "decay": {"floor": 0.1}}
    would = preview(alice, change).json()["would"]

    put_policy(alice.scope, wanted=change, now=timezone.now())
    swept = sweep.sweep(actor="t", now=timezone.now())

    assert would["decayed"] == swept.total.decayed == 1
    assert would["packs"] == swept.total.packs == 1
