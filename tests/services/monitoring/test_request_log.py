"""Figures of requests: they are counted by minute and listed, and never delay a request."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import DatabaseError
from django.utils import timezone

from memory.models import RequestMinute
from memory.services.monitoring import request_log, request_stats
from memory.services.monitoring.request_stats import Figures
from memory.types import Access, system_access
from tests.api.mcp.client import work


@pytest.fixture
def recording(settings, monkeypatch):
    """Record requests, and write them only when the test says so."""
    settings.MEMOS_REQUEST_LOG = 100
    buffer = request_log._Buffer(pid=request_log.os.getpid())
    monkeypatch.setattr(request_log, "_buffer", buffer)
    return buffer


def test_off_nothing_is_recorded(alice, settings):
    assert settings.MEMOS_REQUEST_LOG == 0
    alice.get("/v1/ops/stats", namespace="alice")
    assert not RequestMinute.objects.across_namespaces().exists()


def test_a_request_is_counted_for_its_namespace_and_for_all(alice, bob, recording, remember):
    remember(alice, "The harbour pilot boards at buoy seven.")
    asked = {"namespace": "alice", "session_id": "s1", "query": "harbour"}
    assert alice.post("/v1/query", asked).status_code == 200
    assert alice.post("/v1/query", {"namespace": "bob", "session_id": "s", "query": "x"}).status_code == 404
    assert bob.post("/v1/query", {"namespace": "bob", "session_id": "s", "query": "nothing there"}).status_code == 200

    assert request_log.flush() == 3

    now = timezone.now()
    span = {"since": now - timedelta(minutes=5), "until": now + timedelta(minutes=1), "step": timedelta(minutes=1)}
    everyone = request_stats.total([m.recall for m in request_stats.by_step(system_access("test"), **span)])
    hers = Access(actor="test", namespace_ids=frozenset({alice.scope.namespace_id}))
    alices = request_stats.total([m.recall for m in request_stats.by_step(hers, **span)])
    assert (everyone.count, everyone.errors, everyone.empty_recalls) == (3, 1, 1)
    assert (alices.count, alices.errors, alices.empty_recalls) == (1, 0, 0)
    assert sum(alices.latency) == 1


def test_a_call_of_a_tool_is_counted_for_its_namespace(alice, bob, recording):
    work(alice.client, "search_memories", query="harbour")

    assert request_log.flush() == 1
    counted = RequestMinute.objects.across_namespaces().exclude(namespace_id=0).get()
    assert (counted.namespace_id, counted.route, counted.count) == (alice.scope.namespace_id, "mcp", 1)


def test_counts_of_one_minute_add_up(db, recording):
    for _ in range(2):
        request_log.record(method="POST", route="v1/query", status=200, milliseconds=3, namespace_id=7)
        request_log.flush()
    row = RequestMinute.objects.filter(namespace_id=7).get()
    assert (row.count, row.latency[2], sum(row.latency)) == (2, 2, 2)


def test_the_list_is_newest_first_without_texts_and_for_ones_own_namespaces(alice, bob, recording):
    alice.post("/v1/query", {"namespace": "alice", "session_id": "s1", "query": "a secret question"})
    bob.post("/v1/query", {"namespace": "bob", "session_id": "s1", "query": "another"})
    request_log.flush()

    all_of_them = request_stats.recent(system_access("test"), limit=10)
    hers = request_stats.recent(Access(actor="test", namespace_ids=frozenset({alice.scope.namespace_id})), limit=10)
    assert [row.namespace_id for row in all_of_them] == [bob.scope.namespace_id, alice.scope.namespace_id]
    assert [row.key for row in hers] == [alice.scope.actor]
    assert "secret" not in repr(all_of_them)
    assert request_stats.recent(system_access("test"), limit=10, before=all_of_them[0].cursor) == all_of_them[1:]


def test_a_database_that_is_away_fails_no_request(alice, recording, monkeypatch):
    def away(taken):
        raise DatabaseError("away")

    monkeypatch.setattr(request_log, "_count", away)
    assert alice.get("/v1/ops/stats").status_code == 200
    assert request_log.flush() == 1


def test_a_fork_begins_its_own_buffer_and_thread(recording, monkeypatch):
    recording.pid = -1
    started = []
    monkeypatch.setattr(request_log.threading.Thread, "start", lambda thread: started.append(thread.name))
    request_log.record(method="GET", route="v1/memories", status=200, milliseconds=1)
    assert started == ["request-log"]
    assert request_log._buffer is not recording
    assert len(request_log._buffer.waiting) == 1


def test_quantiles_lie_within_their_bucket():
    latency = [0] * 13
    latency[3], latency[6] = 90, 10
    figures = Figures(100, 0, 0, tuple(latency))
    assert 5 < figures.quantile(0.5) <= 10
    assert 50 < figures.quantile(0.95) <= 100
    assert Figures().quantile(0.5) is None


def test_old_minutes_are_forgotten(db, recording, settings):
    now = timezone.now()
    request_log.record(method="GET", route="v1/memories", status=200, milliseconds=1)
    request_log.flush()
    assert request_stats.forget(now=now) == 0
    assert request_stats.forget(now=now + timedelta(days=settings.MEMOS_REQUEST_FIGURES_DAYS, hours=1)) == 1
