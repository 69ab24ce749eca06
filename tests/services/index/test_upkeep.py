"""What the worker keeps of large namespaces, and that searches find everything before, during and after."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import psycopg
import pytest
from django.db import connection

from memory.models import CommonTerm, IVFIndex, IVFList, MemoryVector, NamespaceStat, Posting
from memory.models.locks import Lock, try_lock
from memory.retrieval import ivf
from memory.services.index import common_terms, ivf_lists
from memory.services.index.upkeep import UpkeepReport, keep_up
from memory.services.ingestion.documents import delete_document, put_document
from memory.services.ingestion.ingest import ingest_batch
from memory.services.memories import edit
from memory.services.sessions.reset import reset_session
from memory.types import NewDocument, NewMemory, system_access

NOW = datetime(2026, 5, 8, 12, tzinfo=UTC)
TOPICS = ["harbour ship crane tide", "bakery bread oven flour", "violin sonata bow tuning", "garden rose soil spade"]


@pytest.fixture(autouse=True)
def _small_is_large(settings, monkeypatch):
    """Namespaces are large from 200 memories on, with lists of 16."""
    settings.MEMOS_LARGE_NAMESPACE_MEMORIES = 200
    monkeypatch.setattr(ivf, "VECTORS_PER_LIST", 16)
    monkeypatch.setattr(ivf_lists, "LARGEST", 32)
    monkeypatch.setattr(ivf_lists, "SMALLEST", 4)
    monkeypatch.setattr(ivf_lists, "FILE_AT_LEAST", 20)


def fill(tenant: Any, count: int, *, session: str = "s1", start: int = 0) -> list[uuid.UUID]:
    memories = [
        NewMemory(session=session, role="user", text=f"{TOPICS[n % len(TOPICS)]} note{n} place{n % 17}")
        for n in range(start, start + count)
    ]
    return ingest_batch([(tenant.scope, memory) for memory in memories], now=NOW).memory_ids


def filed_ids(tenant: Any) -> list[uuid.UUID]:
    rows = IVFList.objects.in_scope(tenant.scope)
    return [identity for row in rows for identity in ivf.read_ids(np.frombuffer(row.codes, dtype=ivf.code_dtype(256)))]


def snapshot() -> tuple[list, list]:
    return list(IVFList.objects.across_namespaces().order_by("number").values_list()), list(
        IVFIndex.objects.across_namespaces().values_list()
    )


def test_every_vector_is_filed_once_and_a_second_run_changes_nothing(alice):
    ids = fill(alice, 300)

    first = keep_up(now=NOW)

    assert (first.filed, first.counted) == (300, 1)
    assert sorted(filed_ids(alice)) == sorted(ids)
    assert not MemoryVector.objects.across_namespaces().filter(filed=False).exists()
    sizes = list(IVFList.objects.across_namespaces().values_list("size", flat=True))
    assert sum(sizes) == 300
    assert len(sizes) > 8
    before = snapshot()
    assert keep_up(now=NOW) == UpkeepReport()
    assert snapshot() == before


def test_a_namespace_that_is_not_large_gets_nothing(alice, bob):
    fill(alice, 200)
    fill(bob, 201)
    keep_up(now=NOW)
    assert set(IVFList.objects.across_namespaces().values_list("namespace_id", flat=True)) == {bob.scope.namespace_id}


def test_new_vectors_wait_until_there_are_enough(alice):
    fill(alice, 250)
    keep_up(now=NOW)
    fill(alice, 19, start=1000)
    assert keep_up(now=NOW).filed == 0
    fill(alice, 1, start=2000)
    assert keep_up(now=NOW).filed == 20


def test_lists_that_fill_up_are_split(alice):
    fill(alice, 250)
    keep_up(now=NOW)
    before = IVFList.objects.across_namespaces().count()
    version = IVFIndex.objects.across_namespaces().get().version

    fill(alice, 1000, start=1000)
    keep_up(now=NOW)

    assert IVFList.objects.across_namespaces().count() > 2 * before
    assert IVFIndex.objects.across_namespaces().get().version != version
    assert len(filed_ids(alice)) == len(set(filed_ids(alice))) == 1250
    assert max(IVFList.objects.across_namespaces().values_list("size", flat=True)) <= 32


def test_equal_vectors_cannot_be_split_and_are_left_alone(alice):
    fill(alice, 200)
    same = [(alice.scope, NewMemory(session="s2", role="user", text="OK, thanks")) for _ in range(100)]
    ingest_batch(same, now=NOW)
    keep_up(now=NOW)
    keep_up(now=NOW)
    before = snapshot()
    assert max(IVFList.objects.across_namespaces().values_list("size", flat=True)) >= 100
    assert keep_up(now=NOW) == UpkeepReport()
    assert snapshot() == before


def test_codes_of_deleted_and_edited_memories_go_at_the_next_look(alice):
    ids = fill(alice, 250) + fill(alice, 100, session="gone", start=5000)
    keep_up(now=NOW)
    edit.edit(system_access("staff:ann"), memory_id=ids[0], reason="typo", now=NOW, text="a bicycle")
    reset_session(alice.scope, session="gone", dry_run=False, clear_audit=False, now=NOW)
    keep_up(now=NOW + timedelta(minutes=5))
    assert len(filed_ids(alice)) == 350

    keep_up(now=NOW + timedelta(minutes=15))

    assert sorted(filed_ids(alice)) == sorted(ids[1:250])
    assert MemoryVector.objects.across_namespaces().get(filed=False).memory_id == ids[0]


def test_codes_of_a_deleted_document_go(alice):
    ids = fill(alice, 250)
    document = NewDocument(session="", document_id="d", text=f"{TOPICS[0]}. " * 300)
    put_document(alice.scope, document=document, now=NOW)
    keep_up(now=NOW)
    assert len(set(filed_ids(alice))) > 251
    delete_document(alice.scope, document_id="d", now=NOW + timedelta(minutes=5))

    keep_up(now=NOW + timedelta(minutes=15))

    assert sorted(filed_ids(alice)) == sorted(ids)


def test_lists_are_looked_at_once_after_a_deletion(alice):
    fill(alice, 250)
    fill(alice, 5, session="gone", start=5000)
    keep_up(now=NOW)
    count = IVFList.objects.across_namespaces().count()
    reset_session(alice.scope, session="empty", dry_run=False, clear_audit=False, now=NOW + timedelta(minutes=2))
    assert keep_up(now=NOW + timedelta(minutes=12)).lists == 0
    reset_session(alice.scope, session="gone", dry_run=False, clear_audit=False, now=NOW + timedelta(minutes=20))
    assert keep_up(now=NOW + timedelta(minutes=21)).lists == count
    assert keep_up(now=NOW + timedelta(minutes=22)).lists == 0
    assert keep_up(now=NOW + timedelta(minutes=60)).lists == 0


def test_lists_are_looked_at_again_after_a_day(alice):
    fill(alice, 250)
    keep_up(now=NOW)
    count = IVFList.objects.across_namespaces().count()
    assert keep_up(now=NOW + timedelta(hours=23)).lists == 0
    assert keep_up(now=NOW + timedelta(hours=25)).lists == count
    assert keep_up(now=NOW + timedelta(hours=26)).lists == 0


def test_an_archived_memory_stays_filed_and_may_come_back(alice):
    ids = fill(alice, 250)
    keep_up(now=NOW)
    staff = system_access("staff:ann")
    edit.archive(staff, memory_ids=ids[:5], reason="wrong", now=NOW)
    keep_up(now=NOW + timedelta(days=2))
    assert set(ids) == set(filed_ids(alice))


def test_a_memory_that_is_edited_while_it_is_filed_is_filed_with_its_new_text(alice, monkeypatch):
    ids = fill(alice, 250)
    whole = ivf.assign
    edited = []

    def editing(vectors: np.ndarray, centroids: np.ndarray) -> np.ndarray:
        if len(vectors) == 250 and not edited and IVFList.objects.across_namespaces().exists():
            edited.append(ids[7])
            edit.edit(system_access("staff:ann"), memory_id=ids[7], reason="typo", now=NOW, text="a bicycle")
        return whole(vectors, centroids)

    monkeypatch.setattr(ivf, "assign", editing)
    keep_up(now=NOW)

    assert edited
    assert MemoryVector.objects.across_namespaces().get(filed=False).memory_id == ids[7]
    assert set(filed_ids(alice)) == set(ids) - {ids[7]}


def test_a_run_that_has_no_time_left_goes_on_in_the_next(alice):
    fill(alice, 250)
    assert keep_up(now=NOW, seconds=-1).filed == 0
    assert keep_up(now=NOW).filed == 250


@pytest.mark.django_db(transaction=True)
def test_one_run_at_a_time(alice):
    fill(alice, 250)
    where = connection.get_connection_params()
    other = psycopg.connect(host=where["host"], user=where["user"], dbname=where["dbname"], autocommit=True)
    with other, try_lock(Lock.IVF_LISTS, on=other):
        assert keep_up(now=NOW) == UpkeepReport()
    assert keep_up(now=NOW).filed == 250


def test_common_terms_are_counted_and_counted_again_when_much_has_changed(alice, monkeypatch):
    monkeypatch.setattr(common_terms, "COMMON", 50)
    fill(alice, 400)
    keep_up(now=NOW)
    counts = dict(CommonTerm.objects.across_namespaces().values_list("term", "memories"))
    assert counts["harbour"] == Posting.objects.across_namespaces().filter(term="harbour").count() == 100
    assert "place3" not in counts

    fill(alice, 40, start=1000)
    assert keep_up(now=NOW).counted == 0
    fill(alice, 40, start=2000)
    assert keep_up(now=NOW).counted == 1
    assert CommonTerm.objects.across_namespaces().get(term="harbour").memories == 120


def test_a_pruned_models_lists_go_with_it(alice):
    fill(alice, 250)
    keep_up(now=NOW)
    model = IVFIndex.objects.across_namespaces().get().model
    MemoryVector.objects.across_namespaces().delete()
    model.delete()
    assert not IVFIndex.objects.across_namespaces().exists()
    assert not IVFList.objects.across_namespaces().exists()


def test_counts_that_say_large_without_rows_are_no_trouble(alice):
    NamespaceStat.objects.create(namespace_id=alice.scope.namespace_id, shard=1, memories=10**6, terms=1)
    assert keep_up(now=NOW).filed == 0
