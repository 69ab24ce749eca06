"""Long batches: their vectors are made while the rest of the batch is checked and written."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest
from django.db import connection

from memory import caches
from memory.enums import EmbeddingState
from memory.errors import EmbeddingUnavailable, InvalidInput
from memory.models import AuditLog, EmbeddingModel, Job, Memory, MemoryVector, Posting, Session
from memory.models.queries import jobs as job_queries
from memory.postgresql import reach
from memory.providers.embedding.hash import HashEmbedding
from memory.services.index import embedding, embedding_model, marks
from memory.services.index.embedding_model import active_model
from memory.services.index.missing_vectors import embed_pending
from memory.services.ingestion import ingest as module
from memory.services.ingestion.ingest import ingest_batch
from memory.services.jobs.queue import CONDENSE
from memory.services.summaries import refresh
from memory.services.tenancy.policy import put_policy
from memory.types import NewMemory
from tests.providers.endpoint import serving
from tests.services.ingestion.test_second_opinion import ATTACK, UNSURE, says
from tests.threads import together

COUNT = 150


class Provider(HashEmbedding):
    """Calls a test's hook before it embeds a part; `threads` records the callers' threads."""

    def __init__(self) -> None:
        super().__init__("hash-256")
        self.before: Callable[[Sequence[str]], None] = lambda texts: None
        self.batches: list[int] = []
        self.threads: set[int] = set()

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        self.before(texts)
        self.batches.append(len(texts))
        self.threads.add(threading.get_ident())
        return super().embed(texts)


@pytest.fixture
def provider(db: None, monkeypatch: pytest.MonkeyPatch) -> Provider:
    made = Provider()
    monkeypatch.setattr(embedding_model, "_active", caches.for_seconds(0.0))
    monkeypatch.setattr(embedding_model, "provider_for", lambda *_: made)
    active_model()
    return made


@pytest.fixture
def now() -> datetime:
    return datetime(2026, 5, 8, 12, tzinfo=UTC)


def turns(tenant: Any, texts: Sequence[str]) -> list[Any]:
    return [
        (tenant.scope, NewMemory(session=f"s{number % 3}", role="user", text=text)) for number, text in enumerate(texts)
    ]


def distinct(count: int = COUNT) -> list[str]:
    return [f"The parcel {number} went to the harbour on day {number * 7}." for number in range(count)]


def vectors() -> dict[uuid.UUID, np.ndarray]:
    return {
        row.memory_id: np.array(row.embedding, dtype=np.float32) for row in MemoryVector.objects.across_namespaces()
    }


def assert_own_vectors(provider: Provider, texts: Sequence[str]) -> None:
    """Check that exactly these texts are stored, each with its own vector."""
    memories = list(Memory.objects.across_namespaces())
    assert sorted(memory.text for memory in memories) == sorted(texts)
    stored = vectors()
    assert set(stored) == {memory.pk for memory in memories}
    own = HashEmbedding.embed(provider, [memory.text for memory in memories])
    for memory, vector in zip(memories, own, strict=True):
        assert memory.embedded
        assert np.allclose(stored[memory.pk], vector, atol=2e-3), memory.text
    assert not marks.wrong()


def test_each_memory_has_the_vector_of_its_own_text_made_beside_the_request(alice, provider, now):
    done = ingest_batch(turns(alice, distinct()), now=now)

    assert done.degraded == []
    assert_own_vectors(provider, distinct())
    assert threading.get_ident() not in provider.threads
    assert max(provider.batches) <= embedding.BESIDE_PASSAGES


def test_a_short_batch_is_embedded_at_once_by_the_request_itself(alice, provider, now):
    ingest_batch(turns(alice, distinct(embedding.BESIDE_MEMORIES)), now=now)

    assert (provider.batches, provider.threads) == ([embedding.BESIDE_MEMORIES], {threading.get_ident()})


def test_vectors_stay_with_their_memories_where_the_gate_keeps_some_turns_out(alice, provider, now):
    texts = distinct()
    with_attacks = [ATTACK if number % 7 == 0 else text for number, text in enumerate(texts)]

    ingest_batch(turns(alice, with_attacks), now=now)

    assert_own_vectors(provider, [text for text in with_attacks if text != ATTACK])


def test_vectors_stay_with_their_memories_where_a_model_keeps_some_turns_out(alice, provider, now, settings):
    settings.MEMOS_LLM_ENABLED = settings.MEMOS_LLM_GATE = True
    settings.MEMOS_LLM_API_KEY, settings.MEMOS_LLM_MODEL = "k-1", "m"
    texts = distinct()
    texts[40] = texts[90] = UNSURE
    with serving(lambda body: says({"verdicts": [True, False]})) as endpoint:
        settings.MEMOS_LLM_BASE_URL = endpoint.url
        ingest_batch(turns(alice, texts), now=now)

    assert_own_vectors(provider, texts[:40] + texts[41:])
    cleared = Memory.objects.across_namespaces().get(text=UNSURE)
    assert (cleared.review, cleared.metadata["memos_gate"]["verdict"]) == ("", "harmless")


def test_vectors_stay_with_their_memories_where_a_quota_ends_the_batch(alice, provider, now):
    put_policy(alice.scope, wanted={"quota": {"memories": 100}}, now=now)

    ingest_batch(turns(alice, distinct()), now=now)

    assert_own_vectors(provider, distinct()[:100])


def test_a_document_of_a_turn_is_left_to_the_worker_and_named(alice, provider, now):
    long = " ".join(f"Sentence {number} of a long report about the harbour." for number in range(4_000))
    texts = [*distinct(), long]

    done = ingest_batch(turns(alice, texts), now=now)

    assert done.degraded == ["embedding_delayed"]
    waiting = Memory.objects.across_namespaces().filter(embedded=False)
    assert [memory.text for memory in waiting] == [long]
    assert len(vectors()) == COUNT


@pytest.mark.parametrize("failing", [0, 1, 2])
def test_when_a_part_fails_all_is_stored_once_without_vectors_and_the_worker_makes_them(alice, provider, now, failing):
    seen = iter(range(COUNT))

    def fail(texts: Sequence[str]) -> None:
        if next(seen) == failing:
            raise EmbeddingUnavailable("away")

    provider.before = fail
    done = ingest_batch(turns(alice, distinct()), now=now)

    assert done.degraded == ["embedding_delayed"]
    assert Memory.objects.across_namespaces().filter(embedded=False).count() == COUNT
    assert vectors() == {}
    assert {row.message_count for row in Session.objects.across_namespaces()} == {COUNT // 3}
    events = AuditLog.objects.across_namespaces().filter(event_type="INGEST")
    assert [event.details["embedded"] for event in events] == [False] * COUNT
    provider.before = lambda texts: None
    assert embed_pending() == COUNT
    assert_own_vectors(provider, distinct())


def summaries_asked_for() -> list[str]:
    jobs = Job.objects.across_namespaces().filter(kind=CONDENSE.name)
    asked = Session.objects.across_namespaces().exclude(summary_requested_at=None)
    assert sorted(job.arguments[1] for job in jobs) == sorted(session.name for session in asked)
    return sorted(job.arguments[1] for job in jobs)


@pytest.mark.parametrize("is_away", [False, True])
def test_summaries_that_are_due_are_asked_for_with_the_batch(alice, provider, now, is_away):
    def fail(texts: Sequence[str]) -> None:
        if is_away:
            raise EmbeddingUnavailable("away")

    provider.before = fail
    short = [(alice.scope, NewMemory(session="short", role="user", text="One message."))]
    ingest_batch([*turns(alice, distinct()), *short], now=now)

    assert summaries_asked_for() == ["s0", "s1", "s2"]


@pytest.mark.parametrize("count", [60, COUNT])
def test_a_batch_is_stored_where_its_summaries_cannot_be_asked_for(alice, provider, now, monkeypatch, settings, count):
    settings.MEMOS_WINDOW_MESSAGES = 10
    settings.MEMOS_POLICY = settings.MEMOS_POLICY | {"summary.messages": 10}

    def fail(*_: Any, **__: Any) -> None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1 / 0")

    with monkeypatch.context() as patch:
        patch.setattr(refresh.queue, "enqueue_each", fail)
        ingest_batch(turns(alice, distinct(count)), now=now)

    assert_own_vectors(provider, distinct(count))
    assert summaries_asked_for() == []
    assert refresh.request_overdue(now=now + timedelta(hours=1)) == 3
    assert summaries_asked_for() == ["s0", "s1", "s2"]


def test_a_batch_of_two_namespaces_is_stored_where_no_job_can_be_made(alice, bob, provider, now, monkeypatch):
    """The failing statement is sent with the reach of one namespace, and the rollback after it with that of both."""
    monkeypatch.setattr(job_queries, "_ASK", "SELECT 1 / 0")
    both = [*turns(alice, distinct()), *turns(bob, distinct())]
    with reach.within(alice.scope.namespace_id, bob.scope.namespace_id):
        ingest_batch(both, now=now)

    for tenant in (alice, bob):
        assert Memory.objects.in_scope(tenant.scope).filter(embedded=True).count() == COUNT
    assert not Job.objects.across_namespaces().exists()


def test_a_turn_that_is_refused_leaves_nothing_of_the_batch(alice, provider, now):
    items = turns(alice, distinct())
    items[-1] = (alice.scope, NewMemory(session="sk-live_4eC39HqLyjWDarjtT1zdp7dc", role="user", text="Hello there."))

    with pytest.raises(InvalidInput, match=r"items\[149\]\.session_id"):
        ingest_batch(items, now=now)

    for table in (Memory, MemoryVector, Posting, Session):
        assert not table.objects.across_namespaces().exists()


def test_a_model_that_is_replaced_meanwhile_leaves_memories_that_lack_the_vectors_of_the_new_one(
    alice, provider, now, monkeypatch
):
    write = module.write

    def switch(*arguments: Any, **more: Any) -> Any:
        sessions = write(*arguments, **more)
        EmbeddingModel.objects.update(state=EmbeddingState.RETIRED)
        return sessions

    monkeypatch.setattr(module, "write", switch)
    ingest_batch(turns(alice, distinct()), now=now)

    assert Memory.objects.across_namespaces().filter(embedded=False).count() == COUNT


def test_vectors_stay_with_their_memories_where_a_model_and_a_quota_keep_turns_out(alice, provider, now, settings):
    settings.MEMOS_LLM_ENABLED = settings.MEMOS_LLM_GATE = True
    settings.MEMOS_LLM_API_KEY, settings.MEMOS_LLM_MODEL = "k-1", "m"
    put_policy(alice.scope, wanted={"quota": {"memories": 6}}, now=now)
    texts = distinct(10)
    texts[2] = UNSURE
    with serving(lambda body: says({"verdicts": [True]})) as endpoint:
        settings.MEMOS_LLM_BASE_URL = endpoint.url
        ingest_batch(turns(alice, texts), now=now)

    assert_own_vectors(provider, texts[:2] + texts[3:7])


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("quota", [None, 10_000])
def test_nobody_waits_for_a_long_batch_whose_vectors_are_being_made(alice, provider, now, quota):
    if quota:
        put_policy(alice.scope, wanted={"quota": {"memories": quota}}, now=now)
    held, go_on = threading.Event(), threading.Event()

    def hold(texts: Sequence[str]) -> None:
        if len(texts) > 1:
            held.set()
            assert go_on.wait(30)

    def send(number: int) -> None:
        if number == 0:
            ingest_batch(turns(alice, distinct()), now=now)
            return
        assert held.wait(30)
        for session in ("s1", "s9"):
            memory = NewMemory(session=session, role="user", text=f"Said in {session} meanwhile.")
            ingest_batch([(alice.scope, memory)], now=now)
        stored.append(Memory.objects.across_namespaces().count())
        go_on.set()

    provider.before, stored = hold, []
    together(2, send)

    assert stored == [2]
    assert_own_vectors(provider, [*distinct(), "Said in s1 meanwhile.", "Said in s9 meanwhile."])
