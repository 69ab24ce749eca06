"""Queueing: a job is created and removed in the transaction that requests it, and nothing is queued twice."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
from django.db import connection, transaction

from memory.enums import JobState
from memory.models import Job
from memory.schedules import SCHEDULES
from memory.services.jobs import queue
from memory.services.jobs.queue import CONDENSE, EMBED_PENDING, Kind, enqueue, enqueue_each
from memory.services.jobs.registry import find_task, load_tasks
from memory.services.summaries import condense
from tests.job_queue import work_off


def states() -> list[tuple[str, int]]:
    return list(Job.objects.across_namespaces().order_by("pk").values_list("state", "attempts"))


def test_what_can_be_queued_is_carried_out_as_a_job():
    kinds = [value for value in vars(queue).values() if isinstance(value, Kind) and "." not in value.name]

    assert len(kinds) > 15
    assert all(callable(find_task(kind.name)) for kind in kinds)


def test_what_runs_by_the_clock_is_a_task_and_no_task_is_left_over():
    kinds = {value.name for value in vars(queue).values() if isinstance(value, Kind) and "." not in value.name}
    assert {*kinds, *(entry.task for entry in SCHEDULES)} == set(load_tasks())


def test_a_job_names_its_namespace_and_subject(alice):
    job = Job.objects.across_namespaces().get(pk=enqueue(CONDENSE, alice.scope.namespace_id, "s1", seconds=30))

    assert (job.namespace_id, job.kind, job.arguments) == (
        alice.scope.namespace_id, "condense_session", [alice.scope.namespace_id, "s1"],
    )  # fmt: skip
    assert (job.state, job.attempts, job.seconds, job.started_at) == ("queued", 0, 30, None)


def test_a_job_is_rolled_back_with_the_change_that_asks(alice):
    with transaction.atomic():
        enqueue(EMBED_PENDING)
        transaction.set_rollback(True)

    assert not Job.objects.across_namespaces().exists()


def test_what_waits_is_not_queued_again(alice, bob):
    first = enqueue(CONDENSE, alice.scope.namespace_id, "s1")

    assert enqueue(CONDENSE, alice.scope.namespace_id, "s1") == first
    others = [
        enqueue(CONDENSE, alice.scope.namespace_id, "s2"),
        enqueue(CONDENSE, bob.scope.namespace_id, "s1"),
        enqueue(EMBED_PENDING),
    ]
    assert len({first, *others}) == Job.objects.across_namespaces().count() == 4
    assert work_off() == 4
    assert enqueue(CONDENSE, alice.scope.namespace_id, "s1") != first


def test_several_are_queued_at_once_each_as_it_would_be_alone(alice):
    number = alice.scope.namespace_id
    running, waiting = enqueue(CONDENSE, number, "runs"), enqueue(CONDENSE, number, "waits")
    Job.objects.across_namespaces().filter(pk=running).update(state=JobState.RUNNING)
    sessions = ["new 2", "waits", "runs", "new é\u2028"]

    ids = enqueue_each(CONDENSE, [(number, session) for session in sessions])

    assert ids[1:3] == [waiting, running]
    jobs = {str(job.pk): job for job in Job.objects.across_namespaces()}
    assert [jobs[one].arguments for one in ids] == [[number, session] for session in sessions]
    assert [(jobs[one].state, jobs[one].again) for one in ids] == [
        ("queued", False), ("queued", False), ("running", True), ("queued", False),
    ]  # fmt: skip
    assert len(jobs) == 4


def test_a_kind_may_be_queued_as_often_as_it_is_asked_for(db):
    kind = Kind("embed_pending", of_namespace=False, once=False)

    assert enqueue(kind) != enqueue(kind)
    assert Job.objects.across_namespaces().count() == 2


def test_what_is_asked_for_while_it_runs_is_done_in_another_run(alice, monkeypatch):
    """The first run may already have passed the subject of the second request."""
    arguments = (alice.scope.namespace_id, "s1")
    asked: list[str] = []

    def asked_meanwhile(*_, **__):
        if len(asked) < 2:
            asked.append(enqueue(CONDENSE, *arguments))
        return []

    monkeypatch.setattr(condense, "condense_session", asked_meanwhile)
    first = enqueue(CONDENSE, *arguments)

    assert work_off() == 3
    assert asked[0] == first != asked[1]
    assert states() == [("done", 1)] * 3


@pytest.mark.django_db(transaction=True)
def test_of_many_who_ask_at_once_one_queues(alice):
    start = threading.Barrier(8)
    ids: list[str] = []

    def ask() -> None:
        try:
            start.wait(10)
            with transaction.atomic():
                ids.append(enqueue(CONDENSE, alice.scope.namespace_id, "s1"))
        finally:
            connection.close()

    together(8, ask)

    assert len(ids) == 8
    assert len(set(ids)) == Job.objects.across_namespaces().count() == 1


@pytest.mark.django_db(transaction=True)
def test_a_request_whose_transaction_is_still_open_when_the_job_ends_is_not_lost(alice, monkeypatch):
    """The end of the run waits for the transaction, and so queues another run."""
    arguments = (alice.scope.namespace_id, "s1")
    asked, let_commit = threading.Event(), threading.Event()

    def ask() -> None:
        try:
            with transaction.atomic():
                enqueue(CONDENSE, *arguments)
                asked.set()
                let_commit.wait(10)
        finally:
            connection.close()

    asker = threading.Thread(target=ask)

    def ends_while_someone_asks(*_, **__):
        if not asked.is_set():
            asker.start()
            assert asked.wait(10)
            threading.Timer(0.3, let_commit.set).start()
        return []

    monkeypatch.setattr(condense, "condense_session", ends_while_someone_asks)
    enqueue(CONDENSE, *arguments)

    assert work_off() == 2
    asker.join()
    assert states() == [("done", 1)] * 2


def together(count: int, call: Callable[[], object]) -> None:
    threads = [threading.Thread(target=call) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
