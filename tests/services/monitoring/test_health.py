"""The checks of the health report, and their results."""

from __future__ import annotations

import re
from datetime import timedelta
from unittest import mock

import redis
from django.db import InterfaceError, connection
from django.utils import timezone
from django_q.status import Stat

from memory.models import Job
from memory.services.index.embedding_model import active_model
from memory.services.jobs.queue import CONDENSE, EMBED_PENDING, ERASE, enqueue
from memory.services.monitoring import health
from memory.stores import redis as redis_store
from tests.job_queue import queued_jobs, run_task


def test_all_is_well(db):
    active_model()
    with mock.patch.object(Stat, "get_all", return_value=[object()]):
        assert health.report().status == "ok"


def test_an_erasure_that_is_not_begun_in_time_degrades_it(alice):
    active_model()
    enqueue(ERASE, alice.scope.namespace_id, "01a1ff34-7763-766b-b782-f4e905b1dc9f")
    Job.objects.across_namespaces().update(queued_at=timezone.now() - timedelta(seconds=75))
    with mock.patch.object(Stat, "get_all", return_value=[object()]):
        report = health.report()
        values = {name: value for name, (_, value) in health.gauges().items()}
    assert report.status == "degraded"
    assert re.fullmatch(r"interactive jobs wait for \d+ s, more than 2 s", report.checks["queue"])
    assert values["memos_queue_up"] == 0
    assert values["memos_jobs_oldest_seconds_interactive"] >= 75
    assert values["memos_jobs_oldest_seconds_bulk"] == 0


def test_a_connection_that_broke_is_a_database_that_does_not_answer(db):
    with mock.patch.object(connection, "cursor", side_effect=InterfaceError("closed")):
        report = health.report()
    assert report.status == "unavailable"
    assert set(report.checks) == {"database", "redis"}


def test_the_gauges_of_a_server_without_database_are_its_checks(db):
    with mock.patch.object(connection, "cursor", side_effect=InterfaceError("closed")):
        values = health.gauges()
    assert {name: value for name, (_, value) in values.items()} == {"memos_database_up": 0.0, "memos_redis_up": 1.0}


def test_gauges_count_what_is_there(alice, remember):
    for _ in range(3):
        remember(alice, "hello")
    enqueue(CONDENSE, alice.scope.namespace_id, "s1")
    enqueue(EMBED_PENDING)
    values = {name: value for name, (_, value) in health.gauges().items()}
    assert (values["memos_memories"], values["memos_queue_queued"]) == (3, queued_jobs().count()) == (3, 2)


def test_gauges_count_the_turns_that_wait(alice, remember):
    remember(alice, "The kiln fires at 1,240 degrees.")
    assert health.gauges()["memos_turns_waiting"][1] == 1
    run_task("index_entities")
    run_task("settle_memories")
    assert health.gauges()["memos_turns_waiting"][1] == 0


def test_with_redis_away_gauges_are_counted_all_the_same(alice, remember):
    remember(alice, "hello")
    with mock.patch.object(redis_store, "get_redis_connection", side_effect=redis.ConnectionError("away")):
        values = health.gauges()
    assert values["memos_redis_up"][1] == 0
    assert values["memos_memories"][1] == 1
