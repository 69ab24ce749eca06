"""A job's run: it is claimed once, its heart beats, its failures are kept, and after a kill it resumes or fails."""

from __future__ import annotations

import threading
import uuid
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection, connections, transaction
from django.utils import timezone
from django_q.exceptions import TimeoutException
from django_q.models import OrmQ, Schedule

from memory.enums import JobPriority
from memory.errors import InvalidInput, NotFound
from memory.models import Job
from memory.schedules import ensure_schedules
from memory.services.index import missing_vectors
from memory.services.jobs import runner
from memory.services.jobs.queue import CONDENSE, EMBED_PENDING, IMPORT, enqueue
from memory.services.jobs.schedules import mend_clock
from memory.services.summaries import condense
from tests.job_queue import make_due, queued_jobs, work_off

# Later than the jobs in the tests' queue.
NOW = datetime(2037, 5, 8, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


def queued(tenant, session: str = "s1") -> Job:
    return Job.objects.across_namespaces().get(pk=enqueue(CONDENSE, tenant.scope.namespace_id, session))


def begin(job: Job, now: datetime = NOW) -> Job | None:
    """Claim the only job in the queue."""
    return runner.claim(JobPriority(job.priority), now=now)


def fails(error: BaseException):
    def fail(*_, **__):
        raise error

    return fail


def test_a_run_that_ends_well_says_when_and_how_often(alice):
    job = queued(alice)

    assert work_off() == 1
    job.refresh_from_db()
    assert (job.state, job.attempts, job.error_type) == ("done", 1, "")
    assert job.queued_at <= job.started_at <= job.finished_at


@pytest.mark.django_db(transaction=True)
def test_of_workers_that_are_told_at_once_each_takes_another_job(alice, bob):
    for tenant in (alice, bob):
        for number in range(4):
            queued(tenant, f"s{number}")
    start, taken = threading.Barrier(8), []

    def take() -> None:
        start.wait(10)
        while (job := runner.claim(JobPriority.NORMAL, now=timezone.now())) is not None:
            taken.append(job.pk)
        connection.close()

    threads = [threading.Thread(target=take) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(taken) == len(set(taken)) == 8


def test_while_one_worker_is_at_it_another_leaves_it(alice):
    job = queued(alice)
    assert begin(job).attempts == 1
    assert begin(job, NOW + timedelta(seconds=5)) is None


def test_a_job_whose_worker_was_killed_is_taken_over_and_the_lost_one_cannot_end_it(alice):
    job = queued(alice)
    lost = begin(job)
    taken = begin(job, NOW + timedelta(minutes=2))
    assert (lost.attempts, taken.attempts) == (1, 2)
    job.refresh_from_db()
    assert (job.state, job.error_type) == ("running", "WorkerLost")

    runner.carry_out(lost, lambda: None, clock=lambda: NOW)
    job.refresh_from_db()
    assert (job.state, job.attempts) == ("running", 2)
    runner.carry_out(taken, lambda: None, clock=lambda: NOW + timedelta(minutes=3))
    job.refresh_from_db()
    assert (job.state, job.attempts) == ("done", 2)


def test_a_job_that_kills_its_worker_each_time_is_failed_and_keeps_its_input(alice, settings):
    settings.MEMOS_JOB_ATTEMPTS = 3
    job = queued(alice)
    for attempt in range(3):
        assert begin(job, NOW + attempt * HOUR).attempts == attempt + 1

    assert begin(job, NOW + 3 * HOUR) is None
    job.refresh_from_db()
    assert (job.state, job.attempts, job.error_type) == ("failed", 3, "WorkerLost")
    assert job.arguments == [alice.scope.namespace_id, "s1"]
    assert begin(job, NOW + 4 * HOUR) is None


def test_a_job_that_fails_is_tried_again_after_a_while_and_failed_in_the_end(alice, monkeypatch, settings):
    settings.MEMOS_JOB_ATTEMPTS = 3
    monkeypatch.setattr(condense, "condense_session", fails(OSError("no space left")))
    job = queued(alice)

    for attempt in (1, 2):
        assert work_off() == 1
        job.refresh_from_db()
        assert (job.state, job.attempts, job.error_type) == ("queued", attempt, "OSError")
        due = job.due_at - timezone.now()
        assert timedelta(0) < due <= timedelta(seconds=settings.MEMOS_JOB_RETRY_SECONDS)
        make_due()
    work_off()

    job.refresh_from_db()
    assert (job.state, job.attempts, job.error) == ("failed", 3, "no space left")
    make_due()
    assert work_off() == 0


def test_a_job_that_succeeds_after_a_failure_still_shows_the_last_error(alice, monkeypatch):
    job = queued(alice)
    with monkeypatch.context() as faulty:
        faulty.setattr(condense, "condense_session", fails(OSError("away")))
        work_off()
    make_due()
    work_off()

    job.refresh_from_db()
    assert (job.state, job.attempts, job.error_type, job.error) == ("done", 2, "OSError", "away")


def test_a_task_that_takes_too_long_ends_its_process_and_is_tried_again(alice, monkeypatch):
    monkeypatch.setattr(condense, "condense_session", fails(TimeoutException("Task exceeded maximum timeout value")))
    job = queued(alice)

    with pytest.raises(TimeoutException):
        work_off()

    job.refresh_from_db()
    assert (job.state, job.attempts, job.error_type) == ("queued", 1, "TimeoutException")
    assert job.due_at > timezone.now()


def test_a_job_of_a_namespace_that_is_gone_has_nothing_to_do(db):
    enqueue(CONDENSE, 123_456, "s1")
    assert work_off() == 1
    assert Job.objects.across_namespaces().get().state == "done"


def test_a_run_that_has_used_up_its_time_goes_on_at_once(db, monkeypatch):
    monkeypatch.setattr(runner, "slice_seconds", lambda: 0.0)
    ensure_schedules()
    for name, kind, goes_on, again in (
        ("memos: seal audit events", "seal_audit", False, 0),
        ("memos: count uses", "count_uses", True, 1),
    ):
        runner.run_schedule(name, kind, goes_on=goes_on)
        assert OrmQ.objects.count() == again
    monkeypatch.undo()
    work_off()
    assert not OrmQ.objects.exists()


def test_a_job_sees_whether_others_of_its_priority_wait(alice, bob):
    run = begin(queued(alice))
    seen = []

    def look() -> None:
        seen.append(runner.do_others_wait())

    look()
    runner.carry_out(run, look, clock=timezone.now)
    queued(alice, "s2")
    runner.carry_out(run, look, clock=timezone.now)
    enqueue(IMPORT, bob.scope.namespace_id, "s1")
    runner.carry_out(run, look, clock=timezone.now)
    queued(bob)
    runner.carry_out(run, look, clock=timezone.now)
    assert seen == [False, False, False, False, True]


@pytest.mark.parametrize(
    ("error", "shown"),
    [
        (InvalidInput("There is no namespace 'alice'."), "There is no namespace 'alice'."),
        (NotFound("first\nsecond"), "first"),
        (KeyError("Ann moved to Lisbon"), "…"),
        (
            ValueError("could not convert string to float: 'Ann moved to Lisbon'"),
            "could not convert string to float: …",
        ),
        (ValueError('invalid input for uuid: "Ann moved\nto Lisbon"'), "invalid input for uuid: …"),
        (ValueError('can\'t adapt `Ann` to "Lisbon" now'), "can't adapt … now"),
        (ValueError("里斯本「安搬家了」不行"), "里斯本…不行"),
        (ValueError("不行：“安搬家了”"), "不行：…"),
        (ValueError(""), ""),
        (RuntimeError("x" * 500), "x" * 200),
    ],
)
def test_of_an_error_the_type_and_first_line_are_kept_without_what_it_quotes(error, shown):
    assert runner.describe_error(error) == (type(error).__name__, shown)


@pytest.mark.django_db(transaction=True)
def test_the_heart_beats_while_the_work_goes_on_and_carries_the_progress_out_of_its_transaction(alice, settings):
    settings.MEMOS_JOB_RETRY_SECONDS = 0.3  # a beat every 50 ms
    job = queued(alice)
    run = begin(job, timezone.now())
    seen: list[tuple] = []

    def work() -> str:
        with transaction.atomic():
            Job.objects.across_namespaces().filter(kind="nothing").update(kind="nothing")
            runner.report(3, 8)
            moved = threading.Event()
            for _ in range(200):
                row = _elsewhere(job.pk)
                if row[1] == 3 and row[0] > job.queued_at + timedelta(milliseconds=100):
                    seen.append(row)
                    break
                moved.wait(0.05)
            transaction.set_rollback(True)
        runner.report(8, 8)
        return "result"

    assert runner.carry_out(run, work, clock=timezone.now) == "result"
    assert seen[0][1:] == (3, 8, "running")
    job.refresh_from_db()
    assert (job.state, job.done, job.total) == ("done", 8, 8)
    assert not [thread for thread in threading.enumerate() if thread.name == "heartbeat"]
    runner.report(1, 2)  # outside of a job: nothing
    connections.close_all()


def _elsewhere(job_id: uuid.UUID) -> tuple:
    """Return the row as another connection sees it."""
    found: list[tuple] = []

    def look() -> None:
        found.extend(
            Job.objects.across_namespaces().filter(pk=job_id).values_list("heartbeat_at", "done", "total", "state")
        )
        connection.close()

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    return found[0]


class TestSchedules:
    NAME = "memos: embed pending memories"

    def run(self) -> None:
        runner.run_schedule(self.NAME, "embed_pending")

    def rows(self) -> list[tuple[str, int]]:
        return list(
            Job.objects.across_namespaces().filter(schedule=self.NAME).order_by("pk").values_list("state", "attempts")
        )

    def test_each_run_is_a_job_of_the_system(self, db):
        for _ in range(2):
            self.run()

        assert self.rows() == [("done", 1), ("done", 1)]
        job = Job.objects.across_namespaces().first()
        assert (job.namespace_id, job.kind, job.arguments) == (0, "embed_pending", [])

    def test_failures_in_a_row_are_one_row_that_the_next_good_run_settles(self, db, monkeypatch):
        with monkeypatch.context() as faulty:
            faulty.setattr(missing_vectors, "embed_pending", fails(OSError("away")))
            for count in (1, 2, 3):
                self.run()
                assert self.rows() == [("failed", count)]
        self.run()
        assert self.rows() == [("done", 4)]
        self.run()
        assert self.rows() == [("done", 4), ("done", 1)]

    def test_a_run_is_left_out_while_the_one_before_goes_on(self, db):
        begun = runner.begin_scheduled(schedule=self.NAME, kind="embed_pending", now=timezone.now())
        self.run()
        assert self.rows() == [("running", 1)]
        assert begun is not None

    def test_a_run_after_a_killed_worker_takes_its_place(self, db):
        runner.begin_scheduled(schedule=self.NAME, kind="embed_pending", now=timezone.now() - HOUR)
        self.run()
        assert self.rows() == [("done", 2)]
        assert Job.objects.across_namespaces().get().error_type == "WorkerLost"

    @pytest.mark.django_db(transaction=True)
    def test_of_two_workers_at_once_one_runs(self):
        start, begun = threading.Barrier(4), []

        def run() -> None:
            start.wait(10)
            begun.append(runner.begin_scheduled(schedule=self.NAME, kind="embed_pending", now=timezone.now()))
            connection.close()

        threads = [threading.Thread(target=run) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len([run for run in begun if run is not None]) == 1
        assert self.rows() == [("running", 1)]


class TestClock:
    """After a clock jumps back by hours, some stored moments are in the future."""

    def test_a_running_job_whose_heartbeat_lies_ahead_is_taken_for_lost(self, alice):
        job = queued(alice)
        begin(job, NOW)
        mend_clock(now=NOW - 3 * HOUR)
        assert begin(job, NOW - 3 * HOUR).attempts == 2

    def test_a_run_that_ends_before_it_began_is_no_error(self, alice):
        job = queued(alice)
        runner.carry_out(begin(job, NOW), lambda: None, clock=lambda: NOW - HOUR)
        job.refresh_from_db()
        assert (job.state, job.finished_at < job.started_at) == ("done", True)

    def test_the_next_job_brings_forward_what_would_wait_for_hours(self, alice, monkeypatch):
        ensure_schedules()
        early, late = queued(alice, "before"), timezone.now() + 3 * HOUR
        queued_jobs().update(due_at=late)
        Schedule.objects.update(next_run=late)
        monkeypatch.setattr(runner, "_latest", late)

        enqueue(EMBED_PENDING)
        work_off()

        early.refresh_from_db()
        assert early.state == "done"
        # Daily schedules keep their regular time.
        assert not Schedule.objects.filter(minutes__lt=180, next_run__gt=timezone.now()).exists()

    def test_what_is_due_in_its_regular_time_is_left_alone(self, alice, settings):
        ensure_schedules()
        queued(alice)
        retry = timezone.now() + timedelta(seconds=settings.MEMOS_JOB_RETRY_SECONDS)
        queued_jobs().update(due_at=retry)
        Schedule.objects.filter(minutes=60).update(next_run=timezone.now() + HOUR)
        assert mend_clock(now=timezone.now()) == 0
