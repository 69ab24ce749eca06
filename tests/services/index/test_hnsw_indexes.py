"""Making and dropping pgvector's HNSW indexes for large namespaces; searches find what comparing all memories finds."""

from __future__ import annotations

import random
import time
import uuid
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from django.db import connection
from django.test import override_settings
from django.utils import timezone

from memory import caches
from memory.models import Job
from memory.models.locks import Lock, try_lock_in_session
from memory.postgresql import reach
from memory.retrieval import hnsw
from memory.retrieval.arms import dense
from memory.retrieval.filters import Condition, MemoryField, Not, Operator
from memory.retrieval.predicate import SqlCondition, predicate
from memory.retrieval.question import Question, question
from memory.services.diagnosis.finding import OK, WARN, Finding
from memory.services.diagnosis.search import hnsw_indexes as doctor
from memory.services.index import hnsw_indexes
from memory.services.index.embedding_model import active_model
from memory.services.index.hnsw_indexes import HnswReport, keep_up
from memory.services.ingestion.ingest import ingest_batch
from memory.services.memories import edit
from memory.services.sessions.reset import reset_session
from memory.types import NewMemory, system_access
from tests.job_queue import run_job

pytestmark = pytest.mark.django_db(transaction=True)
LARGE = 200
WORDS = [
    f"{a}{b}" for a in ("har", "bak", "vio", "gar", "lan", "pil", "mor", "tes") for b in ("bor", "ery", "lin", "den")
]


@pytest.fixture(autouse=True)
def _small_is_large(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    settings.MEMOS_LARGE_NAMESPACE_MEMORIES = LARGE
    # A filtered search uses the graph if at least this many memories match.
    monkeypatch.setattr(dense, "LOOKED_AT", 400)
    yield
    for place in hnsw_indexes.list_ready() | set(hnsw_indexes._list_indexes()):
        with connection.cursor() as cursor:
            cursor.execute(f"DROP INDEX IF EXISTS {hnsw.name_index(*place)}")


def fill(tenant: Any, count: int, *, session: str = "s1", start: int = 0) -> list[uuid.UUID]:
    texts = [f"{('harbour', 'bakery', 'violin')[n % 3]} note{n} place{n % 17}" for n in range(start, start + count)]
    return ingest_texts(tenant, texts, session=session)


def ingest_texts(tenant: Any, texts: list[str], *, session: str = "s1") -> list[uuid.UUID]:
    items = [(tenant.scope, NewMemory(session=session, role="user", text=text)) for text in texts]
    batches = (items[start : start + 500] for start in range(0, len(items), 500))
    return [identity for batch in batches for identity in ingest_batch(batch, now=timezone.now()).memory_ids]


def told(count: int, *, seed: int) -> list[str]:
    """Return texts by topic: each topic has three words, and each text one further varying word."""
    chance = random.Random(seed)
    topics = [random.Random(number).sample(WORDS, 3) for number in range(40)]
    return [" ".join([*chance.choice(topics), f"detail{chance.randrange(60)}"]) for _ in range(count)]


def asked(text: str, *, among: SqlCondition | None = None) -> Question:
    model = active_model()
    vector = model.provider.embed([text])[0]
    return question(text, vector=vector, model_id=model.id, familiarity=1.0, now=timezone.now(), predicate=among)


def search(tenant: Any, text: str, *, among: SqlCondition | None = None, limit: int = 10) -> list[str]:
    caches.forget_all()
    return [hit.memory_id for hit in dense.search(tenant.scope, asked(text, among=among), limit=limit)]


def recall(tenant: Any, text: str) -> float:
    """Return the share of the 10 best that a search finds. Equal scores are equally right."""
    exact = {hit.memory_id: hit.score for hit in dense.exact(tenant.scope, asked(text), limit=1_000)}
    enough = sorted(exact.values())[-10] - 1e-6
    return sum(exact[one] >= enough for one in search(tenant, text)) / 10


def plan_of(tenant: Any, text: str, monkeypatch: pytest.MonkeyPatch, **of: Any) -> list[str]:
    """Return PostgreSQL's plan of a search in the role of a request."""
    plans: list[str] = []
    whole = dense.fetch

    def explain(statement: str, parameters: Any, **how: Any) -> Any:
        if "_passages AS" in statement:
            plans.extend(line for (line,) in whole(f"EXPLAIN (ANALYZE) {statement}", parameters, **how))
        return whole(statement, parameters, **how)

    with monkeypatch.context() as patched, reach.within(tenant.scope.namespace_id):
        patched.setattr(dense, "fetch", explain)
        search(tenant, text, **of)
    return plans


def test_a_large_namespace_gets_an_index_that_searches_use_and_a_small_one_none(alice, bob, monkeypatch):
    fill(alice, 300)
    fill(bob, LARGE)

    assert doctor().status == WARN
    assert keep_up(seconds=60) == HnswReport(made=1)
    assert doctor() == Finding(OK, "HNSW indexes", "1, all whole")
    assert keep_up(seconds=60) == HnswReport()
    [place] = hnsw_indexes.list_ready()
    assert place.namespace_id == alice.scope.namespace_id

    assert recall(alice, "harbour place3") >= 0.9
    plan = plan_of(alice, "harbour place3", monkeypatch)
    assert any(f"using {hnsw.name_index(*place)}" in line for line in plan), plan
    assert not any("memory_hnsw_" in line for line in plan_of(bob, "harbour place3", monkeypatch))


def test_large_neighbours_take_nothing_from_a_tenant(alice, bob):
    """Neighbours have ten times as many memories, all as near; of the exact top 10 at least 98 in 100 are found."""
    own = ingest_texts(alice, told(300, seed=1))
    ingest_texts(bob, told(3000, seed=2))
    assert keep_up(seconds=120) == HnswReport(made=2)
    questions = told(60, seed=3)

    for tenant in (alice, bob):
        assert sum(recall(tenant, text) for text in questions) >= 0.98 * len(questions)
    assert {one for text in questions for one in search(alice, text)} <= {str(one) for one in own}


def test_what_is_written_edited_archived_and_deleted_counts_at_once(alice):
    staff = system_access("staff:ann")
    first, *_ = fill(alice, 300)
    keep_up(seconds=60)
    [new] = fill(alice, 1, session="new", start=9_000)
    assert search(alice, "harbour note9000 place7", limit=1) == [str(new)]

    edit.archive(staff, memory_ids=[new], reason="wrong", now=timezone.now())
    assert str(new) not in search(alice, "harbour note9000 place7", limit=5)
    edit.restore(staff, memory_ids=[new], reason="right", now=timezone.now())
    assert search(alice, "harbour note9000 place7", limit=1) == [str(new)]
    reset_session(alice.scope, session="new", dry_run=False, clear_audit=False, now=timezone.now())
    assert str(new) not in search(alice, "harbour note9000 place7", limit=5)

    edit.edit(staff, memory_id=first, text="a submarine dives", reason="typo", now=timezone.now())
    assert search(alice, "submarine dives", limit=1) == [str(first)]
    assert str(first) not in search(alice, "harbour note0 place0", limit=5)


def test_the_answer_is_full_when_the_nearest_are_passages_of_few_memories_or_gone(alice):
    said = [" ".join(f"The zeppelin has landed, said voice {n} of {m}." for m in range(150)) for n in range(4)]
    long = ingest_texts(alice, said)
    ingest_texts(alice, ["the zeppelin has gone"] * 100, session="gone")
    ingest_texts(alice, [f"the zeppelin {text}" for text in told(300, seed=1)])
    keep_up(seconds=60)
    reset_session(alice.scope, session="gone", dry_run=False, clear_audit=False, now=timezone.now())

    found = search(alice, "the zeppelin has landed", limit=20)
    assert len({*found}) == 20
    assert {*found[:4]} == {str(one) for one in long}


def test_an_erasure_leaves_nothing_that_the_index_finds_and_the_index_goes_with_it(alice):
    fill(alice, 300)
    keep_up(seconds=60)
    body = {"namespace": "alice", "whole_namespace": True, "confirm": "alice", "reason": "test"}
    asked_for = alice.post("/v1/erasures", body)
    assert asked_for.status_code == 200, asked_for.content
    [job] = Job.objects.across_namespaces().filter(kind="erase")
    run_job(job)
    assert alice.get(f"/v1/erasures/{asked_for.json()['id']}").json()["status"] == "finished"
    assert search(alice, "harbour") == []
    assert keep_up(seconds=60) == HnswReport(dropped=1)


def test_a_filter_is_part_of_the_search_whichever_way_it_goes(alice, monkeypatch):
    fill(alice, 300, session="wide")
    narrow = fill(alice, 12, session="narrow", start=1_000)
    keep_up(seconds=60)
    of_narrow = predicate(Condition(MemoryField.SESSION, Operator.EQ, "narrow"))
    of_wide = predicate(Not(Condition(MemoryField.SESSION, Operator.EQ, "narrow")))

    # Few memories match the filter: all of them are compared, and none is missing.
    assert not any("memory_hnsw_" in line for line in plan_of(alice, "violin", monkeypatch, among=of_narrow))
    assert {*search(alice, "violin", among=of_narrow, limit=12)} == {str(one) for one in narrow}
    # Many memories match: the same statement searches the graph.
    plan = plan_of(alice, "violin", monkeypatch, among=of_wide)
    assert any("using memory_hnsw_" in line for line in plan), plan
    found = search(alice, "violin", among=of_wide)
    assert len(found) == 10
    assert not {*found} & {str(one) for one in narrow}
    # A search for more hits than the graph alone would return gets all.
    assert len(search(alice, "violin", among=of_wide, limit=300)) == 300


def test_a_build_that_outlasts_its_run_goes_on_and_nobody_begins_another(alice, monkeypatch):
    fill(alice, 400)
    assert keep_up(seconds=0) == HnswReport(is_at_work=True)
    # Whatever the first run is doing, the next one does not disturb it, and one of them finds the index complete.
    deadline = time.monotonic() + 60
    while not hnsw_indexes.list_ready():
        assert time.monotonic() < deadline
        assert keep_up(seconds=5).made == 0
        time.sleep(0.1)
    assert keep_up(seconds=5) == HnswReport()


def test_another_who_is_at_work_is_left_to_it(alice):
    fill(alice, 300)
    other = connection.copy()
    other.connect()
    try:
        assert try_lock_in_session(Lock.HNSW_INDEXES, on=other.connection)
        assert keep_up(seconds=5) == HnswReport(is_at_work=True)
    finally:
        other.close()
    assert keep_up(seconds=60) == HnswReport(made=1)


def test_a_build_that_failed_is_not_tried_each_minute(alice, monkeypatch):
    fill(alice, 300)
    monkeypatch.setattr(hnsw_indexes, "LINKS", 1)  # pgvector refuses fewer than 2
    with pytest.raises(psycopg.Error, match="out of bounds"):
        keep_up(seconds=60)
    monkeypatch.undo()
    with override_settings(MEMOS_LARGE_NAMESPACE_MEMORIES=LARGE):
        assert keep_up(seconds=60) == HnswReport()
        caches.forget_all()
        assert keep_up(seconds=60).made == 1


def test_a_namespace_that_has_shrunk_loses_its_index(alice):
    fill(alice, 250, session="kept")
    fill(alice, 200, session="goes", start=5_000)
    keep_up(seconds=60)
    reset_session(alice.scope, session="kept", dry_run=False, clear_audit=False, now=timezone.now())
    # The namespace still has more than half of the memories that make it large.
    assert keep_up(seconds=60) == HnswReport()
    reset_session(alice.scope, session="goes", dry_run=False, clear_audit=False, now=timezone.now())
    assert keep_up(seconds=60) == HnswReport(dropped=1)


def test_those_that_have_one_come_first_then_the_largest(alice, bob, settings):
    fill(alice, 250)
    keep_up(seconds=60)
    fill(bob, 300)
    settings.MEMOS_HNSW_NAMESPACES = 1
    state = hnsw_indexes.look()
    assert ([place.namespace_id for place in state.wanted], state.left_out) == (
        [alice.scope.namespace_id],
        [bob.scope.namespace_id],
    )
    assert "archive what is old" in doctor().fix
    settings.MEMOS_HNSW_NAMESPACES = 0
    assert keep_up(seconds=60) == HnswReport(dropped=1)
    settings.MEMOS_HNSW_NAMESPACES = 1
    assert [place.namespace_id for place in hnsw_indexes.look().wanted] == [bob.scope.namespace_id]
