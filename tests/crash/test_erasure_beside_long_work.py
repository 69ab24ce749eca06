"""Erasures run while the workers of short and of long jobs are blocked; health reports if none runs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime

import pytest
from django.db import connection
from django.utils import timezone

from memory.enums import ErasureStatus, JobPriority, JobState
from memory.models import Erasure, Job, Memory
from memory.services.erasure import requests
from memory.services.erasure.requests import Target
from memory.services.ingestion.ingest import ingest
from memory.services.jobs.queue import EMBED_PENDING, Kind, enqueue
from memory.services.jobs.waiting import BEGUN_WITHIN, describe_overdue
from memory.types import NewMemory
from tests.crash.cluster import Cluster
from tests.crash.server import wait_for

pytestmark = pytest.mark.django_db(transaction=True)
_HELD = 3_700


def wait_for_the_test(namespace_id: int, number: int, *, now: datetime) -> None:
    """Wait for the test, then end."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock_shared(%s), pg_advisory_unlock_shared(%s)", [_HELD, _HELD])


KIND = Kind(f"{__name__}.{wait_for_the_test.__name__}")


@contextmanager
def held_workers(namespace_id: int) -> Iterator[list[Job]]:
    """Queue jobs that occupy the workers of the short and of the long jobs until the end, and more jobs behind them."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(%s)", [_HELD])
        try:
            kinds = [replace(KIND, priority=priority) for priority in (JobPriority.NORMAL, JobPriority.BULK)]
            ids = [[enqueue(kind, namespace_id, number, seconds=600) for number in range(3)] for kind in kinds]
            yield [Job.objects.across_namespaces().get(pk=first) for first, *_ in ids]
        finally:
            cursor.execute("SELECT pg_advisory_unlock(%s)", [_HELD])


@contextmanager
def running(cluster: Cluster) -> Iterator[None]:
    try:
        yield
    finally:
        cluster.stop()


def states(jobs: list[Job]) -> list[str]:
    for each in jobs:
        each.refresh_from_db()
    return [each.state for each in jobs]


def test_an_erasure_is_finished_while_the_workers_of_other_jobs_are_held(alice, tmp_path):
    memory = NewMemory(session="s1", role="user", text="My passport number is 533380006.")
    ingest(alice.scope, memory=memory, now=timezone.now())
    with running(Cluster(tmp_path / "cluster.log")), held_workers(alice.scope.namespace_id) as jobs:
        wait_for(lambda: states(jobs) == [JobState.RUNNING] * 2, what="both workers held")

        asked = requests.request(alice.scope, target=Target(session="s1"), reason="test", now=timezone.now())

        finished = Erasure.objects.in_scope(alice.scope).filter(pk=asked.pk, status=ErasureStatus.FINISHED)
        wait_for(finished.exists, what="the erasure's end")
        assert states(jobs) == [JobState.RUNNING] * 2
        assert not Memory.objects.in_scope(alice.scope).exists()


def test_health_says_that_erasures_wait_until_their_worker_is_there(alice, tmp_path):
    first, second = (tmp_path / f"{name}.log" for name in ("normal", "interactive"))
    asked = requests.request(alice.scope, target=Target(session="s1"), reason="test", now=timezone.now())
    other = Job.objects.across_namespaces().get(pk=enqueue(EMBED_PENDING))
    finished = Erasure.objects.in_scope(alice.scope).filter(pk=asked.pk, status=ErasureStatus.FINISHED)
    with running(Cluster(first, arguments=("--name", "normal"))):
        wait_for(lambda: states([other]) == [JobState.DONE], what="the end of a short job")
        later = timezone.now() + BEGUN_WITHIN[JobPriority.INTERACTIVE]
        assert re.fullmatch(r"interactive jobs wait for \d+ s, more than 2 s", describe_overdue(now=later))
        with running(Cluster(second, arguments=("--name", "interactive"))):
            wait_for(finished.exists, what="the erasure's end")
            assert describe_overdue(now=later) == ""
