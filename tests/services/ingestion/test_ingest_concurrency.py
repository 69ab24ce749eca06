"""Concurrent writers, each with a separate connection."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from django.db.models import Sum
from django.test import Client
from django.utils import timezone

from memory.models import AuditLog, IdempotencyRecord, Memory, MemoryVector, NamespaceStat, Posting, Session
from memory.services.index.embedding_model import active_model
from memory.services.index.recount import differences
from memory.services.ingestion.ingest import ingest_batch
from memory.services.sessions.reset import reset_session
from memory.stores import window
from memory.types import NewMemory
from tests.threads import together

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _model(transactional_db: None) -> None:
    active_model()


def turn(text: str, session: str = "s1") -> NewMemory:
    return NewMemory(session=session, role="user", text=text)


def test_one_key_sent_many_times_at_once_is_one_memory_and_one_answer(alice):
    body = {"namespace": "alice", "session_id": "s1", "role": "user", "text": "hello", "metadata": {}}
    headers = {"Authorization": f"Bearer {alice.token}", "Idempotency-Key": "k-1"}

    def send(_: int) -> Any:
        return Client().post("/v1/ingest", data=body, content_type="application/json", headers=headers)

    answers = together(6, send)

    assert {answer.status_code for answer in answers} == {200}
    assert len({answer.json()["memory_id"] for answer in answers}) == 1
    assert str(Memory.objects.across_namespaces().get().pk) == answers[0].json()["memory_id"]
    assert (
        MemoryVector.objects.across_namespaces().count() == Session.objects.across_namespaces().get().message_count == 1
    )
    assert AuditLog.objects.across_namespaces().filter(event_type="INGEST").count() == 1
    assert IdempotencyRecord.objects.count() == 1
    assert [message.text for message in window.read(alice.scope.namespace_id, "s1")] == ["hello"]


def test_one_key_sent_at_once_with_two_bodies_keeps_one_and_refuses_the_other(alice):
    headers = {"Authorization": f"Bearer {alice.token}", "Idempotency-Key": "k-1"}
    body = {"namespace": "alice", "session_id": "s1", "role": "user", "metadata": {}}

    def send(number: int) -> Any:
        return Client().post(
            "/v1/ingest", data=body | {"text": f"text {number % 2}"}, content_type="application/json", headers=headers
        )

    answers = together(6, send)

    kept = Memory.objects.across_namespaces().get()
    assert Counter(answer.status_code for answer in answers) == {200: 3, 409: 3}
    assert {answer.json()["memory_id"] for answer in answers if answer.status_code == 200} == {str(kept.pk)}


def test_writers_of_one_session_number_its_turns_without_gaps_and_count_exactly(alice):
    def write(number: int) -> None:
        for part in range(5):
            texts = [f"writer {number} says {part} {place}" for place in range(2)]
            ingest_batch([(alice.scope, turn(text)) for text in texts], now=timezone.now())

    together(8, write)

    rows = list(Memory.objects.across_namespaces().order_by("turn").values_list("turn", "text"))
    assert [number for number, _ in rows] == list(range(1, 81))
    assert Session.objects.across_namespaces().get().message_count == 80
    # A batch stays together, and each writer's batches stay in their order.
    assert all(
        first[1].rpartition(" ")[0] == second[1].rpartition(" ")[0]
        for first, second in zip(rows[::2], rows[1::2], strict=True)
    )
    for number in range(8):
        own = [text for _, text in rows if text.startswith(f"writer {number} ")]
        assert own == sorted(own)
    counters = NamespaceStat.objects.aggregate(memories=Sum("memories"), terms=Sum("terms"))
    assert counters == {
        "memories": 80,
        "terms": sum(Memory.objects.across_namespaces().values_list("length", flat=True)),
    }
    assert differences([alice.scope.namespace_id]) == []
    assert Posting.objects.across_namespaces().filter(term="writer").count() == 80


def test_batches_over_two_namespaces_in_opposite_orders_do_not_block_each_other(alice, bob):
    pairs = [[alice.scope, bob.scope], [bob.scope, alice.scope]]

    def write(number: int) -> None:
        for part in range(10):
            items = [
                (scope, turn(f"{number} {part}", session))
                for scope in pairs[number % 2]
                for session in (("a", "b") if number % 4 < 2 else ("b", "a"))
            ]
            ingest_batch(items, now=timezone.now())

    together(4, write)

    assert Memory.objects.across_namespaces().count() == 4 * 10 * 4
    assert {session.message_count for session in Session.objects.across_namespaces()} == {40}
    assert differences([alice.scope.namespace_id, bob.scope.namespace_id]) == []


def test_resets_beside_writers_leave_counts_that_are_exact(alice):
    def act(number: int) -> None:
        for part in range(8):
            if number == 0:
                reset_session(alice.scope, session="s1", dry_run=False, clear_audit=False, now=timezone.now())
            else:
                ingest_batch([(alice.scope, turn(f"{number} {part}"))], now=timezone.now())

    together(4, act)

    turns = list(Memory.objects.across_namespaces().order_by("turn").values_list("turn", flat=True))
    assert turns == list(range(1, len(turns) + 1))
    assert Session.objects.across_namespaces().get().message_count == len(turns)
    assert differences([alice.scope.namespace_id]) == []
    assert MemoryVector.objects.across_namespaces().count() == len(turns)
    ids = set(Memory.objects.across_namespaces().values_list("pk", flat=True))
    assert set(Posting.objects.across_namespaces().values_list("memory_id", flat=True)) <= ids
