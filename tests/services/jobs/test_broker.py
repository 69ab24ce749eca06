"""A cluster carries out only jobs of its priority, and thousands of jobs in one namespace do not delay another's
first."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.conf import settings as configured
from django.utils import timezone
from django_q.models import OrmQ
from django_q.signing import SignedPackage
from django_q.tasks import async_task

from memory.enums import JobPriority, JobState
from memory.models import Job
from memory.models.keys import new_id
from memory.services.jobs import runner
from memory.services.jobs.broker import CLUSTERS, JobBroker
from memory.services.jobs.queue import CONDENSE, ERASE, IMPORT, TRAIN_ADAPTER, enqueue
from tests.job_queue import queued_jobs, work_off

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _new_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "_served", {})


def fill(namespace_id: int, count: int, priority: JobPriority = JobPriority.NORMAL) -> None:
    """Make `count` due jobs in the namespace."""
    due = timezone.now() - timedelta(hours=1)
    jobs = (Job(namespace_id=namespace_id, kind="x", priority=priority, due_at=due) for _ in range(count))
    Job.objects.bulk_create(jobs, batch_size=2_000)


def take(count: int, priority: JobPriority = JobPriority.NORMAL) -> list[int]:
    """Return the namespaces of the next jobs that a worker claims."""
    jobs = [runner.claim(priority, now=timezone.now()) for _ in range(count)]
    return [job.namespace_id for job in jobs if job is not None]


def test_ten_thousand_jobs_of_one_namespace_delay_anothers_first_by_one():
    fill(1, 10_000)
    assert set(take(5)) == {1}

    fill(2, 1)
    assert 2 in take(2)


def test_the_same_whichever_namespace_is_the_older_one_and_for_a_worker_that_has_just_started():
    fill(7, 10_000)
    fill(3, 2)
    assert take(4) == [3, 7, 3, 7]


def test_namespaces_take_turns_with_what_has_waited_longest_of_each():
    for namespace_id in (1, 2, 3):
        fill(namespace_id, 4)
    Job.objects.across_namespaces().filter(namespace_id=2).update(due_at=timezone.now() - timedelta(minutes=1))
    late = Job.objects.create(namespace_id=2, kind="late", due_at=timezone.now() - timedelta(hours=2))
    taken = take(12)
    for start in range(0, 12, 3):
        assert taken[start : start + 3] == [1, 2, 3]
    late.refresh_from_db()
    assert late.state == JobState.RUNNING


def test_a_cluster_has_the_jobs_of_its_priority_done_whatever_else_waits(alice):
    owner = alice.scope.namespace_id
    for number, priority in enumerate(JobPriority):
        brokers = {other: JobBroker(cluster) for other, cluster in CLUSTERS.items()}
        job = Job.objects.create(namespace_id=owner, kind="project_memories", arguments=[owner], priority=priority)
        assert [other for other, broker in brokers.items() if broker.dequeue()] == [priority], number
        [(message_id, payload)] = brokers[priority].dequeue() or []
        task = SignedPackage.loads(payload)
        assert (message_id, task["func"]) == (None, "memory.services.jobs.runner.work")
        runner.work(*task["args"])
        job.refresh_from_db()
        assert job.state == JobState.DONE
        assert brokers[priority].dequeue() is None


def test_each_cluster_has_a_priority_or_delivers():
    assert {"memos", *configured.Q_CLUSTER["ALT_CLUSTERS"]} == {*CLUSTERS.values(), "webhooks"}


def test_a_message_that_comes_when_nothing_is_due_does_nothing():
    runner.work(JobPriority.NORMAL)
    assert not Job.objects.across_namespaces().exists()


def test_the_runs_of_schedules_come_beside_the_jobs(alice):
    enqueue(CONDENSE, alice.scope.namespace_id, "s1")
    run = {"schedule": "memos: seal audit events", "kind": "seal_audit"}
    async_task("memory.services.jobs.runner.run_schedule", **run)
    tasks = [SignedPackage.loads(payload) for _, payload in JobBroker().dequeue() or []]
    assert [task["func"].rpartition(".")[2] for task in tasks] == ["work", "run_schedule"]
    OrmQ.objects.update(lock=timezone.now() - timedelta(seconds=1))
    assert work_off() == 2


def test_jobs_that_wait_for_another_attempt_stop_nobody():
    fill(1, 3_000)
    Job.objects.across_namespaces().update(due_at=timezone.now() + timedelta(hours=1))
    fill(2, 1)
    assert take(2) == [2]
    assert JobBroker().dequeue() is None


def test_a_job_has_the_priority_of_its_kind(alice):
    owner = alice.scope.namespace_id
    for kind, priority in (
        (ERASE, JobPriority.INTERACTIVE),
        (CONDENSE, JobPriority.NORMAL),
        (IMPORT, JobPriority.BULK),
        (TRAIN_ADAPTER, JobPriority.BULK),
    ):
        job = Job.objects.across_namespaces().get(pk=enqueue(kind, owner, str(new_id())))
        assert job.priority == priority


def test_summaries_are_long_work_where_a_language_model_writes_them(alice, settings):
    enqueue(CONDENSE, alice.scope.namespace_id, "by rules")
    settings.MEMOS_LLM_ENABLED = True
    enqueue(CONDENSE, alice.scope.namespace_id, "by a model")
    jobs = {job.arguments[1]: job.priority for job in queued_jobs()}
    assert jobs == {"by rules": JobPriority.NORMAL, "by a model": JobPriority.BULK}
    assert work_off() == 2
