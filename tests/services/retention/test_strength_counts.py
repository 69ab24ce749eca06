"""Stored figures of decay: equal to fresh ones, for one policy, and deleted when they are to be recomputed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from unittest import mock

import pytest
import redis

from memory.services.ingestion.ingest import ingest_batch
from memory.services.retention import strength_counts
from memory.services.tenancy.policy import governing, put_policy
from memory.stores import redis as redis_store
from memory.types import NewMemory
from tests.job_queue import run_task

NOW = datetime(2026, 5, 8, 12, tzinfo=UTC)


@pytest.fixture
def scope(alice):
    for days in (0, 40, 400, 900):
        texts = [f"The kiln of the pottery in Lisbon was fired {days} days ago, number {one}." for one in range(2)]
        items = [(alice.scope, NewMemory(session="s1", role="user", text=text)) for text in texts]
        ingest_batch(items, now=NOW - timedelta(days=days))
    return alice.scope


def policy_of(scope):
    return governing(scope.namespace_id).effective.policy


def test_what_is_kept_is_what_was_counted(scope):
    policy = policy_of(scope)
    assert strength_counts.read_kept(scope, policy) is None

    counted = strength_counts.count_and_keep(scope, policy, now=NOW)

    assert counted.grid.active == counted.due_now.active == 8
    assert counted.due_now.decayed == 2
    assert strength_counts.read_kept(scope, policy) == counted
    strength_counts.forget(scope)
    assert strength_counts.read_kept(scope, policy) is None


def test_another_policy_has_figures_of_its_own(scope):
    strength_counts.count_and_keep(scope, policy_of(scope), now=NOW)
    put_policy(scope, wanted={"decay": {"floor": 0.2}}, now=NOW)
    assert strength_counts.read_kept(scope, policy_of(scope)) is None


def test_another_namespace_has_figures_of_its_own(scope, bob):
    strength_counts.count_and_keep(scope, policy_of(scope), now=NOW)
    assert strength_counts.read_kept(bob.scope, policy_of(bob.scope)) is None


def test_with_redis_away_it_is_counted_and_not_kept(scope, caplog):
    away = mock.patch.object(redis_store, "get_redis_connection", side_effect=redis.ConnectionError("away"))
    with away:
        counted = strength_counts.count_and_keep(scope, policy_of(scope), now=NOW)
        assert strength_counts.read_kept(scope, policy_of(scope)) is None
        strength_counts.forget(scope)
    redis_store.resume()
    assert counted.grid.active == 8
    assert "figures of decay are not kept" in caplog.text


@pytest.mark.parametrize(("limit", "kept"), [(3, True), (8, False)])
def test_a_sweep_counts_the_large_namespaces(scope, settings, limit, kept):
    settings.MEMOS_LARGE_NAMESPACE_MEMORIES = limit
    run_task("sweep_memories")
    assert (strength_counts.read_kept(scope, policy_of(scope)) is not None) == kept
