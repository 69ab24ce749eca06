"""Waiting jobs are counted, late jobs are named, and waiting for all of them ends."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone
from django_q.models import OrmQ, Schedule

from memory.enums import JobPriority
from memory.errors import InvalidInput, NotFound
from memory.models import Job
from memory.schedules import ensure_schedules
from memory.services.jobs.queue import CONDENSE, EMBED_PENDING, ERASE, IMPORT, enqueue
from memory.services.jobs.waiting import FOLLOWING, describe_overdue, queue_status, wait_for
from memory.services.memories import waiting_turns
from memory.types import Access, system_access
from tests.job_queue import run_task, work_off

pytestmark = pytest.mark.django_db
EVERYWHERE = system_access("test")


def access(tenant) -> Access:
    return Access(actor="key:1", namespace_ids=frozenset({tenant.scope.namespace_id}))


def test_another_tenants_jobs_are_neither_counted_nor_waited_for(alice, bob):
    enqueue(CONDENSE, bob.scope.namespace_id, "s1")
    status = queue_status(access(alice))
    assert (status.total, status.by_namespace) == (0, {})
    assert wait_for(access(alice), seconds=0).is_idle
    for call in (
        lambda: queue_status(access(alice), namespaces=["bob"]),
        lambda: wait_for(access(alice), namespaces=["alice", "bob"], seconds=0),
        lambda: wait_for(access(alice), namespaces=["nobody"], seconds=0),
    ):
        with pytest.raises(NotFound):
            call()


@pytest.mark.parametrize("seconds", [-1, 301, float("nan")])
def test_a_wait_has_an_end(alice, seconds):
    with pytest.raises(InvalidInput):
        wait_for(access(alice), seconds=seconds)


def test_jobs_are_counted_by_priority_and_namespace(alice, bob):
    now = timezone.now()
    for session in ("s1", "s2"):
        enqueue(CONDENSE, alice.scope.namespace_id, session)
    enqueue(IMPORT, bob.scope.namespace_id, "01a1ff34-7763-766b-b782-f4e905b1dc9f")
    enqueue(EMBED_PENDING)
    Job.objects.across_namespaces().filter(arguments__contains="s2").update(queued_at=now - timedelta(hours=1))
    Job.objects.across_namespaces().filter(kind="import_memories").update(state="running")
    # Scheduled runs are listed with the schedules.
    Job.objects.create(schedule="memos: sweep", kind="sweep_memories", state="running")

    status = queue_status(EVERYWHERE)
    counted = {priority: (jobs.queued, jobs.running) for priority, jobs in status.by_priority.items()}
    assert counted == {JobPriority.INTERACTIVE: (0, 0), JobPriority.NORMAL: (3, 0), JobPriority.BULK: (0, 1)}
    assert {name: jobs.total for name, jobs in status.by_namespace.items()} == {"alice": 2, "bob": 1, "": 1}
    assert status.by_namespace["alice"].oldest == now - timedelta(hours=1)
    assert queue_status(EVERYWHERE, namespaces=["bob"]).total == 1


@pytest.mark.parametrize(("kind", "seconds"), [(ERASE, 2), (CONDENSE, 300), (IMPORT, 3_600)])
def test_a_job_that_is_not_begun_is_named_with_the_wait_that_is_too_long(alice, kind, seconds):
    now = timezone.now()
    enqueue(kind, alice.scope.namespace_id, "01a1ff34-7763-766b-b782-f4e905b1dc9f")
    jobs = Job.objects.across_namespaces()
    jobs.update(queued_at=now - timedelta(seconds=seconds))
    assert describe_overdue(now=now) == ""
    late = now + timedelta(seconds=9)
    expected = f"{kind.priority.label} jobs wait for {seconds + 9} s, more than {seconds} s"
    assert describe_overdue(now=late) == expected
    # A job between two attempts waits for its time.
    jobs.update(started_at=now)
    assert describe_overdue(now=late) == ""


def test_a_wait_ends_when_nothing_is_left(alice, remember):
    ensure_schedules()
    remember(alice, "The kiln fires at 1,240 degrees.")
    enqueue(CONDENSE, alice.scope.namespace_id, "s1")
    waited = wait_for(access(alice), seconds=0)
    assert (waited.is_idle, waited.jobs, waited.turns) == (False, 1, 1)
    # The wait itself has queued the work that follows the turn.
    done = wait_for(access(alice), seconds=60, sleep=lambda _: work_off())
    assert (done.is_idle, done.jobs, done.turns) == (True, 0, 0)


def test_many_who_wait_have_turns_read_once(alice, remember):
    ensure_schedules()
    Schedule.objects.update(next_run=timezone.now() + timedelta(seconds=20))
    remember(alice, "Ann moved to Lisbon.")
    for _ in range(5):
        wait_for(access(alice), seconds=0)

    assert OrmQ.objects.count() == len(FOLLOWING)


def test_turns_that_wait_are_counted_once_each(alice, bob, remember):
    for number in range(3):
        remember(alice, f"Crate {number} stands in hall {number}.")
    assert queue_status(access(alice)).turns == queue_status(EVERYWHERE).turns == 3
    assert queue_status(access(bob)).turns == 0
    run_task("index_entities")
    assert queue_status(EVERYWHERE).turns == 3
    run_task("settle_memories")
    assert queue_status(EVERYWHERE).turns == 0


def test_a_namespace_with_many_sessions_keeps_nobodys_first_turn_waiting(alice, bob, remember, monkeypatch):
    for number in range(6):
        remember(alice, f"Crate {number} stands in hall {number}.", session=f"s{number}")
    remember(bob, "The kiln fires at 1,240 degrees.", session="late")
    monkeypatch.setattr(waiting_turns, "_LISTED", 3)
    listed = [(one.scope.namespace, one.session) for one in waiting_turns.list_waiting()]
    assert listed == [("alice", "s0"), ("bob", "late"), ("alice", "s1")]


def test_a_session_that_talks_on_is_not_put_behind_those_that_have_ended(alice, remember):
    remember(alice, "Crate 1 stands in hall 1.", session="talks on")
    remember(alice, "The kiln fires at 1,240 degrees.", session="has ended")
    remember(alice, "Crate 2 stands in hall 2.", session="talks on")
    assert [one.session for one in waiting_turns.list_waiting()] == ["talks on", "has ended"]


def test_the_pipeline_says_who_waits(alice, bob):
    enqueue(CONDENSE, alice.scope.namespace_id, "s1")
    enqueue(CONDENSE, bob.scope.namespace_id, "s1")
    waiting = alice.get("/v1/ops/pipeline").json()["waiting"]
    assert [(one["priority"], one["queued"]) for one in waiting["priorities"]] == [
        ("interactive", 0), ("normal", 1), ("bulk", 0),
    ]  # fmt: skip
    [namespace] = waiting["namespaces"]
    assert (namespace["namespace"], namespace["queued"]) == ("alice", 1)
    assert waiting["turns"] == 0
    assert alice.get("/v1/ops/jobs").json()["jobs"][0]["priority"] == "normal"
