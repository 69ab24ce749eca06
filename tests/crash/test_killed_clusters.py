"""kill -9 of a worker or of one of its processes while jobs of every priority wait: all of the jobs are done."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from memory.enums import JobPriority, JobState
from memory.models import Job
from memory.services.jobs.queue import Kind, enqueue
from tests.crash.cluster import Cluster
from tests.crash.server import wait_for

pytestmark = pytest.mark.django_db(transaction=True)
EACH = 40
KIND = Kind("project_memories", once=False)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    running = Cluster(tmp_path / "cluster.log", CRASH_JOB_ATTEMPTS="5")
    yield running
    running.stop()


def test_whoever_is_killed_no_job_of_any_priority_is_lost(alice, bob, cluster):
    jobs = Job.objects.across_namespaces().filter(kind=KIND.name)
    for number in range(EACH):
        for tenant, priority in ((alice, JobPriority.NORMAL), (alice, JobPriority.BULK), (bob, JobPriority.BULK)):
            enqueue(replace(KIND, priority=priority), tenant.scope.namespace_id)
        if number % 10 == 0:
            enqueue(replace(KIND, priority=JobPriority.INTERACTIVE), bob.scope.namespace_id)
    total = jobs.count()

    def done(count: int) -> bool:
        return jobs.filter(state=JobState.DONE).count() >= count

    wait_for(lambda: done(total // 6), what="a part of the jobs")
    # First kill the process that takes messages from the queue, then all of them.
    cluster.process.children(recursive=True)[-1].kill()
    cluster.start_again()
    reached = jobs.filter(state=JobState.DONE).count()
    wait_for(lambda: done(reached + total // 6), what="more of the jobs")
    cluster.kill()
    assert jobs.exclude(state=JobState.DONE).exists()
    cluster.start_again()

    wait_for(lambda: done(total), what="all jobs")
    assert jobs.exclude(state=JobState.DONE).count() == 0
