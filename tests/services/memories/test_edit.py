"""Archive, restore and edit: what they change, what they leave unchanged, and exact counts."""

from __future__ import annotations

import threading
import uuid
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.db.models import Sum

from memory import caches
from memory.enums import AuditEvent, MemoryState
from memory.errors import EmbeddingUnavailable, InvalidInput, NotFound
from memory.models import AuditLog, Memory, MemoryVector, MemoryVersion, Namespace, NamespaceStat, Posting
from memory.models.memory import content_hash
from memory.retrieval.hits import Hit
from memory.retrieval.pipeline import retrieve
from memory.retrieval.question import question
from memory.services.index.embedding_model import active_model
from memory.services.ingestion.ingest import ingest_batch
from memory.services.jobs import queue
from memory.services.memories import edit as curation
from memory.types import Access, NewMemory, Scope, system_access
from tests.vectorless import take_vectors

NOW = datetime(2026, 5, 8, 12, tzinfo=UTC)
STAFF = system_access("staff:ann")
TURNS = (
    "The harbour pilot is called Tove and boards at buoy seven.",
    "Crane four is out of service until the hydraulics are replaced.",
    "Tove prefers the northern approach when the wind is above nine.",
)


@pytest.fixture(autouse=True)
def _hash_model(settings):
    settings.MEMOS_EMBEDDING_PROVIDER = "hash"
    caches.forget_all()
    yield
    caches.forget_all()


def make_scope(name: str = "curation-harbour") -> Scope:
    return Scope(Namespace.objects.get_or_create(name=name)[0].pk, name, "key:test")


def remember(scope: Scope, *texts: str, speaker: str = "Ann") -> list[uuid.UUID]:
    items = [(scope, NewMemory(session="s1", role="user", text=text, speaker=speaker)) for text in texts]
    return ingest_batch(items, now=NOW).memory_ids


def ask(scope: Scope, text: str) -> list[Hit]:
    model = active_model()
    asked = question(text, vector=model.provider.embed([text])[0], model_id=model.id, familiarity=1.0, now=NOW)
    return retrieve(scope, asked, top_k=10).hits


def scores(hits: list[Hit]) -> list[tuple]:
    return [(hit.id, hit.score, hit.similarity) for hit in hits]


def counts(scope: Scope) -> tuple[int, int]:
    sums = NamespaceStat.objects.filter(namespace_id=scope.namespace_id).aggregate(m=Sum("memories"), t=Sum("terms"))
    return sums["m"], sums["t"]


def true_counts(scope: Scope) -> tuple[int, int]:
    rows = Memory.objects.filter(namespace_id=scope.namespace_id, state=MemoryState.ACTIVE)
    return rows.count(), rows.aggregate(t=Sum("length"))["t"] or 0


def archive(ids: list[uuid.UUID], access: Access = STAFF, reason: str = "junk") -> int:
    return len(curation.archive(access, memory_ids=ids, reason=reason, now=NOW))


def restore(ids: list[uuid.UUID], access: Access = STAFF) -> int:
    return len(curation.restore(access, memory_ids=ids, reason="was right", now=NOW))


@pytest.mark.django_db
class TestArchive:
    def test_an_empty_reason_is_refused(self):
        with pytest.raises(InvalidInput):
            archive([], reason="  ")

    def test_a_caller_archives_only_what_it_reaches(self):
        scope = make_scope()
        [memory_id] = remember(scope, TURNS[0])
        outsider = Access(actor="key:other", namespace_ids=frozenset({scope.namespace_id + 1}))
        assert archive([memory_id], access=outsider) == 0
        assert Memory.objects.across_namespaces().get(pk=memory_id).state == MemoryState.ACTIVE

    def test_an_archived_memory_is_not_retrieved_and_others_are(self):
        scope = make_scope()
        ids = remember(scope, *TURNS)
        assert archive([ids[0]]) == 1
        found = {hit.id for hit in ask(scope, "Who is the harbour pilot Tove?")}
        assert ids[0] not in found
        assert ids[2] in found
        assert not Posting.objects.across_namespaces().filter(memory_id=ids[0]).exists()
        assert not MemoryVector.objects.across_namespaces().get(memory_id=ids[0]).searchable
        assert counts(scope) == true_counts(scope)

    def test_archiving_again_changes_nothing(self):
        scope = make_scope()
        ids = remember(scope, *TURNS)
        assert archive([*ids, uuid.uuid4()]) == 3
        assert archive(ids) == 0
        assert counts(scope) == (0, 0)
        assert AuditLog.objects.across_namespaces().filter(event_type=AuditEvent.MEMORY_ARCHIVE).count() == 3

    def test_several_namespaces_in_one_call(self):
        here, there = make_scope("curation-a"), make_scope("curation-b")
        ids = remember(here, *TURNS) + remember(there, *TURNS)
        assert archive(ids) == 6
        assert counts(here) == counts(there) == (0, 0)
        events = AuditLog.objects.across_namespaces().filter(event_type=AuditEvent.MEMORY_ARCHIVE)
        assert set(events.values_list("namespace", flat=True)) == {"curation-a", "curation-b"}

    def test_batches_do_not_change_the_result(self, monkeypatch):
        monkeypatch.setattr(curation, "BATCH", 2)
        scope = make_scope()
        ids = remember(scope, *TURNS)
        assert archive(ids) == 3
        assert restore(ids) == 3
        assert counts(scope) == true_counts(scope)

    def test_the_audit_event_says_who_why_and_what_without_text(self):
        scope = make_scope()
        [memory_id] = remember(scope, TURNS[0])
        archive([memory_id], reason=" outdated ")
        event = AuditLog.objects.across_namespaces().get(event_type=AuditEvent.MEMORY_ARCHIVE)
        assert (event.actor, event.subject, event.session) == ("staff:ann", str(memory_id), "s1")
        assert event.details == {"reason": "outdated", "before": {"state": "active"}, "after": {"state": "archived"}}


@pytest.mark.django_db
class TestRestore:
    def test_a_restored_memory_comes_back_with_identical_scores(self):
        scope = make_scope()
        ids = remember(scope, *TURNS)
        asked = "Which approach does the pilot Tove prefer?"
        before, postings = (
            scores(ask(scope, asked)),
            set(Posting.objects.across_namespaces().values_list("term", "memory_id", "frequency")),
        )
        archive(ids[:2])
        assert scores(ask(scope, asked)) != before
        assert restore(ids) == 2
        assert scores(ask(scope, asked)) == before
        assert set(Posting.objects.across_namespaces().values_list("term", "memory_id", "frequency")) == postings
        assert counts(scope) == true_counts(scope)

    def test_terms_of_another_analyser_are_made_anew(self):
        scope = make_scope()
        [memory_id] = remember(scope, TURNS[0])
        archive([memory_id])
        Memory.objects.across_namespaces().filter(pk=memory_id).update(terms=["stale"], length=1)
        restore([memory_id])
        memory = Memory.objects.across_namespaces().get(pk=memory_id)
        assert "stale" not in memory.terms
        assert set(memory.terms) == set(
            Posting.objects.across_namespaces().filter(memory_id=memory_id).values_list("term", flat=True)
        )
        assert counts(scope) == true_counts(scope)

    def test_a_memory_without_vector_is_queued_for_one(self, monkeypatch):
        queued = []
        monkeypatch.setattr(queue, "enqueue", lambda task, *arguments: queued.append(task))
        scope = make_scope()
        [memory_id] = remember(scope, TURNS[0])
        archive([memory_id])
        take_vectors(memory_id)
        queued.clear()
        restore([memory_id])
        assert queued == [queue.EMBED_PENDING, queue.SETTLE]


@pytest.mark.django_db
class TestEdit:
    def edit(self, memory_id: uuid.UUID, access: Access = STAFF, **changes) -> dict:
        return curation.edit(access, memory_id=memory_id, reason="typo", now=NOW + timedelta(hours=1), **changes)

    def test_refusals(self):
        scope = make_scope()
        [memory_id] = remember(scope, TURNS[0])
        with pytest.raises(NotFound):
            self.edit(uuid.uuid4(), text="x")
        with pytest.raises(NotFound):
            self.edit(memory_id, access=Access(actor="key:other"), text="x")
        for changes in ({"text": " "}, {"text": "a\0b"}, {"text": "x" * 20_001}, {"importance": 1.5}):
            with pytest.raises(InvalidInput):
                self.edit(memory_id, **changes)
        with pytest.raises(InvalidInput):
            self.edit(memory_id, metadata={"note": "a\0b"})
        assert not MemoryVersion.objects.across_namespaces().exists()

    def test_the_new_text_is_found_and_the_former_is_kept(self):
        scope = make_scope()
        ids = remember(scope, *TURNS)
        new = "The lighthouse keeper is called Sigrid."
        self.edit(ids[0], text=new)
        memory = Memory.objects.across_namespaces().get(pk=ids[0])
        assert (memory.text, bytes(memory.content_hash)) == (new, content_hash(new))
        assert ask(scope, "lighthouse keeper Sigrid")[0].id == ids[0]
        assert ask(scope, new)[0].similarity == pytest.approx(
            float(active_model().provider.embed([f"Ann: {new}"])[0] @ active_model().provider.embed([new])[0]), abs=0.01
        )
        assert not Posting.objects.across_namespaces().filter(memory_id=ids[0], term="buoy").exists()
        assert counts(scope) == true_counts(scope)
        version = MemoryVersion.objects.across_namespaces().get()
        assert (version.text, version.reason, version.actor) == (TURNS[0], "typo", "staff:ann")
        event = AuditLog.objects.across_namespaces().get(event_type=AuditEvent.MEMORY_EDIT)
        assert event.details["changed"] == ["text"]
        assert "Sigrid" not in str(event.details)
        assert "Tove" not in str(event.details)

    def test_no_difference_writes_nothing(self):
        scope = make_scope()
        [memory_id] = remember(scope, TURNS[0])
        self.edit(memory_id, text=TURNS[0], importance=Memory.objects.across_namespaces().get().importance, metadata={})
        assert not MemoryVersion.objects.across_namespaces().exists()
        assert not AuditLog.objects.across_namespaces().filter(event_type=AuditEvent.MEMORY_EDIT).exists()

    def test_an_archived_memory_stays_out_of_search(self):
        scope = make_scope()
        ids = remember(scope, *TURNS)
        archive([ids[0]])
        self.edit(ids[0], text="The lighthouse keeper is called Sigrid.")
        assert ids[0] not in {hit.id for hit in ask(scope, "lighthouse keeper Sigrid")}
        restore([ids[0]])
        assert ask(scope, "lighthouse keeper Sigrid")[0].id == ids[0]
        assert counts(scope) == true_counts(scope)

    def test_a_text_that_grows_or_shrinks_has_the_vectors_of_its_passages(self):
        scope = make_scope()
        [memory_id] = remember(scope, TURNS[0])
        long = " ".join(f"The keeper wrote line {number} of the log." for number in range(60))

        def stored() -> list[int]:
            rows = MemoryVector.objects.across_namespaces().filter(memory_id=memory_id).order_by("passage")
            return list(rows.values_list("passage", flat=True))

        self.edit(memory_id, text=f"{long} Then the walrus came.")
        passages = stored()
        assert len(passages) > 3
        assert passages == list(range(len(passages)))
        archive([memory_id])
        assert not MemoryVector.objects.across_namespaces().filter(memory_id=memory_id, searchable=True).exists()
        restore([memory_id])
        assert not MemoryVector.objects.across_namespaces().filter(memory_id=memory_id, searchable=False).exists()
        self.edit(memory_id, text="Short again.")
        assert stored() == [0]

    def test_provider_away_drops_the_stale_vector_and_queues_a_new_one(self, monkeypatch):
        scope = make_scope()
        ids = remember(scope, *TURNS)
        queued = []
        monkeypatch.setattr(queue, "enqueue", lambda task, *arguments: queued.append(task))

        def away(self, texts):
            raise EmbeddingUnavailable("away")

        with monkeypatch.context() as patch:
            patch.setattr("memory.providers.embedding.hash.HashEmbedding.embed", away)
            self.edit(ids[0], text="The lighthouse keeper is called Sigrid.")
        assert set(queued) == {queue.EMBED_PENDING, queue.SETTLE}
        assert not MemoryVector.objects.across_namespaces().filter(memory_id=ids[0]).exists()
        assert ids[0] in {hit.id for hit in ask(scope, "lighthouse")}


@pytest.mark.django_db(transaction=True)
def test_two_archives_at_once_count_every_memory_once():
    scope = make_scope()
    ids = remember(scope, *(f"{text} Number {number}." for number in range(40) for text in TURNS))
    archived = []
    start = threading.Barrier(3)

    def run(wanted: list[uuid.UUID]) -> None:
        start.wait()
        try:
            archived.append(archive(wanted))
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=(order,)) for order in (ids, ids[::-1], ids[20:])]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(archived) == len(ids)
    assert counts(scope) == (0, 0)
    assert not Posting.objects.filter(namespace_id=scope.namespace_id).exists()
    assert AuditLog.objects.across_namespaces().filter(event_type=AuditEvent.MEMORY_ARCHIVE).count() == len(ids)
