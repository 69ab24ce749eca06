"""POST /v1/sessions/reset: everything of the session is deleted, and nothing else."""

from __future__ import annotations

import pytest

from memory.models import (
    AuditLog,
    Condensation,
    ContextPack,
    Memory,
    MemoryVector,
    NamespaceStat,
    Posting,
    Session,
)
from memory.stores import window
from tests.job_queue import run_task

RESET = {"namespace": "alice", "session_id": "s1", "confirm": True}


@pytest.fixture
def filled(alice, bob, remember):
    for number in range(4):
        remember(alice, f"turn {number} of the session about tea")
        remember(alice, f"turn {number} elsewhere", session="s2")
        remember(bob, f"turn {number} of bob")
    run_task("condense_session", alice.scope.namespace_id, "s1")
    alice.post("/v1/query", {"namespace": "alice", "session_id": "s1", "query": "tea"})
    return alice


@pytest.mark.parametrize("body", [{}, {"confirm": False}, {"confirm": None}, {"confirm": "yes"}, {"confirm": 1}])
def test_without_confirmation_it_is_refused(filled, body):
    answer = filled.post("/v1/sessions/reset", {"namespace": "alice", "session_id": "s1", **body})

    assert answer.status_code == 400
    assert answer.json()["error"]["detail"][0]["field"] == "confirm"
    assert Memory.objects.across_namespaces().filter(session="s1").count() == 8


def test_a_dry_run_only_counts(filled):
    body = filled.post("/v1/sessions/reset", RESET | {"dry_run": True}).json()

    assert body["deleted_counts"] == {
        "redis_keys": 1,
        "memories": 4,
        "documents": 0,
        "condensations": 1,
        "context_packs": 1,
        "quarantined": 0,
        "audit": 0,
    }
    assert Memory.objects.across_namespaces().count() == 12
    assert len(window.read(filled.scope.namespace_id, "s1")) == 4


def test_everything_of_the_session_goes_and_nothing_else(filled):
    body = filled.post("/v1/sessions/reset", RESET).json()

    assert body["ok"] is True
    assert (body["namespace"], body["session_id"]) == ("alice", "s1")
    assert body["deleted_counts"] == {
        "redis_keys": 1,
        "memories": 4,
        "documents": 0,
        "condensations": 1,
        "context_packs": 1,
        "quarantined": 0,
        "audit": 0,
    }
    namespace_id = filled.scope.namespace_id
    mine = {"namespace_id": namespace_id}
    assert Memory.objects.filter(**mine).count() == 4
    assert not Memory.objects.filter(**mine, session="s1").exists()
    assert MemoryVector.objects.filter(**mine).count() == 4
    assert not Posting.objects.filter(**mine, term="tea").exists()
    assert not Condensation.objects.filter(**mine).exists()
    assert not ContextPack.objects.filter(**mine).exists()
    assert window.read(namespace_id, "s1") == []
    kept = Memory.objects.filter(**mine)
    stats = NamespaceStat.objects.filter(**mine)
    assert sum(stat.memories for stat in stats) == 4
    assert sum(stat.terms for stat in stats) == sum(memory.length for memory in kept)
    assert Memory.objects.across_namespaces().exclude(**mine).count() == 4
    assert AuditLog.objects.across_namespaces().filter(event_type="SESSION_RESET").count() == 1


def test_clear_audit_hides_the_sessions_earlier_events(filled):
    def listed() -> list[str]:
        events = filled.get("/v1/ops/audit", namespace="alice", session_id="s1").json()["events"]
        return [event["event_type"] for event in events]

    before = len(listed())
    body = filled.post("/v1/sessions/reset", RESET | {"clear_audit": True}).json()

    assert body["deleted_counts"]["audit"] == before
    assert listed() == ["SESSION_RESET"]
    # The events themselves are append-only.
    assert AuditLog.objects.across_namespaces().filter(session="s1", event_type="INGEST").count() >= 4


def test_a_reset_session_starts_anew(filled, remember):
    filled.post("/v1/sessions/reset", RESET)

    remember(filled, "a new beginning")

    assert Memory.objects.get(session="s1", namespace_id=filled.scope.namespace_id).turn == 1
    assert Session.objects.get(name="s1", namespace_id=filled.scope.namespace_id).message_count == 1


def test_resetting_a_session_that_never_was_is_no_error(alice):
    body = alice.post("/v1/sessions/reset", RESET | {"session_id": "never"}).json()

    assert set(body["deleted_counts"].values()) == {0}
