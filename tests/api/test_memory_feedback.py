"""POST /v1/memories/{memory_id}/feedback: one opinion a key, small steps of importance, and the review list."""

from __future__ import annotations

import pytest

from memory.models import AuditLog, Memory, MemoryFeedback


@pytest.fixture
def memory_id(alice, remember) -> str:
    identity = remember(alice, "Tea is at five.")
    Memory.objects.across_namespaces().update(importance=0.5)
    return identity


@pytest.fixture
def second(alice, make_tenant):
    """Return another key of Alice's namespace."""
    return make_tenant("alice")


def opine(tenant, memory_id, kind, note="", **headers):
    return tenant.post(f"/v1/memories/{memory_id}/feedback", {"kind": kind, "note": note}, **headers)


def to_review(tenant) -> list[tuple[str, str]]:
    rows = tenant.get("/v1/memories", namespace="alice", review="true").json()["memories"]
    return [(row["id"], row["review"]) for row in rows]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "kind"),
        ({"kind": "nice"}, "kind"),
        ({"kind": 1}, "kind"),
        ({"kind": "useful", "note": "n" * 501}, "note"),
        ({"kind": "useful", "note": None}, "note"),
        ({"kind": "useful", "note": "a\0b"}, "note"),
    ],
)
def test_a_wrong_body_is_refused(alice, memory_id, body, field):
    answer = alice.post(f"/v1/memories/{memory_id}/feedback", body)

    assert answer.status_code == 400
    assert answer.json()["error"]["detail"][0]["field"] == field
    assert not MemoryFeedback.objects.across_namespaces().exists()


def test_another_etag_is_a_412(alice, memory_id):
    assert opine(alice, memory_id, "useful", If_Match='"2"').status_code == 412
    assert not MemoryFeedback.objects.across_namespaces().exists()


def test_useful_raises_the_importance_a_little_and_once(alice, memory_id):
    first = opine(alice, memory_id, "useful", "it helped")
    again = opine(alice, memory_id, "useful", "it helped")

    assert (first.json()["importance"], first.json()["changed"]) == (0.55, ["feedback", "importance"])
    assert (again.json()["importance"], again.json()["changed"]) == (0.55, [])
    assert to_review(alice) == []
    event = AuditLog.objects.across_namespaces().get(event_type="MEMORY_FEEDBACK")
    assert event.details == {
        "before": {"importance": 0.5, "review": "", "opinion": None},
        "after": {"importance": 0.55, "review": "", "opinion": "useful"},
        "opinions": {"useful": 1},
        "revision": 2,
    }
    assert "helped" not in str(event.details)


@pytest.mark.parametrize(("kind", "importance"), [("wrong", 0.35), ("outdated", 0.4)])
def test_a_doubt_puts_it_on_the_review_list_until_someone_has_looked(alice, memory_id, kind, importance):
    body = opine(alice, memory_id, kind).json()

    assert (body["importance"], body["review"]) == (importance, kind)
    assert to_review(alice) == [(memory_id, kind)]
    looked = alice.client.patch(
        f"/v1/memories/{memory_id}", data={"reviewed": True, "reason": "it is right"}, content_type="application/json"
    )
    assert (looked.json()["review"], looked.json()["changed"]) == (None, ["review"])
    assert to_review(alice) == []
    assert AuditLog.objects.across_namespaces().get(event_type="MEMORY_EDIT").details["before"]["review"] == kind


def test_a_new_text_answers_a_doubt(alice, memory_id):
    opine(alice, memory_id, "wrong")
    body = {"text": "Tea is at six.", "reason": "it is six"}
    alice.client.patch(f"/v1/memories/{memory_id}", data=body, content_type="application/json")

    assert to_review(alice) == []


def test_a_new_opinion_takes_the_place_of_the_former(alice, memory_id):
    opine(alice, memory_id, "wrong")
    body = opine(alice, memory_id, "useful").json()

    assert (body["importance"], body["review"]) == (0.55, None)
    assert MemoryFeedback.objects.across_namespaces().get().kind == "useful"


def test_a_doubt_of_another_stays(alice, second, memory_id):
    opine(alice, memory_id, "wrong")
    opine(second, memory_id, "outdated")
    body = opine(alice, memory_id, "useful").json()

    assert body["review"] == "outdated"
    assert body["importance"] == pytest.approx(0.45)
    opinions = alice.get(f"/v1/memories/{memory_id}/history").json()["feedback"]
    assert {(row["kind"], row["actor"]) for row in opinions} == {
        ("useful", alice.scope.actor),
        ("outdated", second.scope.actor),
    }


def test_many_voices_stay_within_bounds(alice, memory_id, make_tenant):
    for _ in range(8):
        opine(make_tenant("alice"), memory_id, "useful")
    assert Memory.objects.across_namespaces().get().importance == pytest.approx(0.7)


def test_one_idempotency_key_counts_once(alice, memory_id):
    first = opine(alice, memory_id, "useful", Idempotency_Key="k1")
    opine(alice, memory_id, "wrong")

    assert opine(alice, memory_id, "useful", Idempotency_Key="k1").json() == first.json()
    assert MemoryFeedback.objects.across_namespaces().get().kind == "wrong"


def test_opinions_go_with_the_memory(alice, memory_id):
    opine(alice, memory_id, "useful")
    alice.post("/v1/sessions/reset", {"namespace": "alice", "session_id": "s1", "confirm": True})

    assert not MemoryFeedback.objects.across_namespaces().exists()
