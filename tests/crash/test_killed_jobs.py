"""kill -9 of the process that carries out a job in a real cluster: the job continues, or fails and keeps its input."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.utils import timezone

from memory.enums import JobState
from memory.models import Condensation, Job
from memory.services.ingestion.ingest import ingest
from memory.services.jobs import manage
from memory.services.jobs.queue import CONDENSE, enqueue
from memory.types import NewMemory, system_access
from tests.crash.cluster import ATTEMPTS, Cluster, waiting_model, worker_of
from tests.crash.server import wait_for
from tests.providers.endpoint import Endpoint

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def model() -> Iterator[tuple[Endpoint, threading.Event]]:
    with waiting_model() as waiting:
        yield waiting


@pytest.fixture
def cluster(model: tuple[Endpoint, threading.Event], tmp_path: Path) -> Iterator[Cluster]:
    running = Cluster(tmp_path / "cluster.log", model=model[0])
    yield running
    running.stop()


def test_a_job_that_is_killed_each_time_is_failed_with_its_input_and_can_be_replayed(alice, cluster, model):
    endpoint, may_answer = model
    for number in range(6):
        memory = NewMemory(session="s1", role="user", text=f"Crate {number} stands in hall {number}.")
        ingest(alice.scope, memory=memory, now=timezone.now())
    job = Job.objects.across_namespaces().get(pk=enqueue(CONDENSE, alice.scope.namespace_id, "s1"))

    for attempt in range(1, ATTEMPTS + 1):
        victim = worker_of(cluster, endpoint)
        job.refresh_from_db()
        assert (job.state, job.attempts) == (JobState.RUNNING, attempt)
        victim.kill()
        cluster.start_again()

    def given_up() -> bool:
        job.refresh_from_db()
        return job.state == JobState.FAILED

    wait_for(given_up, what="the job failed after its last attempt")
    assert (job.attempts, job.error_type) == (ATTEMPTS, "WorkerLost")
    assert job.arguments == [alice.scope.namespace_id, "s1"]
    assert not Condensation.objects.across_namespaces().exists()

    may_answer.set()
    manage.replay(system_access("tests"), job_id=job.pk, now=timezone.now())

    def done() -> bool:
        job.refresh_from_db()
        return job.state == JobState.DONE

    wait_for(done, what="the replayed job done")
    assert job.attempts == 1
    assert Condensation.objects.across_namespaces().get().method == "extractive"
