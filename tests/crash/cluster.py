"""Workers of a real cluster on the tests' database, which a test kills while they carry out a job."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import psutil
from django.db import connection
from django.utils import timezone

from memory.enums import JobState
from memory.models import Job
from tests.crash.server import wait_for
from tests.providers.endpoint import Endpoint, serving

ROOT = Path(__file__).resolve().parents[2]
ATTEMPTS = 2


class Cluster:
    """`manage.py qcluster` on the tests' database, with other settings (`environment`) and perhaps a language model."""

    def __init__(
        self, log: Path, *, model: Endpoint | None = None, arguments: Sequence[str] = (), **environment: str
    ) -> None:
        base, _, query = os.environ["DATABASE_URL"].partition("?")
        database = base.rpartition("/")[0] + f"/{connection.settings_dict['NAME']}" + (f"?{query}" if query else "")
        settings = {
            "DATABASE_URL": database,
            "MEMOS_JOB_WORKERS": "1",
            "MEMOS_JOB_TIMEOUT_SECONDS": "60",
            "DJANGO_SETTINGS_MODULE": "tests.crash.settings",
            "CRASH_JOB_ATTEMPTS": str(ATTEMPTS),
        }
        if model is not None:
            settings |= {
                "MEMOS_LLM_ENABLED": "1",
                "MEMOS_LLM_API_KEY": "any",
                "MEMOS_LLM_BASE_URL": model.url,
                "MEMOS_LLM_TIMEOUT_SECONDS": "20",
            }
        self._log = log.open("wb")
        self._environment = {**os.environ, **settings, **environment}
        self._arguments = arguments
        self.process = self._started()

    def start_again(self) -> None:
        """Start the worker again as its supervisor does. Fails if the former one does not end.

        The jobs of the former worker become due at once, as after a missed heartbeat.
        """
        self.process.wait(20)
        lost = timezone.now() - timedelta(hours=1)
        Job.objects.across_namespaces().filter(state=JobState.RUNNING).update(heartbeat_at=lost, due_at=lost)
        self.process = self._started()

    def _started(self) -> psutil.Popen:
        return psutil.Popen(
            [sys.executable, "manage.py", "qcluster", *self._arguments],
            cwd=ROOT,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=self._log,
        )

    def kill(self) -> None:
        """Kill the whole cluster with SIGKILL, so that no process takes over."""
        _kill(self._everyone())

    def stop(self) -> None:
        everyone = self._everyone()
        with suppress(psutil.NoSuchProcess):
            self.process.terminate()
        _, alive = psutil.wait_procs(everyone, timeout=15)
        _kill(alive)
        self._log.close()

    def _everyone(self) -> list[psutil.Process]:
        try:
            return [self.process, *self.process.children(recursive=True)]
        except psutil.NoSuchProcess:
            return []


def _kill(processes: list[psutil.Process]) -> None:
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.kill()
    psutil.wait_procs(processes, timeout=10)


@contextmanager
def waiting_model() -> Iterator[tuple[Endpoint, threading.Event]]:
    """Start a language model that makes everyone wait until the event is set, and then answers nonsense."""
    may_answer = threading.Event()

    def answer(_: dict[str, Any]) -> tuple[int, Any]:
        while not may_answer.wait(0.05) and not endpoint.closing.is_set():
            pass
        return 200, {"choices": []}

    with serving(answer) as endpoint:
        yield endpoint, may_answer


def worker_of(cluster: Cluster, endpoint: Endpoint) -> psutil.Process:
    """Return the process that is waiting for the language model."""
    port = int(endpoint.url.split(":")[2].split("/")[0])

    def asking() -> psutil.Process | None:
        for process in cluster.process.children(recursive=True):
            # A process that has ended since it was listed makes no more requests.
            with suppress(psutil.NoSuchProcess):
                if any(link.raddr and link.raddr.port == port for link in process.net_connections("tcp")):
                    return process
        return None

    return wait_for(asking, what="a worker that asks the language model")
