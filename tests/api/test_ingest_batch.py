"""POST /v1/ingest/batch: all or none, in order, one embedding pass."""

from __future__ import annotations

from unittest import mock

import pytest

from memory.models import Memory, MemoryVector, NamespaceStat, Posting
from memory.providers.embedding.registry import provider_for
from memory.stores import window


def turn(number: int, **fields: object) -> dict[str, object]:
    return {"namespace": "alice", "session_id": "s1", "role": "user", "text": f"turn number {number}", **fields}


@pytest.mark.parametrize("body", [{}, {"items": None}, {"items": "x"}, {"items": {}}, {"items": []}, {"items": [1]}])
def test_a_body_without_items_is_refused(alice, body):
    answer = alice.post("/v1/ingest/batch", body)

    assert answer.status_code == 400
    assert answer.json()["error"]["detail"][0]["field"].startswith("items")


def test_more_than_a_thousand_items_are_refused(alice):
    answer = alice.post("/v1/ingest/batch", {"items": [turn(number) for number in range(1001)]})

    assert answer.status_code == 400
    assert answer.json()["error"]["detail"] == [{"field": "items", "problem": "has more than 1000 items."}]


def test_one_wrong_item_keeps_all_out_and_is_named(alice):
    answer = alice.post("/v1/ingest/batch", {"items": [turn(0), turn(1), turn(2, role="robot"), turn(3)]})

    assert answer.status_code == 400
    assert answer.json()["error"]["detail"][0]["field"] == "items[2].role"
    assert not Memory.objects.across_namespaces().exists()
    assert window.read(alice.scope.namespace_id, "s1") == []


def test_an_item_of_a_namespace_out_of_reach_keeps_all_out(alice, bob):
    answer = alice.post("/v1/ingest/batch", {"items": [turn(0), turn(1, namespace="bob")]})

    assert answer.status_code == 404
    assert not Memory.objects.across_namespaces().exists()


def test_a_batch_is_kept_in_order_in_one_embedding_pass(alice):
    items = [turn(number, session_id=f"s{number % 2}") for number in range(50)]
    provider = provider_for("hash", "hash-256")
    with mock.patch.object(provider, "embed", wraps=provider.embed) as embed:
        answer = alice.post("/v1/ingest/batch", {"items": items})

    assert answer.status_code == 200
    assert embed.call_count == 1
    results = answer.json()["results"]
    assert all(result["accepted"] for result in results)
    assert len({result["memory_id"] for result in results}) == 50
    texts = {str(memory.pk): memory.text for memory in Memory.objects.across_namespaces()}
    assert [texts[result["memory_id"]] for result in results] == [item["text"] for item in items]
    of_even = Memory.objects.across_namespaces().filter(session="s0").order_by("turn")
    assert [memory.turn for memory in of_even] == list(range(1, 26))
    assert [memory.text for memory in of_even] == [f"turn number {number}" for number in range(0, 50, 2)]
    assert MemoryVector.objects.across_namespaces().count() == 50
    assert sum(stat.memories for stat in NamespaceStat.objects.all()) == 50
    assert Posting.objects.across_namespaces().filter(term="turn").count() == 50


def test_a_batch_is_idempotent(alice):
    body = {"items": [turn(number) for number in range(3)]}

    first = alice.post("/v1/ingest/batch", body, Idempotency_Key="b")
    second = alice.post("/v1/ingest/batch", body, Idempotency_Key="b")

    assert first.json()["results"] == second.json()["results"]
    assert Memory.objects.across_namespaces().count() == 3
    assert alice.post("/v1/ingest/batch", {"items": [turn(9)]}, Idempotency_Key="b").status_code == 409
