"""Of equal evaluations one is queued or running at a time, whoever asks in whatever instant."""

from __future__ import annotations

import threading

import pytest
from django.core.management import call_command
from django.db import connection
from django.utils import timezone
from django_q.models import OrmQ

from memory.enums import EvaluationStatus
from memory.errors import Conflict
from memory.models import EvaluationRun, Job
from memory.models.keys import new_id
from memory.services.evaluation import runs
from memory.services.evaluation.runs import Options
from memory.services.jobs import manage
from memory.types import system_access

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
        == OrmQ.objects.count()
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


@pytest.mark.django_db(transaction=True)
@pytest.mark.whole_tables("goes back to migrations that come before the tables are split")
def test_of_those_that_were_queued_side_by_side_before_one_survives_the_migration():
    call_command("migrate", "memory", "0010", verbosity=0)
    ids = {}
    with connection.cursor() as cursor:
        for number, (namespace_id, dataset, status) in enumerate(
            [
                *((0, "pottery", "queued"), (0, "pottery", "queued"), (0, "pottery", "running")),
                *((0, "weaving", "queued"), (0, "weaving", "queued"), (0, "weaving", "finished")),
                *((1, "", "queued"), (2, "", "queued")),
            ]
        ):
            ids[new_id()] = number
            cursor.execute(
                "INSERT INTO memory_evaluationrun (id, namespace_id, namespace, dataset, label, content_digest, "
                "options, configuration, metrics, notes, status, error, actor, created_at) "
                "VALUES (%s, %s, '', %s, '', '', '{}', '{}', '{}', '[]', %s, '', 'tests', now())",
                [list(ids)[number], namespace_id, dataset, status],
            )
    call_command("migrate", verbosity=0)

    rows = EvaluationRun.objects.across_namespaces().values_list("pk", "status", "error")
    found = {ids[pk]: (status, bool(error)) for pk, status, error in rows}
    assert found == {
        0: ("failed", True), 1: ("failed", True), 2: ("running", False), 3: ("queued", False), 4: ("failed", True),
        5: ("finished", False), 6: ("queued", False), 7: ("queued", False),
    }  # fmt: skip
