"""Background work takes what requests leave, ends early for other namespaces, and comes back to the rest."""

from __future__ import annotations

from datetime import timedelta
from functools import partial

import pytest
from django.utils import timezone
from django_q.models import OrmQ, Schedule

from memory import tasks
from memory.enums import JobPriority, JobState
from memory.models import Job, Memory, Session
from memory.schedules import ensure_schedules
from memory.services.jobs import pacing, runner
from memory.services.jobs.pacing import BUSY_SHARE, PATIENT_LAG, UNKNOWN_SHARE, URGENT_LAG, LoadReader, Pace, share_of
from memory.services.jobs.queue import CONDENSE, PROJECT, enqueue
from memory.stores import redis as redis_store
from memory.stores import request_load
from tests.job_queue import work_off

pytestmark = pytest.mark.django_db


class Clock:
    """The time of a test, in which sleeping takes no time."""

    def __init__(self) -> None:
        self.now = 1_000.0
        self.slept = self.used = 0.0

    def monotonic(self) -> float:
        return self.now

    def process_time(self) -> float:
        return self.used

    def work(self, seconds: float) -> None:
        self.now += seconds
        self.used += seconds

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.slept += seconds


@pytest.fixture
def clock(monkeypatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(pacing, "time", clock)
    monkeypatch.setattr(pacing, "_process", pacing._Process())
    return clock


def load_is(load: float | None, clock: Clock) -> None:
    """Known for the next hour."""
    pacing._process.reader = LoadReader(load, 0.0, clock.now + 3_600)


def pace(priority: JobPriority = JobPriority.NORMAL, namespace_id: int = 0) -> Pace:
    return Pace(priority=priority, namespace_id=namespace_id)


def test_the_share_falls_with_load_and_rises_with_what_waits():
    assert [share_of(load) for load in (0.0, 0.09)] == [1.0, 1.0]
    assert share_of(1.0) == share_of(40.0) == pytest.approx(BUSY_SHARE)
    assert share_of(0.5) == pytest.approx((1 + BUSY_SHARE) / 2)
    assert share_of(None) == UNKNOWN_SHARE
    assert share_of(8.0, PATIENT_LAG) == pytest.approx(BUSY_SHARE)
    assert BUSY_SHARE < share_of(8.0, (PATIENT_LAG + URGENT_LAG) / 2) < 1
    assert share_of(8.0, URGENT_LAG) == share_of(None, 2 * URGENT_LAG) == 1.0


def test_the_load_is_what_requests_took_since_the_last_look(clock, monkeypatch):
    reader = LoadReader()
    assert reader.read() == 0.0
    redis_store.call(lambda client: client.incrbyfloat(request_load.KEY, 6.0))
    assert reader.read() == 0.0  # known for a second
    clock.now += 2
    assert reader.read() == pytest.approx(3.0)
    clock.now += 2
    redis_store.forget_everything()
    assert reader.read() == 0.0
    monkeypatch.setattr(request_load, "call", _away)
    clock.now += 2
    assert reader.read() is None


def test_a_request_counts_from_its_beginning(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(request_load, "time", clock)
    gauge = request_load._Gauge(since=clock.now)
    gauge.move(1)
    clock.now += 3
    gauge.move(1)
    clock.now += 1
    assert gauge.take() == pytest.approx(5.0)
    gauge.move(-1)
    gauge.move(-1)
    clock.now += 10
    assert gauge.take() == 0.0
    assert not gauge.awake.is_set()


def test_requests_are_told_to_redis(alice):
    before = request_load.read()
    alice.get("/v1/ops/stats")
    request_load.publish()
    assert request_load.read() > before


def test_work_pauses_in_proportion_and_not_at_all_in_quiet_or_for_a_person(clock):
    for load, priority, seconds in (
        (0.0, JobPriority.NORMAL, 0.0),
        (1.0, JobPriority.INTERACTIVE, 0.0),
        (None, JobPriority.BULK, 0.05),
        (2.0, JobPriority.NORMAL, 0.05 * (1 / BUSY_SHARE - 1)),
    ):
        load_is(load, clock)
        job, clock.slept = pace(priority), 0.0
        clock.work(0.05)
        assert not job.give_way()
        assert clock.slept == pytest.approx(seconds)


def test_waiting_for_a_model_is_no_work(clock):
    load_is(2.0, clock)
    job = pace()
    clock.work(0.01)
    clock.now += 5.0
    job.give_way()
    assert clock.slept == pytest.approx(pacing.WORK_PER_OWN * 0.01 * (1 / BUSY_SHARE - 1))


def test_a_job_pauses_for_the_one_before_it(clock):
    load_is(4.0, clock)
    first = pace()
    clock.work(0.02)
    first.end()
    assert clock.slept == 0.0
    pace(JobPriority.INTERACTIVE).begin()
    assert clock.slept == 0.0
    pace().begin()
    assert clock.slept == pytest.approx(0.02 * (1 / BUSY_SHARE - 1))


def test_while_turns_have_waited_for_minutes_no_job_pauses(alice, remember, clock):
    """They would wait for the pauses of every other job of the process, too."""
    load_is(4.0, clock)
    remember(alice, "Crate 7 stands in hall 3.")
    for wait, pauses in ((timedelta(), True), (URGENT_LAG + timedelta(minutes=1), False)):
        Memory.objects.across_namespaces().update(created_at=timezone.now() - wait)
        clock.now += 2 * pacing.LAG_SECONDS
        first, clock.slept = pace(JobPriority.BULK), 0.0
        clock.work(0.05)
        first.give_way()
        clock.work(0.05)
        first.end()
        pace().begin()
        assert (clock.slept > 0) == pauses


@pytest.mark.parametrize("run", [tasks.settle_memories, tasks.index_entities])
def test_what_follows_turns_pauses_for_requests_until_these_have_waited_for_minutes(
    alice, remember, clock, monkeypatch, run
):
    def work_a_little() -> float:
        clock.work(0.01)
        return clock.used

    monkeypatch.setattr(clock, "process_time", work_a_little)
    load_is(4.0, clock)
    for wait, pauses in ((timedelta(), True), (URGENT_LAG + timedelta(minutes=1), False)):
        for session in ("s1", "s2"):
            remember(alice, f"Crate {wait} stands in hall {session}.", session=session)
        Memory.objects.across_namespaces().update(created_at=timezone.now() - wait)
        clock.now += 2 * pacing.LAG_SECONDS
        clock.slept = pacing._process.owed = 0.0
        run(schedule="memos: a run of the clock")
        assert (clock.slept > 0) == pauses


def test_a_job_ends_after_a_while_for_anothers_of_its_priority(alice, bob, clock):
    owner = alice.scope.namespace_id

    def gives_way(*, namespace_id: int = owner, priority: JobPriority = JobPriority.NORMAL, ran: float = 60.0) -> bool:
        job = pace(priority, namespace_id)
        clock.now += ran
        return job.give_way()

    assert not gives_way()
    mine = enqueue(CONDENSE, owner, "s1")
    assert not gives_way()
    others = Job.objects.across_namespaces().filter(pk=enqueue(CONDENSE, bob.scope.namespace_id, "s1"))
    assert gives_way()
    # That one has a worker of its own.
    assert not gives_way(priority=JobPriority.BULK)
    assert not gives_way(ran=2.0)
    # Between two attempts it stops nobody.
    others.update(started_at=timezone.now())
    assert not gives_way()
    assert Job.objects.across_namespaces().get(pk=mine).state == JobState.QUEUED


def test_outside_of_a_job_nothing_gives_way(alice):
    enqueue(PROJECT, alice.scope.namespace_id)
    assert not runner.give_way(at_least=-1.0)


def test_a_run_that_ended_early_goes_on_where_it_was_as_soon_as_the_others_had_their_turn(alice, remember, monkeypatch):
    ensure_schedules()
    Schedule.objects.update(next_run=timezone.now() + timedelta(seconds=30))
    for number in range(5):
        remember(alice, f"Crate {number} stands in hall {number}.", session=f"s{number}")
    waiting = Session.objects.across_namespaces().filter(settled_turn=0)
    monkeypatch.setattr(pacing, "OTHERS_SECONDS", -1.0)
    monkeypatch.setattr(runner, "give_way", partial(runner.give_way, at_least=-1.0))
    enqueue(PROJECT, alice.scope.namespace_id)
    tasks.settle_memories(schedule="memos: settle memories")
    assert waiting.count() == 5
    work_off()
    assert not waiting.exists()
    # It has left nothing, and waits for the clock.
    assert not OrmQ.objects.exists()
    assert Schedule.objects.get(name="memos: settle memories").next_run > timezone.now()


def _away(*_):
    raise redis_store.RedisAway("away")
