"""Every change of anything that a search reads is recorded for the processes that hold the index in memory."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest
from django.utils import timezone

from memory.enums import LinkKind, MemoryState, Review, Tier
from memory.models import Entity, EntityAlias, EntityMention, IndexChange, Memory, MemoryLink, MemoryVector, Posting
from memory.models.memory import content_hash
from memory.services.entities import extract
from memory.services.index import changes
from memory.types import Scope

NOW = datetime(2026, 5, 8, 12, tzinfo=UTC)
TEXT = "Ada Bell sold the blue bicycle to Bo Chen."


@pytest.fixture
def memory_id(alice, remember) -> uuid.UUID:
    """Remember a text that names entities, and clear the changes that writing it recorded."""
    identity = uuid.UUID(remember(alice, TEXT))
    extract.index_pending(now=timezone.now())
    IndexChange.objects.across_namespaces().delete()
    return identity


def changed(scope: Scope) -> list[tuple[uuid.UUID, bool]]:
    """Return the changes recorded since the last call: subjects, and whether they are names."""
    rows = IndexChange.objects.in_scope(scope)
    found = list(rows.order_by("subject").values_list("subject", "of_alias"))
    rows.delete()
    return found


@pytest.mark.parametrize(
    "values",
    [
        {"session": "s9"},
        {"turn": 77},
        {"role": "agent"},
        {"speaker": "Ada"},
        {"text": "Sold.", "content_hash": content_hash("Sold.")},
        {"metadata": {"number": 1}},
        {"tier": Tier.L3.value},
        {"state": MemoryState.ARCHIVED.value},
        {"importance": 0.123},
        {"tokens": 99},
        {"terms": ["sold"]},
        {"length": 99},
        {"occurred_at": NOW},
        {"created_at": NOW},
        {"valid_to": NOW},
        {"retired_spans": [0, 3]},
        {"review": Review.SUSPECTED.value},
    ],
    ids=lambda values: next(iter(values)),
)
def test_what_a_search_reads_of_a_memorys_row(alice, memory_id, values):
    row = Memory.objects.in_scope(alice.scope).filter(pk=memory_id)
    row.update(**values)
    assert changed(alice.scope) == [(memory_id, False)]
    row.update(**values)
    assert changed(alice.scope) == [], "nothing has changed"


def test_what_a_search_does_not_read_has_nothing_read_again(alice, memory_id):
    row = Memory.objects.in_scope(alice.scope).filter(pk=memory_id)
    row.update(pinned=True, revision=7, superseded_by=uuid.uuid4(), superseded_at=NOW, valid_from=NOW)
    assert changed(alice.scope) == []


def test_its_vectors_and_postings(alice, memory_id):
    vectors = MemoryVector.objects.in_scope(alice.scope).filter(memory_id=memory_id)
    postings = Posting.objects.in_scope(alice.scope).filter(memory_id=memory_id)
    steps: list[Any] = [
        lambda: vectors.update(searchable=False),
        lambda: vectors.update(embedding=np.ones(256, np.float32) / 16),
        vectors.delete,
        lambda: postings.update(frequency=3),
        lambda: postings.update(length=99),
        postings.delete,
    ]
    for step in steps:
        assert step()
        assert changed(alice.scope) == [(memory_id, False)]


def test_the_names_that_it_mentions(alice, memory_id):
    mentions = EntityMention.objects.in_scope(alice.scope).filter(memory_id=memory_id)
    mentions.update(active=False)
    assert changed(alice.scope) == [(memory_id, False)]
    mentions.delete()
    assert changed(alice.scope) == [(memory_id, False)]

    first, second = Entity.objects.in_scope(alice.scope).order_by("id")[:2]
    alias = EntityAlias.objects.in_scope(alice.scope).filter(entity=first.id).first()
    assert alias is not None
    name = EntityAlias.objects.in_scope(alice.scope).filter(id=alias.id)
    name.update(key="ada b")
    assert changed(alice.scope) == [(alias.id, True)]
    name.update(entity=second.id)
    assert changed(alice.scope) == [(alias.id, True)]
    name.delete()
    assert changed(alice.scope) == [(alias.id, True)]


def test_newer_words_in_the_place_of_its_own(alice, memory_id, remember):
    newer = uuid.UUID(remember(alice, "Bo Chen sold the bicycle."))
    changed(alice.scope)
    link = {"namespace_id": alice.scope.namespace_id, "memory_id": newer, "other_id": memory_id}
    told = {"reason": "test", "actor": "tests"}
    MemoryLink.objects.create(**link, **told, kind=LinkKind.SUPERSEDES, start=0, end=8)
    assert changed(alice.scope) == [(memory_id, False)]


def test_it_is_kept_for_hours_longer_than_any_process_takes_to_read_it(alice, memory_id):
    rows = IndexChange.objects.in_scope(alice.scope)
    Memory.objects.in_scope(alice.scope).filter(pk=memory_id).update(importance=0.123)
    now = timezone.now()
    assert changes.forget(now=now + timedelta(minutes=119)) == 0
    assert rows.count() == 1
    assert changes.forget(now=now + timedelta(minutes=121)) == 1
    assert rows.count() == 0
