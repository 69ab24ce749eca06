"""HNSW indexes of pgvector: made for who has chosen one, dropped when not, and searched as well as all vectors."""

from __future__ import annotations

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
from memory.models import IVFList, Job, MemoryVector, NamespacePolicy
from memory.models.locks import Lock, try_lock_in_session
from memory.postgresql import reach
from memory.retrieval import hnsw
from memory.retrieval.arms import dense, near_graph
from memory.retrieval.filters import Condition, MemoryField, Not, Operator
from memory.retrieval.predicate import SqlCondition, predicate
from memory.retrieval.question import Question, question
from memory.services.diagnosis.finding import OK, WARN, Finding
from memory.services.diagnosis.search import hnsw_indexes as doctor
from memory.services.index import hnsw_indexes
from memory.services.index.embedding_model import active_model
from memory.services.index.hnsw_indexes import HnswReport, keep_up
from memory.services.index.upkeep import keep_up as keep_up_lists
from memory.services.ingestion.ingest import ingest_batch
from memory.services.memories import edit
from memory.services.sessions.reset import reset_session
from memory.types import NewMemory, system_access
from tests.job_queue import run_job

pytestmark = pytest.mark.django_db(transaction=True)
LARGE = 200


@pytest.fixture(autouse=True)
def _small_is_large(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    settings.MEMOS_LARGE_NAMESPACE_MEMORIES = LARGE
    # A search with a filter goes along the graph when so many memories meet it.
    monkeypatch.setattr(near_graph, "LOOKED_AT", 400)
    yield
    for place in hnsw_indexes.list_ready() | set(hnsw_indexes._list_indexes()):
        with connection.cursor() as cursor:
            cursor.execute(f"DROP INDEX IF EXISTS {hnsw.name_index(*place)}")


def fill(tenant: Any, count: int, *, session: str = "s1", start: int = 0) -> list[uuid.UUID]:
    texts = [f"{('harbour', 'bakery', 'violin')[n % 3]} note{n} place{n % 17}" for n in range(start, start + count)]
    items = [(tenant.scope, NewMemory(session=session, role="user", text=text)) for text in texts]
    return ingest_batch(items, now=timezone.now()).memory_ids


def choose(tenant: Any, index: str = "hnsw") -> Any:
    body = {"namespace": tenant.scope.namespace, "policy": {"index": index}}
    return tenant.client.put("/v1/policy", data=body, content_type="application/json")


def asked(text: str, *, among: SqlCondition | None = None) -> Question:
    model = active_model()
    vector = model.provider.embed([text])[0]
    return question(text, vector=vector, model_id=model.id, familiarity=1.0, now=timezone.now(), predicate=among)


def search(tenant: Any, text: str, *, among: SqlCondition | None = None, limit: int = 10) -> list[str]:
    caches.forget_all()
    return [hit.memory_id for hit in dense.search(tenant.scope, asked(text, among=among), limit=limit)]


def recall(tenant: Any, text: str) -> float:
    """Of the 10 best how many a search finds; equal scores are equally right."""
    exact = {hit.memory_id: hit.score for hit in dense.exact(tenant.scope, asked(text), limit=1_000)}
    enough = sorted(exact.values())[-10] - 1e-6
    return sum(exact[one] >= enough for one in search(tenant, text)) / 10


def plan_of(tenant: Any, text: str, monkeypatch: pytest.MonkeyPatch, **of: Any) -> list[str]:
    """What PostgreSQL does for a search, as the role of a request."""
    plans: list[str] = []
    whole = near_graph.fetch

    def explain(statement: str, parameters: Any, **how: Any) -> Any:
        if "passages AS" in statement:
            plans.extend(line for (line,) in whole(f"EXPLAIN (ANALYZE) {statement}", parameters, **how))
        return whole(statement, parameters, **how)

    with monkeypatch.context() as patched, reach.within(tenant.scope.namespace_id):
        patched.setattr(near_graph, "fetch", explain)
        search(tenant, text, **of)
    return plans


def test_who_may_not_choose_it_is_told_why(alice, bob, settings):
    fill(alice, LARGE)
    refused = choose(alice)
    assert refused.status_code == 400
    assert "200 memories" in refused.json()["error"]["message"]

    fill(alice, 10, start=LARGE)
    fill(bob, LARGE + 10)
    caches.forget_all()
    settings.MEMOS_HNSW_NAMESPACES = 0
    assert "MEMOS_HNSW_NAMESPACES" in choose(alice).json()["error"]["message"]
    settings.MEMOS_HNSW_NAMESPACES = 1
    assert choose(alice).status_code == 200
    refused = choose(bob)
    assert refused.status_code == 400
    assert refused.json()["error"]["detail"][0]["field"] == "policy.index"
    assert "alice" not in refused.content.decode()
    # Who has it may change the rest of the policy.
    assert (
        alice.client.put(
            "/v1/policy",
            data={"namespace": "alice", "policy": {"index": "hnsw", "ttl_days": 9}},
            content_type="application/json",
        ).status_code
        == 200
    )
    assert choose(alice, "ivf").status_code == choose(bob).status_code == 200


def test_an_index_is_made_once_used_and_dropped_when_nobody_wants_it(alice, bob, monkeypatch):
    fill(alice, 300)
    fill(bob, 300)
    keep_up_lists(now=timezone.now())
    assert keep_up(seconds=60) == HnswReport()
    assert choose(alice).status_code == 200

    assert doctor().status == WARN
    assert keep_up(seconds=60) == HnswReport(made=1)
    assert doctor() == Finding(OK, "HNSW indexes", "1, all whole")
    assert keep_up(seconds=60) == HnswReport()
    [place] = hnsw_indexes.list_ready()
    assert place.namespace_id == alice.scope.namespace_id

    assert recall(alice, "harbour place3") >= 0.9
    plan = plan_of(alice, "harbour place3", monkeypatch)
    assert any(f"using {hnsw.name_index(*place)}" in line for line in plan), plan
    assert plan_of(bob, "harbour place3", monkeypatch) == []

    choose(alice, "ivf")
    assert keep_up(seconds=60) == HnswReport(dropped=1)
    assert hnsw_indexes._list_indexes() == {}
    assert recall(alice, "harbour place3") >= 0.9


def test_what_is_written_archived_and_deleted_counts_at_once_and_lists_are_left_alone(alice):
    fill(alice, 300)
    keep_up_lists(now=timezone.now())
    choose(alice)
    keep_up(seconds=60)
    [new] = fill(alice, 1, session="new", start=9_000)

    assert search(alice, "harbour note9000 place7", limit=1) == [str(new)]
    fill(alice, 250, session="more", start=20_000)
    keep_up_lists(now=timezone.now())
    filed = MemoryVector.objects.in_scope(alice.scope).filter(filed=True).count()
    assert filed == sum(IVFList.objects.in_scope(alice.scope).values_list("size", flat=True)) == 300

    edit.archive(system_access("staff:ann"), memory_ids=[new], reason="wrong", now=timezone.now())
    assert str(new) not in search(alice, "harbour note9000 place7", limit=5)
    edit.restore(system_access("staff:ann"), memory_ids=[new], reason="right", now=timezone.now())
    assert search(alice, "harbour note9000 place7", limit=1) == [str(new)]
    reset_session(alice.scope, session="new", dry_run=False, clear_audit=False, now=timezone.now())
    assert str(new) not in search(alice, "harbour note9000 place7", limit=5)


def test_an_erasure_leaves_nothing_that_the_index_finds_and_the_index_goes_with_it(alice):
    fill(alice, 300)
    choose(alice)
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
    choose(alice)
    keep_up(seconds=60)
    of_narrow = predicate(Condition(MemoryField.SESSION, Operator.EQ, "narrow"))
    of_wide = predicate(Not(Condition(MemoryField.SESSION, Operator.EQ, "narrow")))

    # Few meet it: all of them are compared, and none is missing.
    assert plan_of(alice, "violin", monkeypatch, among=of_narrow) == []
    assert {*search(alice, "violin", among=of_narrow, limit=12)} == {str(one) for one in narrow}
    # Many meet it: along the graph, in the same statement.
    plan = plan_of(alice, "violin", monkeypatch, among=of_wide)
    assert any("using memory_hnsw_" in line for line in plan), plan
    found = search(alice, "violin", among=of_wide)
    assert len(found) == 10
    assert not {*found} & {str(one) for one in narrow}
    # As many as there are, when they are asked for: the graph alone would end before.
    assert len(search(alice, "violin", among=of_wide, limit=300)) == 300


def test_a_build_that_outlasts_its_run_goes_on_and_nobody_begins_another(alice, monkeypatch):
    fill(alice, 400)
    choose(alice)
    assert keep_up(seconds=0) == HnswReport(is_at_work=True)
    # Whatever it is at now: the next run does not disturb it, and one of them finds it whole.
    deadline = time.monotonic() + 60
    while not hnsw_indexes.list_ready():
        assert time.monotonic() < deadline
        assert keep_up(seconds=5).made == 0
        time.sleep(0.1)
    assert keep_up(seconds=5) == HnswReport()


def test_another_who_is_at_work_is_left_to_it(alice):
    fill(alice, 300)
    choose(alice)
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
    choose(alice)
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
    choose(alice)
    keep_up(seconds=60)
    reset_session(alice.scope, session="kept", dry_run=False, clear_audit=False, now=timezone.now())
    # Still more than half of what makes it large.
    assert keep_up(seconds=60) == HnswReport()
    reset_session(alice.scope, session="goes", dry_run=False, clear_audit=False, now=timezone.now())
    assert keep_up(seconds=60) == HnswReport(dropped=1)


def test_the_environment_chooses_for_those_that_do_not_up_to_the_number_the_largest_first(alice, bob, settings):
    fill(alice, 250)
    fill(bob, 300)
    settings.MEMOS_POLICY = {**settings.MEMOS_POLICY, "index": "hnsw"}
    settings.MEMOS_HNSW_NAMESPACES = 1
    state = hnsw_indexes.look()
    assert ([place.namespace_id for place in state.wanted], state.left_out) == (
        [bob.scope.namespace_id],
        [alice.scope.namespace_id],
    )
    assert "MEMOS_HNSW_NAMESPACES" in doctor().fix
    # Its own choice goes before.
    NamespacePolicy.objects.create(
        namespace_id=alice.scope.namespace_id, version=1, overrides={"index": "hnsw"}, updated_by="x"
    )
    assert [place.namespace_id for place in hnsw_indexes.look().wanted] == [alice.scope.namespace_id]
