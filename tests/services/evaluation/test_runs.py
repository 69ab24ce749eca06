"""Only one of several equal evaluations is queued or running at a time, even with concurrent requests."""

from __future__ import annotations

import threading

import pytest
from django.db import connection
from django.utils import timezone

from memory.enums import EvaluationStatus
from memory.errors import Conflict
from memory.models import EvaluationRun, Job
from memory.services.evaluation import runs
from memory.services.evaluation.runs import Options
from memory.services.jobs import manage
from memory.types import system_access
from tests.job_queue import queued_jobs

STAFF = system_access("tests")


def request(scope) -> EvaluationRun:
    return runs.request(STAFF, scope=scope, dataset="", options=Options(), label="", now=timezone.now())


def create(scope, **fields) -> EvaluationRun:
    run = runs.create(scope, dataset="", options=Options(), label="", actor="tests", now=timezone.now())
    EvaluationRun.objects.across_namespaces().filter(pk=run.pk).update(**fields)
    return run


@pytest.mark.django_db(transaction=True)
def test_of_many_equal_requests_in_one_instant_one_is_queued(alice, bob):
    start, made, refused = threading.Barrier(8), [], []

    def ask() -> None:
        start.wait(10)
        try:
            made.append(request(alice.scope))
        except Conflict as error:
            refused.append(error.detail["id"])
        finally:
            connection.close()

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    (run,) = made
    assert refused == [str(run.pk)] * 7
    assert (
        EvaluationRun.objects.across_namespaces().count()
        == Job.objects.across_namespaces().count()
        == queued_jobs().count()
        == 1
    )
    assert request(bob.scope).status == EvaluationStatus.QUEUED


def test_a_run_that_is_over_is_in_nobodys_way(alice):
    for status in (EvaluationStatus.FINISHED, EvaluationStatus.FAILED):
        create(alice.scope, status=status)
    assert request(alice.scope).status == EvaluationStatus.QUEUED


def test_a_run_whose_process_was_killed_is_failed_by_the_next_request(alice):
    lost = create(alice.scope, status=EvaluationStatus.RUNNING)

    run = request(alice.scope)
    lost.refresh_from_db()
    assert (lost.status, run.status) == (EvaluationStatus.FAILED, EvaluationStatus.QUEUED)
    assert "has ended" in lost.error


def test_a_run_whose_job_was_discarded_is_failed(alice):
    run = request(alice.scope)
    assert runs.fail_lost(now=timezone.now()) == 0
    manage.discard(
        STAFF, job_id=Job.objects.across_namespaces().get().pk, reason="changed our mind", now=timezone.now()
    )

    assert runs.fail_lost(now=timezone.now()) == 1
    run.refresh_from_db()
    assert (run.status, run.error) == (EvaluationStatus.FAILED, "Its job was discarded. Start it again.")
