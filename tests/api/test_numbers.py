"""Numbers beyond 64 bits are refused with their place by every route that reads JSON, and shown if one is stored."""

from __future__ import annotations

import pytest
from django.utils import timezone

from memory.models import Memory
from memory.services.ingestion.documents import put_document
from memory.types import NewDocument

HUGE = {"deep": [1, {"score": 1e20}]}
PROBLEM = "holds a number that cannot be stored"


@pytest.fixture
def doors(alice, remember):
    """Return each way to send metadata: the field's path, and a function that sends a request with `metadata`."""
    memory_id = remember(alice, "Tea is at five.")
    turn = {"namespace": "alice", "session_id": "s1", "role": "user", "text": "Tea."}
    why = {"reason": "why"}
    path = f"/v1/memories/{memory_id}"

    def patch(body):
        return alice.client.patch(path, body, content_type="application/json")

    return {
        "ingest": ("", lambda m: alice.post("/v1/ingest", {**turn, "metadata": m})),
        "batch": ("items[1].", lambda m: alice.post("/v1/ingest/batch", {"items": [turn, {**turn, "metadata": m}]})),
        "documents": ("", lambda m: alice.post("/v1/documents", {"namespace": "alice", "text": "Tea.", "metadata": m})),
        "patch": ("", lambda m: patch({**why, "metadata": m})),
        "supersede": ("", lambda m: alice.post(f"{path}/supersede", {**why, "text": "Six.", "metadata": m})),
    }


DOORS = ["ingest", "batch", "documents", "patch", "supersede"]


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("number", [1e20, 2**64, -1e19, 1.7e308])
def test_it_is_refused_with_its_place(doors, door, number):
    place, send = doors[door]
    before = Memory.objects.across_namespaces().count()

    answer = send({"deep": [1, {"score": number}]})

    assert answer.status_code == 400, answer.content
    [problem] = answer.json()["error"]["detail"]
    assert problem["field"] == f"{place}metadata.deep[1].score"
    assert problem["problem"].startswith(PROBLEM)
    assert Memory.objects.across_namespaces().count() == before


@pytest.mark.parametrize("door", DOORS)
def test_the_largest_numbers_that_can_be_stored_pass(doors, door):
    _, send = doors[door]

    assert send({"a": 2**64 - 1, "b": -(2**63), "c": 1e18, "d": 0.1, "e": 1e-300}).status_code == 200


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/policy", {"namespace": "alice", "policy": {"ttl_days": 1e20}}),
        ("/v1/query", {"namespace": "alice", "session_id": "s1", "query": "tea", "top_k": 1e20}),
    ],
)
def test_no_other_field_takes_one(alice, path, body):
    send = alice.client.put if path == "/v1/policy" else alice.client.post

    assert send(path, body, content_type="application/json").status_code == 400


def test_what_an_earlier_version_stored_is_listed_searched_and_kept_in_packs(alice, remember):
    memory_id = remember(alice, "Tea is at five.")
    Memory.objects.across_namespaces().filter(pk=memory_id).update(metadata={"score": 10**20})
    put_document(alice.scope, document=NewDocument(text="Tea.", metadata={"n": 10**20}), now=timezone.now())
    query = {"namespace": "alice", "session_id": "s1", "query": "tea", "filter": {"metadata.score": 1e20}}

    answers = [
        alice.get("/v1/memories", namespace="alice"),
        alice.get(f"/v1/memories/{memory_id}"),
        alice.get(f"/v1/memories/{memory_id}/history"),
        alice.get("/v1/documents", namespace="alice"),
        alice.post("/v1/search", {"namespace": "alice", "query": "tea"}),
        alice.post("/v1/query", query),
        alice.get("/v1/ops/context_packs", namespace="alice"),
        alice.post(f"/v1/memories/{memory_id}/supersede", {"text": "At six.", "reason": "why"}),
    ]

    assert [answer.status_code for answer in answers] == [200] * len(answers), [a.content[:200] for a in answers]
    assert answers[1].json()["metadata"] == {"score": 1e20}
