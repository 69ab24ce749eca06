"""Counting the common terms of large namespaces: once, and again after many changes."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import psycopg
import pytest
from django.db import connection

from memory.models import CommonTerm, NamespaceStat, Posting
from memory.models.locks import Lock, try_lock
from memory.services.index import common_terms
from memory.services.ingestion.ingest import ingest_batch
from memory.types import NewMemory

NOW = datetime(2026, 5, 8, 12, tzinfo=UTC)
TOPICS = ["harbour ship crane tide", "bakery bread oven flour", "violin sonata bow tuning", "garden rose soil spade"]


@pytest.fixture(autouse=True)
def _small_is_large(settings, monkeypatch):
    """Let namespaces count as large from 200 memories on, and terms as common from 50."""
    settings.MEMOS_LARGE_NAMESPACE_MEMORIES = 200
    monkeypatch.setattr(common_terms, "COMMON", 50)


def fill(tenant: Any, count: int, *, start: int = 0) -> None:
    texts = [f"{TOPICS[n % len(TOPICS)]} note{n} place{n % 17}" for n in range(start, start + count)]
    ingest_batch([(tenant.scope, NewMemory(session="s1", role="user", text=text)) for text in texts], now=NOW)


def test_common_terms_are_counted_and_counted_again_when_much_has_changed(alice):
    fill(alice, 400)
    assert common_terms.keep_up() == 1
    counts = dict(CommonTerm.objects.across_namespaces().values_list("term", "memories"))
    assert counts["harbour"] == Posting.objects.across_namespaces().filter(term="harbour").count() == 100
    assert "place3" not in counts

    fill(alice, 40, start=1000)
    assert common_terms.keep_up() == 0
    fill(alice, 40, start=2000)
    assert common_terms.keep_up() == 1
    assert CommonTerm.objects.across_namespaces().get(term="harbour").memories == 120


def test_a_namespace_that_is_not_large_gets_nothing(alice, bob):
    fill(alice, 200)
    fill(bob, 201)
    assert common_terms.keep_up() == 1
    assert set(CommonTerm.objects.across_namespaces().values_list("namespace_id", flat=True)) == {
        bob.scope.namespace_id
    }


def test_a_run_that_has_no_time_left_goes_on_in_the_next(alice):
    fill(alice, 250)
    assert common_terms.keep_up(seconds=-1) == 0
    assert common_terms.keep_up() == 1


@pytest.mark.django_db(transaction=True)
def test_one_run_at_a_time(alice):
    fill(alice, 250)
    where = connection.get_connection_params()
    other = psycopg.connect(host=where["host"], user=where["user"], dbname=where["dbname"], autocommit=True)
    with other, try_lock(Lock.COMMON_TERMS, on=other):
        assert common_terms.keep_up() == 0
    assert common_terms.keep_up() == 1


def test_counts_that_say_large_without_rows_are_no_trouble(alice):
    NamespaceStat.objects.create(namespace_id=alice.scope.namespace_id, shard=1, memories=10**6, terms=1)
    assert common_terms.keep_up() == 1
