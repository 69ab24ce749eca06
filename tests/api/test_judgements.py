"""/v1/judgements: marks of hits, which make a namespace's own test set."""

from __future__ import annotations

import uuid

import pytest

from memory.models import AuditLog, RelevanceJudgement


def mark(tenant, memory_id, relevant=True, *, query="Which tea?", namespace=None):
    body = {
        "namespace": namespace or tenant.scope.namespace,
        "query": query,
        "marks": [{"memory_id": memory_id, "relevant": relevant}],
    }
    return tenant.post("/v1/judgements", body)


def test_marking_needs_the_write_scope_and_looking_the_read_scope(make_tenant, olga, remember):
    reader, writer = make_tenant("shop", scopes=("read",)), make_tenant("shop", scopes=("write",))
    memory_id = remember(writer, "Green tea.")

    assert olga.post("/v1/judgements").status_code == olga.get("/v1/judgements").status_code == 401
    assert mark(reader, memory_id).status_code == 403
    assert mark(writer, memory_id).status_code == 200
    assert writer.get("/v1/judgements").status_code == 403
    assert len(reader.get("/v1/judgements").json()["judgements"]) == 1


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"namespace": ""}, "namespace"),
        ({"query": ""}, "query"),
        ({"query": "x" * 2001}, "query"),
        ({"marks": []}, "marks"),
        ({"marks": "all"}, "marks"),
        ({"marks": [{"memory_id": "x", "relevant": True}]}, "marks[0].memory_id"),
        ({"marks": [{"memory_id": str(uuid.uuid4())}]}, "marks[0].relevant"),
        ({"marks": [{"memory_id": str(uuid.uuid4()), "relevant": "yes"}]}, "marks[0].relevant"),
        ({"marks": [{"memory_id": str(uuid.uuid4()), "relevant": True}] * 201}, "marks"),
    ],
)
def test_a_wrong_body_is_refused(alice, changes, field):
    body = {"namespace": "alice", "query": "q", "marks": [{"memory_id": str(uuid.uuid4()), "relevant": True}]}
    answer = alice.post("/v1/judgements", {**body, **changes})

    assert answer.status_code == 400
    assert answer.json()["error"]["detail"][0]["field"] == field


def test_another_tenants_memory_cannot_be_marked_nor_seen(alice, bob, remember):
    of_bob = remember(bob, "Black tea.")
    mark(bob, of_bob)

    assert mark(alice, of_bob).status_code == 404
    assert mark(alice, of_bob, namespace="bob").status_code == 404
    assert RelevanceJudgement.objects.across_namespaces().count() == 1
    assert alice.get("/v1/judgements").json() == {"judgements": []}
    assert alice.get("/v1/judgements", namespace="bob").status_code == 404


def test_an_unknown_memory_refuses_all_marks(alice, remember):
    marks = [
        {"memory_id": remember(alice, "Tea."), "relevant": True},
        {"memory_id": str(uuid.uuid4()), "relevant": True},
    ]
    answer = alice.post("/v1/judgements", {"namespace": "alice", "query": "q", "marks": marks})

    assert answer.status_code == 404
    assert marks[1]["memory_id"] in answer.json()["error"]["message"]
    assert not RelevanceJudgement.objects.across_namespaces().exists()


def test_the_latest_mark_counts_whatever_the_white_space(alice, remember):
    memory_id = remember(alice, "Green tea.")
    first = mark(alice, memory_id, True).json()["ids"]
    second = mark(alice, memory_id, False, query=" Which  tea? ").json()["ids"]

    assert first == second
    [row] = alice.get("/v1/judgements", namespace="alice").json()["judgements"]
    assert (row["id"], row["memory_id"], row["relevant"]) == (first[0], memory_id, False)
    assert row["query"] == "Which tea?"
    assert row["actor"] == alice.scope.actor


def test_marks_come_back_newest_first_and_are_audited_without_text(alice, remember):
    tea, coffee = remember(alice, "Green tea."), remember(alice, "Coffee.")
    mark(alice, tea)
    mark(alice, coffee, False)

    rows = alice.get("/v1/judgements", limit="1").json()["judgements"]
    assert [row["memory_id"] for row in rows] == [coffee]
    events = AuditLog.objects.across_namespaces().filter(event_type="MEMORY_JUDGE").order_by("id")
    assert [event.details for event in events] == [
        {"relevant": [tea], "not_relevant": []},
        {"relevant": [], "not_relevant": [coffee]},
    ]


def test_a_reset_takes_the_judgements_of_its_memories_along(alice, remember):
    gone, kept = remember(alice, "Green tea."), remember(alice, "Black tea.", session="s2")
    mark(alice, gone)
    mark(alice, kept)
    alice.post("/v1/sessions/reset", {"namespace": "alice", "session_id": "s1", "confirm": True})

    assert [str(row.memory_id) for row in RelevanceJudgement.objects.across_namespaces()] == [kept]
