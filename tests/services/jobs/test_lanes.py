"""A cluster takes the jobs of its priority only, and a namespace with thousands of them delays no other's first."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from django.utils import timezone
from django_q.models import OrmQ

from memory.enums import JobPriority, JobState
from memory.models import Job
from memory.models.keys import new_id
from memory.services.jobs import manage
from memory.services.jobs.broker import FairBroker
from memory.services.jobs.lanes import CLOCK_KEY, CLUSTERS, Lane, key_of
from memory.services.jobs.queue import CONDENSE, ERASE, IMPORT, SETTLE, TRAIN_ADAPTER, Kind, enqueue
from tests.job_queue import make_due, work_off

pytestmark = pytest.mark.django_db


def fill(namespace_id: int, count: int, priority: JobPriority = JobPriority.NORMAL) -> None:
    """So many messages of the namespace, that are due."""
    key, lock = key_of(priority, namespace_id), timezone.now() - timedelta(hours=1)
    OrmQ.objects.bulk_create([OrmQ(key=key, payload=key, lock=lock) for _ in range(count)], batch_size=2_000)


def take(broker: FairBroker, count: int) -> list[str]:
    """The keys of the next messages, which are done at once."""
    keys = []
    for _ in range(count):
        [(message_id, _)] = broker.dequeue() or []
        keys.append(OrmQ.objects.get(pk=message_id).key)
        broker.acknowledge(message_id)
    return keys


def test_ten_thousand_jobs_of_one_namespace_delay_anothers_first_by_one():
    fill(1, 10_000)
    broker = FairBroker()
    assert set(take(broker, 5)) == {key_of(JobPriority.NORMAL, 1)}

    fill(2, 1)
    assert key_of(JobPriority.NORMAL, 2) in take(broker, 2)


def test_the_same_whichever_namespace_is_the_older_one_and_for_a_worker_that_has_just_started():
    fill(7, 10_000)
    fill(3, 2)
    first, second, third, fourth = take(FairBroker(), 4)
    assert [first, third, fourth] == [key_of(JobPriority.NORMAL, number) for number in (3, 3, 7)]
    assert second == key_of(JobPriority.NORMAL, 7)


def test_namespaces_take_turns_with_what_has_waited_longest_of_each():
    for namespace_id in (1, 2, 3):
        fill(namespace_id, 4)
    taken = take(FairBroker(), 12)
    for start in range(0, 12, 3):
        assert sorted(taken[start : start + 3]) == [key_of(JobPriority.NORMAL, number) for number in (1, 2, 3)]


def test_a_cluster_takes_the_jobs_of_its_priority_whatever_else_waits():
    for priority in JobPriority:
        fill(1, 3, priority)
    for priority in JobPriority:
        assert take(FairBroker(CLUSTERS[priority]), 3) == [key_of(priority, 1)] * 3
    assert not OrmQ.objects.exists()


def test_the_clock_and_the_short_jobs_take_turns():
    fill(1, 4)
    runs = [OrmQ(key=CLOCK_KEY, payload="", lock=timezone.now() - timedelta(hours=1)) for _ in range(4)]
    OrmQ.objects.bulk_create(runs)
    assert take(FairBroker(), 8) == [CLOCK_KEY, key_of(JobPriority.NORMAL, 1)] * 4


def test_a_lane_without_messages_leaves_its_turn_to_the_other():
    fill(1, 12)
    assert take(FairBroker(), 12) == [key_of(JobPriority.NORMAL, 1)] * 12


def test_messages_that_wait_for_another_attempt_stop_nobody():
    fill(1, 3_000)
    OrmQ.objects.update(lock=timezone.now() + timedelta(hours=1))
    fill(2, 1)
    broker = FairBroker()
    assert take(broker, 1) == [key_of(JobPriority.NORMAL, 2)]
    assert broker.dequeue() is None
    assert (broker.queue_size(), broker.lock_size()) == (0, 3_000)


def test_a_message_is_given_out_once_until_it_is_due_again():
    fill(1, 1)
    one, other = FairBroker(), FairBroker()
    [(message_id, _)] = one.dequeue() or []
    assert other.dequeue() is None
    make_due()
    assert [found for found, _ in other.dequeue() or []] == [message_id]


def test_what_an_older_version_queued_is_worked_off(alice):
    """It had the clock's lane alone, and later other priorities for some kinds."""
    owner = alice.scope.namespace_id
    oldest = enqueue(CONDENSE, owner, "s1")
    OrmQ.objects.update(key=CLOCK_KEY)
    for kind, priority, subject in (
        (SETTLE, JobPriority.INTERACTIVE, str(new_id())),
        (TRAIN_ADAPTER, JobPriority.NORMAL, str(new_id())),
        (CONDENSE, JobPriority.BULK, "s2"),
    ):
        enqueue(replace(kind, priority=priority), owner, subject)
    assert enqueue(CONDENSE, owner, "s1") == oldest
    assert work_off() == 4
    assert set(Job.objects.across_namespaces().values_list("state", flat=True)) == {JobState.DONE}


def test_a_job_waits_in_the_lane_of_its_priority(alice):
    owner = alice.scope.namespace_id
    for kind, lane, arguments in (
        (ERASE, Lane.INTERACTIVE, (owner, str(new_id()))),
        (CONDENSE, Lane.NORMAL, (owner, "s1")),
        (IMPORT, Lane.BULK, (owner, str(new_id()))),
        (TRAIN_ADAPTER, Lane.BULK, (owner, str(new_id()))),
    ):
        job = Job.objects.across_namespaces().get(pk=enqueue(kind, *arguments))
        message = OrmQ.objects.get(pk=job.queue_message_id)
        assert message.key == f"memos:{lane.value}:{owner:019d}"
        assert job.priority == kind.priority


def test_summaries_are_long_work_where_a_language_model_writes_them(alice, settings):
    enqueue(CONDENSE, alice.scope.namespace_id, "by rules")
    settings.MEMOS_LLM_ENABLED = True
    enqueue(CONDENSE, alice.scope.namespace_id, "by a model")
    jobs = {job.arguments[1]: job.priority for job in Job.objects.across_namespaces()}
    assert jobs == {"by rules": JobPriority.NORMAL, "by a model": JobPriority.BULK}
    assert work_off() == 2


def test_a_job_keeps_its_priority_from_one_attempt_to_the_next(db):
    kind = Kind("embed_pending", of_namespace=False, once=False, priority=JobPriority.BULK)
    job = Job.objects.across_namespaces().get(pk=enqueue(kind))
    OrmQ.objects.all().delete()

    assert manage.recover(now=timezone.now()) == 1
    job.refresh_from_db()
    assert job.priority == JobPriority.BULK
    assert OrmQ.objects.get(pk=job.queue_message_id).key == key_of(JobPriority.BULK, 0)
