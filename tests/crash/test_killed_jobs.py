"""kill -9 of the process that carries a job out, in a real cluster: the job goes on, or is failed with its input."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from django.db import connection
from django.utils import timezone

from memory.enums import JobState
from memory.models import Condensation, Job
from memory.services import jobs
from memory.services.ingest import ingest
from memory.services.queue import CONDENSE, enqueue
from memory.types import NewMemory, system_access
from tests.crash.server import wait_for
from tests.providers.endpoint import Endpoint, serving

pytestmark = pytest.mark.django_db(transaction=True)
ROOT = Path(__file__).resolve().parents[2]
ATTEMPTS = 2


class Cluster:
    """`manage.py qcluster` on the tests' database, whose language model answers when `may_answer` is set."""

    def __init__(self, endpoint: Endpoint, log: Path) -> None:
        base, _, query = os.environ["DATABASE_URL"].partition("?")
        database = base.rpartition("/")[0] + f"/{connection.settings_dict['NAME']}" + (f"?{query}" if query else "")
        settings = {
            "DATABASE_URL": database,
            "MEMOS_JOB_WORKERS": "1",
            "MEMOS_JOB_TIMEOUT_SECONDS": "4",
            "MEMOS_JOB_RETRY_SECONDS": "6",
            "MEMOS_JOB_ATTEMPTS": str(ATTEMPTS),
            "MEMOS_LLM_ENABLED": "1",
            "MEMOS_LLM_API_KEY": "any",
            "MEMOS_LLM_BASE_URL": endpoint.url,
            "MEMOS_LLM_TIMEOUT_SECONDS": "2",
        }
        self._log = log.open("wb")
        self.process = psutil.Popen(
            [sys.executable, "manage.py", "qcluster"],
            cwd=ROOT,
            env={**os.environ, **settings},
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=self._log,
        )

    def stop(self) -> None:
        self.process.terminate()
        _, alive = psutil.wait_procs([self.process, *self.process.children(recursive=True)], timeout=15)
        for process in alive:
            process.kill()
        psutil.wait_procs(alive)
        self._log.close()


@pytest.fixture
def model() -> Iterator[tuple[Endpoint, threading.Event]]:
    """A language model that keeps everyone waiting until the event is set; then it answers nonsense."""
    may_answer = threading.Event()

    def answer(_: dict[str, Any]) -> tuple[int, Any]:
        while not may_answer.wait(0.05) and not endpoint.closing.is_set():
            pass
        return 200, {"choices": []}

    with serving(answer) as endpoint:
        yield endpoint, may_answer


@pytest.fixture
def cluster(model: tuple[Endpoint, threading.Event], tmp_path: Path) -> Iterator[Cluster]:
    running = Cluster(model[0], tmp_path / "cluster.log")
    yield running
    running.stop()


def worker_of(cluster: Cluster, endpoint: Endpoint) -> psutil.Process:
    """The process that waits for the language model."""
    port = int(endpoint.url.split(":")[2].split("/")[0])

    def asking() -> psutil.Process | None:
        for process in cluster.process.children(recursive=True):
            if any(link.raddr and link.raddr.port == port for link in process.net_connections("tcp")):
                return process
        return None

    return wait_for(asking, what="a worker that asks the language model")


def test_a_job_that_is_killed_each_time_is_failed_with_its_input_and_can_be_replayed(alice, cluster, model):
    endpoint, may_answer = model
    for number in range(6):
        memory = NewMemory(session="s1", role="user", text=f"Crate {number} stands in hall {number}.")
        ingest(alice.scope, memory=memory, now=timezone.now())
    job = Job.objects.get(pk=enqueue(CONDENSE, alice.scope.namespace_id, "s1"))

    for attempt in range(1, ATTEMPTS + 1):
        victim = worker_of(cluster, endpoint)
        job.refresh_from_db()
        assert (job.state, job.attempts) == (JobState.RUNNING, attempt)
        victim.kill()
        victim.wait(10)

    def given_up() -> bool:
        job.refresh_from_db()
        return job.state == JobState.FAILED

    wait_for(given_up, what="the job failed after its last attempt")
    assert (job.attempts, job.error_type) == (ATTEMPTS, "WorkerLost")
    assert job.arguments == [alice.scope.namespace_id, "s1"]
    assert not Condensation.objects.exists()

    may_answer.set()
    jobs.replay(system_access("tests"), job_id=job.pk, now=timezone.now())

    def done() -> bool:
        job.refresh_from_db()
        return job.state == JobState.DONE

    wait_for(done, what="the replayed job done")
    assert job.attempts == 1
    assert Condensation.objects.get().method == "extractive"
