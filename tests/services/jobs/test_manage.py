"""Jobs are replayed, discarded and deleted, and hundreds of them are carried out."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.utils import timezone
from django_q.models import Failure

from memory.enums import JobState
from memory.errors import Conflict, InvalidInput
from memory.models import AuditLog, Job
from memory.services.jobs import manage, runner
from memory.services.jobs.queue import CONDENSE, EMBED_PENDING, enqueue
from memory.services.summaries import condense
from memory.types import system_access
from tests.job_queue import queued_jobs, work_off

NOW = datetime(2026, 5, 8, 12, tzinfo=UTC)
STAFF = system_access("staff:ann")


def failed(tenant, session: str = "s1", **fields) -> Job:
    return Job.objects.create(
        namespace_id=tenant.scope.namespace_id, kind="condense_session", once=True, state=JobState.FAILED, attempts=5,
        arguments=[tenant.scope.namespace_id, session], error_type="OSError", error="away", finished_at=NOW, **fields,
    )  # fmt: skip


def queued(tenant, session: str = "s1") -> Job:
    return Job.objects.across_namespaces().get(pk=enqueue(CONDENSE, tenant.scope.namespace_id, session))


class TestReplayAndDiscard:
    def test_a_failed_job_runs_again_with_its_input_and_all_its_attempts(self, alice, monkeypatch):
        seen: list[str] = []
        monkeypatch.setattr(condense, "condense_session", lambda scope, *, session, now: seen.append(session) or [])
        job = failed(alice, "s7")

        manage.replay(STAFF, job_id=job.pk, now=NOW)
        job.refresh_from_db()
        assert (job.state, job.attempts, job.finished_at, job.error) == ("queued", 0, None, "away")
        assert work_off() == 1
        job.refresh_from_db()
        assert (job.state, job.attempts, seen) == ("done", 1, ["s7"])
        (event,) = AuditLog.objects.across_namespaces().filter(event_type="JOB_REPLAY")
        assert (event.namespace_id, event.actor, event.subject) == (alice.scope.namespace_id, "staff:ann", str(job.pk))
        assert event.details["before"] == {"state": "failed", "attempts": 5, "error": "OSError"}

    def test_a_replay_is_refused_while_the_same_is_queued(self, alice):
        job = failed(alice)
        queued(alice)

        with pytest.raises(Conflict, match="see to that one"):
            manage.replay(STAFF, job_id=job.pk, now=NOW)
        job.refresh_from_db()
        assert job.state == "failed"
        assert queued_jobs().count() == 1

    def test_of_two_replays_one_is_refused(self, alice):
        job = failed(alice)
        manage.replay(STAFF, job_id=job.pk, now=NOW)
        with pytest.raises(Conflict, match="The job is queued"):
            manage.replay(STAFF, job_id=job.pk, now=NOW)
        assert queued_jobs().count() == 1

    def test_a_discarded_job_does_not_run_and_can_be_replayed(self, alice):
        job = queued(alice)
        manage.discard(STAFF, job_id=job.pk, reason="no longer needed", now=NOW)
        assert work_off() == 0

        manage.replay(STAFF, job_id=job.pk, now=NOW)
        assert work_off() == 1
        job.refresh_from_db()
        assert (job.state, job.reason) == ("done", "")
        (event,) = AuditLog.objects.across_namespaces().filter(event_type="JOB_DISCARD")
        assert event.details["reason"] == "no longer needed"

    @pytest.mark.parametrize("reason", ["", "  ", "x" * 501])
    def test_a_discard_says_why(self, alice, reason):
        with pytest.raises(InvalidInput):
            manage.discard(STAFF, job_id=failed(alice).pk, reason=reason, now=NOW)

    @pytest.mark.parametrize("state", ["running", "done", "discarded"])
    def test_what_runs_or_is_over_is_not_discarded(self, alice, state):
        job = failed(alice)
        Job.objects.across_namespaces().update(state=state)
        with pytest.raises(Conflict, match=f"The job is {state}"):
            manage.discard(STAFF, job_id=job.pk, reason="x", now=NOW)

    def test_the_failed_run_of_a_schedule_is_replayed_and_the_clock_may_come_first(self, db):
        job = Job.objects.create(kind="embed_pending", schedule="memos: x", state=JobState.FAILED, attempts=9)
        manage.replay(STAFF, job_id=job.pk, now=NOW)
        run = runner.begin_scheduled(schedule="memos: x", kind="embed_pending", now=timezone.now())
        runner.carry_out(run, lambda: None, clock=timezone.now)
        work_off()
        assert list(Job.objects.across_namespaces().values_list("state", "attempts")) == [("done", 1)]


def test_what_ended_well_is_forgotten_in_time_and_what_failed_is_not(alice, settings, monkeypatch):
    monkeypatch.setattr(manage, "_BATCH", 2)
    settings.MEMOS_JOBS_KEEP_DAYS = 3
    old, recent = NOW - timedelta(days=3, seconds=1), NOW - timedelta(days=3)
    for moment in (old, recent):
        for number, state in enumerate(JobState):
            Job.objects.create(kind="condense_session", arguments=[number], state=state, finished_at=moment)
            Job.objects.create(kind="embed_pending", state=state, finished_at=moment)
        Failure.objects.create(id=f"{moment:%S}", name="n", func="f", started=moment, stopped=moment, success=False)

    assert manage.forget(now=NOW) == 4
    assert manage.forget(now=NOW) == 0
    kept = Job.objects.across_namespaces().filter(finished_at=old).values_list("state", flat=True).distinct()
    assert set(kept) == {"queued", "running", "failed"}
    assert Job.objects.across_namespaces().filter(finished_at=recent).count() == 10
    assert Failure.objects.get().stopped == recent


@pytest.mark.django_db(transaction=True)
def test_hundreds_of_jobs_are_each_done_once_by_two_workers(alice, bob, monkeypatch):
    done: list[tuple[int, str]] = []
    monkeypatch.setattr(
        condense, "condense_session", lambda scope, *, session, now: done.append((scope.namespace_id, session)) or []
    )
    for number in range(125):
        queued(alice, f"s{number}")
        queued(bob, f"s{number}")

    def work() -> None:
        work_off()
        connection.close()

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(done) == len(set(done)) == 250
    assert set(Job.objects.across_namespaces().values_list("state", "attempts")) == {("done", 1)}
    seen, cursor = [], None
    for _ in range(5):
        page, cursor = manage.list_jobs(
            STAFF, wanted=manage.JobFilter(kind="condense_session", cursor=cursor, limit=50)
        )
        seen += [row["id"] for row in page]
    assert cursor is None
    assert len(set(seen)) == 250
    assert seen == sorted(seen, reverse=True)


def test_the_systems_jobs_have_no_namespace(db):
    job = Job.objects.across_namespaces().get(pk=enqueue(EMBED_PENDING))
    shown = manage.to_dict(job)
    assert (shown["namespace"], shown["subject"], shown["progress"], shown["error"]) == (None, [], None, None)
