"""The feed: in order and without a gap, whatever order changes commit in; waiting for it occupies nothing."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import psycopg
import pytest
from django.db import connection, transaction
from django.utils import timezone

from memory import audit
from memory.enums import AuditEvent, EventType
from memory.models import AuditLog
from memory.models.queries.webhooks import AFTER
from memory.services.webhooks import events, feed
from memory.services.webhooks.watch import wait_for_event
from memory.types import Scope

pytestmark = pytest.mark.django_db(transaction=True)


@contextmanager
def another_connection() -> Iterator[psycopg.Connection]:
    with closing(psycopg.connect(**connection.get_connection_params())) as one:
        yield one


# Hot routes write events this way.
INSERT = f"""{audit.APPEND_EVENTS}
VALUES (gen_random_uuid(), %(namespace_id)s, 'alice', 's1', 'INGEST', 'tests', %(subject)s, '{{}}', '', now())
"""
INSERT_MANY = f"""{audit.APPEND_EVENTS}
SELECT gen_random_uuid(), %(namespace_id)s, 'bob', 's1', 'INGEST', 'tests', gen_random_uuid()::text, '{{}}', '', now()
FROM generate_series(1, %(count)s)
"""


def append(one: psycopg.Connection, scope: Scope, subject: str) -> None:
    one.execute(INSERT, {"namespace_id": scope.namespace_id, "subject": subject})


def a_subject(number: int) -> str:
    return f"00000000-0000-4000-8000-{number:012d}"


def follow(alice: Any, cursor: str, **query: str) -> tuple[list[str], str]:
    """Return the memories of the changes after a cursor, and the next cursor."""
    answer = alice.get("/v1/changes", namespace="alice", cursor=cursor, **query)
    assert answer.status_code == 200, answer.content
    body = answer.json()
    return [one["data"]["memory_ids"][0] for one in body["changes"]], body["next_cursor"]


def test_what_commits_late_is_not_missed(alice):
    """The first of two transactions to begin commits last: a reader in between must still see its event later."""
    _, cursor = follow(alice, "now")
    with another_connection() as slow, another_connection() as quick:
        append(slow, alice.scope, a_subject(1))
        append(quick, alice.scope, a_subject(2))
        quick.commit()

        between, cursor = follow(alice, cursor)
        slow.commit()
        after, cursor = follow(alice, cursor)

    assert between == []
    assert after == [a_subject(1), a_subject(2)]
    assert follow(alice, cursor)[0] == []


def test_a_reader_beside_many_writers_sees_each_event_once(alice):
    """Transactions of all lengths overlap; the pages contain exactly what was written."""
    _, cursor = follow(alice, "now")
    writers, each = 4, 25
    failed: list[BaseException] = []

    def write(writer: int) -> None:
        try:
            with another_connection() as one:
                for number in range(each):
                    append(one, alice.scope, a_subject(writer * 1000 + number))
                    time.sleep(0.001 * (writer + number % 3))
                    one.rollback() if number % 10 == 9 else one.commit()
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=write, args=(writer,)) for writer in range(writers)]
    for thread in threads:
        thread.start()
    seen: list[str] = []
    while any(thread.is_alive() for thread in threads):
        found, cursor = follow(alice, cursor, limit="3")
        seen += found
    while found := follow(alice, cursor, limit="7"):
        seen += found[0]
        cursor = found[1]
        if not found[0]:
            break

    assert failed == []
    written = {a_subject(writer * 1000 + number) for writer in range(writers) for number in range(each)}
    rolled_back = {a_subject(writer * 1000 + number) for writer in range(writers) for number in (9, 19)}
    assert len(seen) == len(set(seen))
    assert set(seen) == written - rolled_back


def test_a_running_transaction_of_nobody_holds_back_and_loses_nothing(alice, remember):
    _, cursor = follow(alice, "now")
    with another_connection() as idle:
        idle.execute("SELECT pg_current_xact_id()")
        memory_id = remember(alice, "The ferry leaves at nine.")
        assert follow(alice, cursor)[0] == []
    assert follow(alice, cursor)[0] == [memory_id]


class TestTheRoute:
    def test_from_the_beginning_page_by_page(self, alice, remember):
        ids = [remember(alice, f"Turn {number}.") for number in range(5)]
        first = alice.get("/v1/changes", namespace="alice", limit="2").json()
        second = alice.get("/v1/changes", namespace="alice", limit="3", cursor=first["next_cursor"]).json()

        told = [one["data"]["memory_ids"] for one in first["changes"] + second["changes"]]
        assert told == [[identity] for identity in ids]
        assert (first["has_more"], second["has_more"]) == (True, True)
        last = alice.get("/v1/changes", namespace="alice", cursor=second["next_cursor"]).json()
        assert (last["changes"], last["has_more"]) == ([], False)

    def test_types_narrow_it(self, alice, remember):
        memory_id = remember(alice, "The ferry leaves at nine.")
        alice.client.delete(f"/v1/memories/{memory_id}?reason=over")

        body = alice.get("/v1/changes", namespace="alice", types="memory.archived, memory.restored").json()
        assert [one["type"] for one in body["changes"]] == ["memory.archived"]

    def test_refusals(self, alice, bob, make_tenant, olga):
        assert olga.get("/v1/changes?namespace=alice").status_code == 401
        assert make_tenant("w", scopes=("write", "admin")).get("/v1/changes", namespace="w").status_code == 403
        assert alice.get("/v1/changes", namespace="bob").status_code == 404
        assert alice.get("/v1/changes", namespace="nowhere").status_code == 404
        for query in (
            {"cursor": "x"},
            {"cursor": "f" * 16 + "-" + "0" * 32},
            {"types": "memory.read"},
            {"wait": "51"},
            {"wait": "-1"},
            {"limit": "0"},
        ):
            assert alice.get("/v1/changes", namespace="alice", **query).status_code == 400, query

    def test_a_cursor_from_before_an_older_backup_was_restored_is_refused(self, alice):
        ahead = feed.write_cursor((feed.horizon() + 1000, events.NO_ID))
        answer = alice.get("/v1/changes", namespace="alice", cursor=ahead)

        assert answer.status_code == 409
        assert "restored" in answer.json()["error"]["message"]

    def test_nothing_of_another_tenant(self, alice, bob, remember):
        remember(bob, "Bob's secret plan.")
        assert alice.get("/v1/changes", namespace="alice").json()["changes"] == []

    def test_what_is_read_is_no_change(self, alice, remember):
        remember(alice, "The ferry leaves at nine.")
        cursor = alice.get("/v1/changes", namespace="alice").json()["next_cursor"]
        alice.post("/v1/query", {"namespace": "alice", "session_id": "s1", "query": "ferry"})

        assert alice.get("/v1/changes", namespace="alice", cursor=cursor).json()["changes"] == []


class TestWaiting:
    def test_it_ends_with_the_next_event(self, alice, remember):
        cursor = alice.get("/v1/changes", namespace="alice", cursor="now").json()["next_cursor"]
        found: list[Any] = []

        def ask() -> None:
            found.append(alice.get("/v1/changes", namespace="alice", cursor=cursor, wait="30").json())
            connection.close()

        thread = threading.Thread(target=ask)
        thread.start()
        memory_id = remember(alice, "The ferry leaves at nine.")
        thread.join(25)

        assert [one["data"]["memory_ids"] for one in found[0]["changes"]] == [[memory_id]]

    def test_at_its_end_there_is_a_cursor_to_go_on_from(self, alice, remember):
        cursor = alice.get("/v1/changes", namespace="alice", cursor="now").json()["next_cursor"]
        body = alice.get("/v1/changes", namespace="alice", cursor=cursor, wait="1").json()
        memory_id = remember(alice, "The ferry leaves at nine.")

        assert body["changes"] == []
        assert follow(alice, body["next_cursor"])[0] == [memory_id]

    def test_who_waits_holds_no_connection(self, alice, bob):
        """Ten readers wait, and one connection of the process looks for all of them."""
        after = (feed.horizon(), events.NO_ID)
        before = connections_open()
        threads = [
            threading.Thread(
                target=wait_for_event, args=(alice.scope.namespace_id,), kwargs={"after": after, "seconds": 20}
            )
            for _ in range(10)
        ]
        for thread in threads:
            thread.start()
        time.sleep(1.2)
        during = connections_open()
        with another_connection() as one:
            append(one, alice.scope, a_subject(1))
            one.commit()
        for thread in threads:
            thread.join(15)

        assert during <= before + 1
        assert not any(thread.is_alive() for thread in threads)

    def test_events_of_others_wake_nobody(self, alice, bob, remember):
        after = (feed.horizon(), events.NO_ID)
        remember(bob, "Bob's secret plan.")

        assert wait_for_event(alice.scope.namespace_id, after=after, seconds=1.5) is False

    def test_a_key_has_so_many_waits_at_once(self, alice, settings):
        settings.MEMOS_STREAMS_PER_KEY = 0
        answer = alice.get("/v1/changes", namespace="alice", cursor="now", wait="5")

        assert answer.status_code == 503
        assert answer.json()["error"]["code"] == "too_many_streams"


def connections_open() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()")
        return int(cursor.fetchone()[0])


def test_every_type_is_made_of_some_audit_event():
    for one in EventType.values:
        assert events.sources([one]), one
    assert set(events.sources(())) <= set(AuditEvent.values)
    assert not {"QUERY", "CONTEXT_PACK"} & set(events.sources(()))


def test_the_feed_is_read_from_its_index(alice, bob, remember):
    """The namespace's events are among many others, since on a nearly empty table every index costs the same."""
    remember(alice, "The ferry leaves at nine.")
    # The events are below this horizon although the transaction that wrote them still runs.
    parameters = {
        "namespace_id": alice.scope.namespace_id, "xact": -1, "id": events.NO_ID, "horizon": feed.horizon() + 1_000_000,
        "sources": events.sources(()), "limit": 10,
    }  # fmt: skip
    with connection.cursor() as cursor:
        try:
            with transaction.atomic():
                cursor.execute(INSERT_MANY, {"namespace_id": bob.scope.namespace_id, "count": 20_000})
                cursor.execute("ANALYZE memory_auditlog")
                cursor.execute("EXPLAIN " + AFTER, parameters)
                plan = "\n".join(line for (line,) in cursor.fetchall())
                transaction.set_rollback(True)
        finally:
            # Row counts by ANALYZE are not rolled back.
            cursor.execute("VACUUM (ANALYZE) memory_auditlog")
    assert "Index Scan using audit_of_namespace on memory_auditlog" in plan, plan
    assert "Sort" not in plan, plan


def test_events_of_erasures_name_what_is_gone(alice, remember):
    from tests.job_queue import work_off

    ids = sorted(remember(alice, f"Turn {number}.") for number in range(3))
    alice.post("/v1/erasures", {"namespace": "alice", "memory_ids": ids, "reason": "asked for"})
    work_off()

    (event,) = alice.get("/v1/changes", namespace="alice", types="memory.erased").json()["changes"]
    assert event["data"]["memory_ids"] == ids
    assert (event["data"]["memories"], event["data"]["has_more_ids"]) == (3, False)


def test_a_failed_job_is_told_once(alice):
    from memory.models import Job
    from memory.services.jobs import runner

    job = Job.objects.create(namespace_id=alice.scope.namespace_id, kind="settle_memory", error_type="ValueError")
    runner.give_up(job, now=timezone.now())

    (event,) = alice.get("/v1/changes", namespace="alice", types="job.failed").json()["changes"]
    assert event["data"] == {"job_id": str(job.pk), "kind": "settle_memory", "error": "ValueError", "attempts": 0}
    assert AuditLog.objects.across_namespaces().filter(event_type="JOB_FAIL").count() == 1
