from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
import redis

from memory import caches
from memory.models import ContextPack, Job, Memory, Namespace
from memory.models.keys import first_id_of
from memory.models.sql import count_each
from memory.services.ingestion.ingest import ingest_batch
from memory.services.memories import edit
from memory.services.monitoring import stats
from memory.services.usage.saved import count_saved
from memory.stores import redis as redis_store
from memory.types import Access, NewMemory, Scope, system_access
from tests.vectorless import take_vectors

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 5, 8, 12, tzinfo=UTC)
EVERYWHERE = system_access("test")


@pytest.fixture(autouse=True)
def _hash_model(settings):
    settings.MEMOS_EMBEDDING_PROVIDER = "hash"
    caches.forget_all()
    yield
    caches.forget_all()
    redis_store.resume()


def scope_of(name: str) -> Scope:
    return Scope(Namespace.objects.get_or_create(name=name)[0].pk, name, "key:test")


def only(*scopes: Scope) -> Access:
    return Access(actor="key:1", namespace_ids=frozenset(scope.namespace_id for scope in scopes))


def remember(scope: Scope, session: str, count: int, *, now: datetime = NOW) -> list:
    items = [(scope, NewMemory(session=session, role="user", text=f"Ship {n} has docked.")) for n in range(count)]
    return ingest_batch(items, now=now).memory_ids


def hand_over(scope: Scope, *packs: tuple[int, int], at: datetime = NOW) -> None:
    for original, condensed in packs:
        ContextPack.objects.create(
            id=first_id_of(at),
            namespace_id=scope.namespace_id,
            session="a",
            query_text="?",
            retrieved_count=0,
            token_original=original,
            token_condensed=condensed,
            pack={},
            created_at=at,
        )


def test_an_empty_server_counts_nothing():
    assert stats.totals(EVERYWHERE, now=NOW) == {
        "total_memories": 0,
        "active_contexts": 0,
        "token_savings": 0,
        "compression_ratio": 0.0,
    }
    assert stats.backlog(EVERYWHERE) == stats.Backlog(0, 0)


def test_totals_count_what_the_caller_reaches():
    here, there = scope_of("stats-here"), scope_of("stats-there")
    remember(here, "a", 3)
    remember(here, "b", 2, now=NOW - timedelta(minutes=16))
    remember(there, "a", 4)
    hand_over(here, (900, 90), at=NOW - timedelta(days=29))
    hand_over(here, (100, 90), at=NOW - timedelta(days=40))
    hand_over(there, (100, 60))
    assert stats.totals(EVERYWHERE, now=NOW) == {
        "total_memories": 9,
        "active_contexts": 2,
        "token_savings": (900 - 90) + (100 - 60),
        "compression_ratio": 0.15,
    }
    assert stats.totals(only(here), now=NOW) == {
        "total_memories": 5,
        "active_contexts": 1,
        "token_savings": 810,
        "compression_ratio": 0.1,
    }
    assert stats.totals(Access(actor="key:2"), now=NOW)["total_memories"] == 0


def test_a_pack_longer_than_the_history_saves_nothing():
    scope = scope_of("stats-here")
    hand_over(scope, (10, 30))
    assert (count_saved(EVERYWHERE, now=NOW).saved, count_saved(EVERYWHERE, now=NOW).ratio) == (0, 1.0)
    hand_over(scope, (100, 40), at=NOW - timedelta(seconds=1))
    found = count_saved(EVERYWHERE, now=NOW)
    assert (found.saved, found.ratio) == (60, round(50 / 110, 4))


def test_backlog_counts_archived_and_memories_without_a_vector():
    scope = scope_of("stats-here")
    ids = remember(scope, "a", 4)
    edit.archive(EVERYWHERE, memory_ids=ids[:1], reason="junk", now=NOW)
    take_vectors(*ids[:3])
    assert stats.backlog(EVERYWHERE) == stats.Backlog(archived=1, pending_embeddings=2)
    assert stats.backlog(only(scope_of("stats-there"))) == stats.Backlog(0, 0)


def test_the_queue_tells_waiting_jobs_from_those_in_work():
    Job.objects.create(kind="evaluate", due_at=NOW - timedelta(minutes=5))
    Job.objects.create(kind="evaluate", due_at=NOW + timedelta(minutes=1))
    state = stats.queue_state(now=NOW)
    assert (state.queued, state.in_flight, state.failed) == (1, 1, 0)
    assert state.oldest == NOW - timedelta(minutes=5)
    assert {entry["name"] for entry in stats.queues()} == {"condensation", "queued", "in_flight", "failed"}


def test_without_redis_the_heartbeat_is_unknown(monkeypatch):
    def away(*arguments, **options):
        raise redis.ConnectionError("away")

    redis_store.resume()
    monkeypatch.setattr("django_q.status.Stat.get_all", away)
    assert stats.worker_heartbeat() == stats.UNKNOWN


def test_without_a_worker_there_is_no_heartbeat(monkeypatch):
    redis_store.resume()
    monkeypatch.setattr("django_q.status.Stat.get_all", lambda: [])
    assert stats.worker_heartbeat() == stats.NO_HEARTBEAT


def test_several_counts_are_one_statement(django_assert_num_queries):
    remember(scope_of("harbour"), "s1", 5)
    mine, nowhere = (
        Memory.objects.across_namespaces().filter(session="s1"),
        Memory.objects.reachable_by(Access(actor="key:1")),
    )
    with django_assert_num_queries(2):
        assert count_each(mine, nowhere, mine.filter(role="nobody"), most=3) == [3, 0, 0]
        assert count_each(mine, most=10) == [5]
