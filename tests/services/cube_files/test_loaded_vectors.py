"""Vectors that a cube's file brings into a large namespace: found at once, and filed in lists by the next run."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.utils import timezone

from memory.models import IVFList, Memory, MemoryVector
from memory.retrieval import ivf
from memory.retrieval.arms import near_lists
from memory.services.cube_files.dump import DumpOptions, write_cube
from memory.services.cube_files.load_options import LoadOptions
from memory.services.cube_files.local import load_from_file
from memory.services.index import ivf_lists
from memory.services.index.upkeep import UpkeepReport, keep_up
from memory.services.ingestion.ingest import ingest_batch
from memory.services.recall.search import Ask, search
from memory.types import NewMemory, Scope

NOW = datetime(2026, 5, 8, 12, tzinfo=UTC)
TOPICS = ["harbour ship crane tide", "bakery bread oven flour", "violin sonata bow tuning", "garden rose soil spade"]
COUNT = 260


@pytest.fixture(autouse=True)
def _small_is_large(settings, monkeypatch):
    """Namespaces are large from 200 memories on, with lists of 16."""
    settings.MEMOS_LARGE_NAMESPACE_MEMORIES = 200
    monkeypatch.setattr(ivf, "VECTORS_PER_LIST", 16)
    monkeypatch.setattr(ivf_lists, "LARGEST", 32)
    monkeypatch.setattr(ivf_lists, "SMALLEST", 4)
    monkeypatch.setattr(ivf_lists, "FILE_AT_LEAST", 20)


@pytest.fixture
def cube(alice, tmp_path) -> Path:
    texts = [f"{TOPICS[number % 4]} note{number} place{number % 17}" for number in range(COUNT)]
    told = [(alice.scope, NewMemory(f"s{number % 5}", "user", text)) for number, text in enumerate(texts)]
    ingest_batch(told, now=NOW)
    path = tmp_path / "alice.memcube"
    write_cube(alice.scope, path, options=DumpOptions(vectors=True), now=NOW)
    return path


def load(scope: Scope, path: Path) -> None:
    outcome = load_from_file(
        scope, path, options=LoadOptions(), dry_run=False, clock=timezone.now, report=lambda *_: None
    )
    assert +outcome.counts["memories"] == {"new": COUNT}


def find(scope: Scope) -> list[list[tuple[str, float]]]:
    """What is found of each of some questions, and how near it is."""
    found = []
    for number in range(0, COUNT, 20):
        question = f"{TOPICS[number % 4]} note{number} place{number % 17}"
        hits = search(scope, Ask(text=question, top_k=5, now=NOW, dry_run=True)).hits
        assert hits[0].text == question
        found.append([(hit.text, round(hit.score, 4)) for hit in hits])
    return found


def filed_ids(scope: Scope) -> list[uuid.UUID]:
    rows = IVFList.objects.in_scope(scope)
    return [identity for row in rows for identity in ivf.read_ids(np.frombuffer(row.codes, dtype=ivf.code_dtype(256)))]


def unfiled(scope: Scope) -> int:
    return MemoryVector.objects.in_scope(scope).filter(searchable=True, filed=False).count()


@pytest.fixture
def looked_into(monkeypatch) -> list[Any]:
    """Each look of a search into lists."""
    looks: list[Any] = []
    search_lists = near_lists.search

    def note(*arguments: Any, **options: Any) -> Any:
        looks.append(arguments)
        return search_lists(*arguments, **options)

    monkeypatch.setattr(near_lists, "search", note)
    return looks


@pytest.mark.django_db
def test_they_are_found_at_once_and_filed_by_the_next_run(alice, bob, cube, looked_into):
    load(bob.scope, cube)
    assert Memory.objects.in_scope(bob.scope).filter(embedded=True).count() == COUNT
    assert (unfiled(bob.scope), filed_ids(bob.scope)) == (COUNT, [])
    exact = find(alice.scope)
    assert find(bob.scope) == exact

    keep_up(now=NOW)
    assert unfiled(bob.scope) == 0
    ids = filed_ids(bob.scope)
    assert len(ids) == len({*ids}) == COUNT
    assert {*ids} == {*Memory.objects.in_scope(bob.scope).values_list("pk", flat=True)}
    looked_into.clear()
    assert find(bob.scope) == exact
    assert {scope.namespace for scope, *_ in looked_into} == {"bob"}
    assert keep_up(now=NOW) == UpkeepReport()


@pytest.mark.django_db
def test_they_are_found_beside_what_lists_hold_already(alice, bob, cube):
    own = [(bob.scope, NewMemory("own", "user", f"lamp post lantern note{number}")) for number in range(COUNT)]
    ingest_batch(own, now=NOW)
    keep_up(now=NOW)
    assert unfiled(bob.scope) == 0
    load(bob.scope, cube)

    assert unfiled(bob.scope) == COUNT
    before = find(bob.scope)
    keep_up(now=NOW)
    assert (unfiled(bob.scope), len({*filed_ids(bob.scope)})) == (0, 2 * COUNT)
    assert find(bob.scope) == before
