"""The model in use, missing vectors, and the switch to another model while search continues."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest
from django.utils import timezone

from memory import caches
from memory.enums import EmbeddingState
from memory.errors import EmbeddingUnavailable, InvalidInput
from memory.models import AuditLog, EmbeddingModel, Memory, MemoryVector
from memory.postgresql import reach
from memory.providers.embedding.hash import HashEmbedding
from memory.providers.embedding.registry import provider_for
from memory.services.index import embedding, embedding_model, marks, missing_vectors
from memory.services.index.embedding import embed_or_none
from memory.services.index.embedding_model import active_model
from memory.services.index.missing_vectors import embed_pending, pending_count, prune_retired, reembed
from memory.services.ingestion.ingest import ingest_batch
from memory.services.memories import edit
from memory.services.recall.query import query
from memory.services.recall.search import Ask
from memory.types import NewMemory, system_access

NOW = datetime(2026, 5, 8, 12, tzinfo=UTC)


class Provider(HashEmbedding):
    """A provider that counts the embedded texts, and is unavailable while `away` is set."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.embedded: list[str] = []
        self.away = False

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        if self.away:
            raise EmbeddingUnavailable("away")
        self.embedded.extend(texts)
        return super().embed(texts)


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedding_model, "_active", caches.for_seconds(0.0))
    monkeypatch.setattr(missing_vectors.time, "sleep", lambda _: None)
    monkeypatch.setattr(missing_vectors, "BATCH", 4)


@pytest.fixture(autouse=True)
def _marks_stay_right(db: None) -> Iterator[None]:
    yield
    assert not marks.wrong()


@pytest.fixture
def providers(monkeypatch: pytest.MonkeyPatch) -> dict[str, Provider]:
    """Return the providers in use by the name of their model."""
    made: dict[str, Provider] = {}

    def lookup(provider: str, name: str, dimensions: int = 0) -> Provider:
        return made.setdefault(name, Provider(name))

    monkeypatch.setattr(embedding_model, "provider_for", lookup)
    return made


def switch(name: str = "hash-64", progress: Callable[[int, int], None] = lambda done, total: None) -> EmbeddingModel:
    return reembed(provider="hash", name=name, actor="tests", now=timezone.now, progress=progress)


def best(tenant: Any, text: str) -> str:
    return query(tenant.scope, Ask(text, 1, timezone.now()), session="s1").retrieval.hits[0].text


def vectors_of(name: str) -> Any:
    return MemoryVector.objects.across_namespaces().filter(model__name=name)


def test_on_an_empty_server_the_configured_model_becomes_the_active_one(db):
    model = active_model()

    row = EmbeddingModel.objects.get()
    assert (row.pk, row.provider, row.name, row.dimensions) == (model.id, "hash", "hash-256", 256)
    assert row.state == EmbeddingState.ACTIVE
    assert active_model() == model
    assert EmbeddingModel.objects.count() == 1


def test_the_stored_model_goes_before_the_configured_one(db, settings):
    before = active_model()
    settings.MEMOS_EMBEDDING_MODEL = "hash-32"
    assert active_model() == before
    assert active_model().provider.dimensions == 256


def test_what_a_process_knows_is_asked_again_after_a_while_only(db, monkeypatch, django_assert_num_queries):
    monkeypatch.setattr(embedding_model, "_active", caches.for_seconds(100.0))
    active_model()
    with django_assert_num_queries(0):
        active_model()
    caches.forget_all()
    with django_assert_num_queries(1):
        active_model()


def test_the_database_keeps_one_model_active(db):
    active_model()
    other = embedding_model.find_model_row("hash", "hash-32")
    assert other.state == EmbeddingState.BUILDING
    # A process does this that found no active model just before another process made one.
    assert embedding_model._first_model().name == "hash-256"
    assert EmbeddingModel.objects.filter(state=EmbeddingState.ACTIVE).count() == 1


def test_vectors_name_the_model_that_made_them(db):
    embedded = embed_or_none([["hello"], ["world"]])
    assert embedded.model_id == active_model().id
    assert np.array_equal(embedded.vectors, provider_for("hash", "hash-256").embed(["hello", "world"]))


def test_after_an_outage_the_missing_vectors_are_made_once(alice, remember, providers):
    remember(alice, "before")
    provider = providers["hash-256"]
    provider.away = True
    assert embed_or_none([["x"]]) is None
    ids = [remember(alice, f"during {number}", speaker="Ann") for number in range(9)]
    assert (pending_count(), MemoryVector.objects.across_namespaces().count()) == (9, 1)
    with pytest.raises(EmbeddingUnavailable):
        embed_pending()

    provider.away = False
    provider.embedded.clear()
    assert embed_pending() == 9
    assert provider.embedded == [f"Ann: during {number}" for number in range(9)]
    assert set(MemoryVector.objects.across_namespaces().values_list("memory_id", flat=True)) >= set(
        Memory.objects.across_namespaces().filter(pk__in=ids).values_list("pk", flat=True)
    )
    assert (pending_count(), embed_pending()) == (0, 0)
    assert best(alice, "during 3").endswith("during 3")


def test_what_is_made_before_the_next_outage_stays(alice, remember, providers):
    active_model()
    providers.setdefault("hash-256", Provider("hash-256")).away = True
    for number in range(6):
        remember(alice, f"text {number}")
    whole = HashEmbedding.embed
    provider = providers["hash-256"]

    def once(texts: Sequence[str]) -> np.ndarray:
        if provider.embedded:
            raise EmbeddingUnavailable("away again")
        provider.embedded.extend(texts)
        return whole(provider, texts)

    provider.embed = once
    with pytest.raises(EmbeddingUnavailable):
        embed_pending()
    assert (MemoryVector.objects.across_namespaces().count(), pending_count()) == (4, 2)


def test_a_limit_ends_the_round(alice, remember, providers):
    active_model()
    providers.setdefault("hash-256", Provider("hash-256")).away = True
    for number in range(9):
        remember(alice, f"text {number}")
    providers["hash-256"].away = False
    assert embed_pending(limit=4) == 4
    assert embed_pending() == 5


def test_the_former_model_answers_until_the_switch_and_the_other_after_it(alice, remember, providers):
    for number in range(10):
        remember(alice, f"ship {number} has docked")
    before = active_model()
    seen: list[tuple[int, int, str, str, int]] = []

    def progress(done: int, total: int) -> None:
        caches.forget_all()
        seen.append((done, total, active_model().name, best(alice, "ship 7"), vectors_of("hash-256").count()))

    target = switch(progress=progress)

    assert [entry[0] for entry in seen] == [0, 4, 8, 10]
    assert {entry[1:] for entry in seen} == {(10, "hash-256", "ship 7 has docked", 10)}
    assert target.state == EmbeddingState.ACTIVE
    assert target.activated_at is not None
    assert active_model().name == "hash-64"
    assert EmbeddingModel.objects.get(pk=before.id).state == EmbeddingState.RETIRED
    assert best(alice, "ship 7") == "ship 7 has docked"
    assert (vectors_of("hash-64").count(), vectors_of("hash-256").count()) == (10, 10)


def test_the_switch_is_one_audit_event(alice, remember):
    remember(alice, "hello")
    switch()
    event = AuditLog.objects.across_namespaces().get(event_type="REEMBED")
    assert (event.actor, event.subject, event.namespace_id) == ("tests", "hash/hash-64 (64)", 0)
    assert event.details == {"from": "hash/hash-256 (256)", "to": "hash/hash-64 (64)", "vectors": 1}


def test_a_run_that_was_broken_off_goes_on_where_it_ended(alice, remember, providers):
    for number in range(10):
        remember(alice, f"text {number}")

    def broken_off(done: int, total: int) -> None:
        if done == 4:
            raise RuntimeError("power cut")

    with pytest.raises(RuntimeError, match="power cut"):
        switch(progress=broken_off)
    caches.forget_all()
    assert active_model().name == "hash-256"
    assert vectors_of("hash-64").count() == 4
    assert not AuditLog.objects.across_namespaces().filter(event_type="REEMBED").exists()

    providers["hash-64"].embedded.clear()
    switch()
    assert sorted(providers["hash-64"].embedded) == [f"text {number}" for number in range(4, 10)]
    assert active_model().name == "hash-64"
    assert vectors_of("hash-64").count() == 10


def test_memories_that_come_during_the_run_get_vectors_of_both(alice, remember):
    for number in range(5):
        remember(alice, f"text {number}")
    remember_once = iter([lambda: remember(alice, "a zebra came in between")])

    switch(progress=lambda done, total: next(remember_once, lambda: None)())

    assert (
        vectors_of("hash-64").count()
        == vectors_of("hash-256").count()
        == Memory.objects.across_namespaces().count()
        == 6
    )
    assert best(alice, "zebra") == "a zebra came in between"


def test_memories_that_a_process_stores_under_the_former_model_after_the_switch_are_found(
    alice, remember, monkeypatch, providers
):
    remember(alice, "early")

    def late(_: float) -> None:
        former = EmbeddingModel.objects.get(name="hash-256")
        stale = embedding_model.ActiveModel(former.pk, "hash", "hash-256", 256)
        with monkeypatch.context() as patch:
            patch.setattr(embedding_model, "active_model", lambda **_: stale)
            remember(alice, "a late zebra")

    monkeypatch.setattr(missing_vectors.time, "sleep", late)
    switch()

    assert Memory.objects.across_namespaces().count() == vectors_of("hash-64").count() == 2
    assert best(alice, "zebra") == "a late zebra"


def test_archived_memories_are_switched_too_and_stay_out_of_search(alice, remember):
    kept, archived = remember(alice, "kept"), remember(alice, "archived zebra")
    edit.archive(system_access("staff:ann"), memory_ids=[uuid.UUID(archived)], reason="wrong", now=NOW)
    switch()
    states = dict(vectors_of("hash-64").values_list("memory_id", "searchable"))
    assert {str(identity): searchable for identity, searchable in states.items()} == {kept: True, archived: False}
    assert best(alice, "zebra") == "kept"


def test_former_vectors_go_when_they_are_pruned(alice, remember):
    remember(alice, "hello")
    switch()
    assert prune_retired() == 1
    assert [row.name for row in EmbeddingModel.objects.all()] == ["hash-64"]
    assert MemoryVector.objects.across_namespaces().count() == 1
    assert prune_retired() == 0
    assert best(alice, "hello") == "hello"


def test_a_switch_to_the_active_model_is_refused(alice, remember):
    remember(alice, "hello")
    with pytest.raises(InvalidInput, match=r"hash/hash-256 \(256\) is the active model already"):
        switch("hash-256")


def test_there_is_a_way_back(alice, remember, providers):
    remember(alice, "hello")
    switch()
    remember(alice, "world")
    providers["hash-256"].embedded.clear()
    switch("hash-256")
    assert providers["hash-256"].embedded == ["world"]
    assert active_model().name == "hash-256"
    assert EmbeddingModel.objects.filter(state=EmbeddingState.ACTIVE).count() == 1


def test_with_the_other_provider_away_nothing_is_switched(alice, remember, providers):
    remember(alice, "hello")
    providers["hash-64"] = Provider("hash-64")
    providers["hash-64"].away = True
    with pytest.raises(EmbeddingUnavailable):
        switch()
    caches.forget_all()
    assert active_model().name == "hash-256"


def test_a_vector_of_a_text_that_changed_meanwhile_is_not_kept(alice, remember, monkeypatch):
    identity = remember(alice, "old words")
    whole = missing_vectors._insert_vectors

    def edited_before(*arguments: Any) -> None:
        monkeypatch.setattr(missing_vectors, "_insert_vectors", whole)
        Memory.objects.across_namespaces().filter(pk=identity).update(text="new words", content_hash=b"\1" * 32)
        whole(*arguments)

    monkeypatch.setattr(missing_vectors, "_insert_vectors", edited_before)
    switch()
    expected = provider_for("hash", "hash-64").embed(["new words"])[0]
    assert np.allclose(vectors_of("hash-64").get().embedding, expected, atol=1e-3)


LONG = "\n\n".join(f"Paragraph {n}. " + "It has several words that fill it. " * 10 for n in range(12))


def test_a_long_memory_is_embedded_as_its_passages_each_with_its_speaker(alice, remember, providers):
    identity = remember(alice, LONG, speaker="Ann")

    embedded = providers["hash-256"].embedded
    assert len(embedded) > 4
    assert all(text.startswith("Ann: ") for text in embedded)
    rows = MemoryVector.objects.across_namespaces().filter(memory_id=identity).order_by("passage")
    assert [row.passage for row in rows] == list(range(len(embedded)))
    expected = provider_for("hash", "hash-256").embed(embedded)
    assert np.allclose([row.embedding for row in rows], expected, atol=1e-3)


def test_the_worker_makes_the_passages_of_long_memories_in_small_batches(alice, remember, providers):
    remember(alice, "before")
    provider = providers["hash-256"]
    provider.away = True
    texts = [LONG, "short one", "short two", LONG + "!", "short three"]
    ids = [remember(alice, text) for text in texts]
    provider.away = False
    sizes = []
    provider.embed = lambda texts: sizes.append(len(texts)) or HashEmbedding.embed(provider, texts)

    assert embed_pending() == 5

    long = MemoryVector.objects.across_namespaces().filter(memory_id=ids[0]).count()
    assert sizes == [long, 2, long, 1]
    assert MemoryVector.objects.across_namespaces().filter(memory_id=ids[1]).count() == 1
    assert pending_count() == 0


def test_reembed_counts_memories_and_makes_every_passage(alice, remember, providers):
    remember(alice, LONG)
    remember(alice, "short")
    seen: list[tuple[int, int]] = []

    switch(progress=lambda done, total: seen.append((done, total)))

    assert (seen[0], seen[-1]) == ((0, 2), (2, 2))
    assert vectors_of("hash-64").count() == vectors_of("hash-256").count() > 5
    assert AuditLog.objects.across_namespaces().get(event_type="REEMBED").details["vectors"] == 2


def test_more_passages_than_a_request_waits_for_are_left_to_the_worker(alice, monkeypatch):
    monkeypatch.setattr(embedding, "INLINE_PASSAGES", 3)
    memory = {"namespace": "alice", "session_id": "s1", "role": "user"}

    short = alice.post("/v1/ingest", {**memory, "text": "short"}).json()
    long = alice.post("/v1/ingest", {**memory, "text": LONG}).json()

    assert (short["degraded"], long["degraded"]) == ([], ["embedding_delayed"])
    assert pending_count() == 1
    assert embed_pending() == 1
    assert MemoryVector.objects.across_namespaces().filter(memory_id=long["memory_id"]).count() > 3


def test_a_turn_of_very_many_passages_is_stored_at_once_and_embedded_by_the_worker(alice, remember, monkeypatch):
    monkeypatch.setattr(embedding, "INLINE_PASSAGES_EACH", 2)
    long = " ".join(f"Chapter {number} tells of the lighthouse keeper's {number} letters." for number in range(120))
    items = [(alice.scope, NewMemory(session="s1", role="user", text=text)) for text in ("The ferry is late.", long)]

    stored = ingest_batch(items, now=timezone.now())

    short_id, long_id = stored.memory_ids
    assert stored.degraded == ["embedding_delayed"]
    assert is_embedded(short_id)
    assert not is_embedded(long_id)
    assert passages_of(long_id) == 0
    assert embed_pending() == 1
    assert is_embedded(long_id)
    assert passages_of(long_id) > 2


def is_embedded(memory_id):
    return Memory.objects.across_namespaces().get(pk=memory_id).embedded


def passages_of(memory_id):
    return MemoryVector.objects.across_namespaces().filter(memory_id=memory_id).count()


def test_a_question_is_embedded_once_for_each_tenant(alice, bob, providers):
    active_model().embed(["ready"])
    provider = providers["hash-256"]
    for tenant in (alice, alice, bob):
        with reach.within(tenant.scope.namespace_id):
            vector = active_model().start_embedding("Where is the ferry?")
            assert len(vector if isinstance(vector, np.ndarray) else vector.result()) == 256

    assert provider.embedded.count("Where is the ferry?") == 2
