"""The audit chain: what it seals, what it does not wait for, and that it reveals every kind of tampering."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import DatabaseError, connection, connections, transaction

from memory import audit
from memory.errors import AuditBroken, Conflict
from memory.models import AuditLog, AuditSeal
from memory.models.locks import Lock, try_lock_in_transaction
from memory.services.audit import chain
from memory.services.audit.chain import recognise_cluster, seal
from memory.services.audit.verify import holds_at, verify
from memory.types import Scope
from tests.job_queue import run_task

pytestmark = pytest.mark.django_db(transaction=True)

NOW = datetime(2026, 5, 8, 12, tzinfo=UTC)
HERE = Scope(1, "harbour", "key:test")


@pytest.fixture(autouse=True)
def _small_seals(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(chain, "SEAL_ROWS", 4)
    yield
    # The tables outlive the test, and so would a default that a new era has set.
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE memory_auditlog ALTER COLUMN xact SET DEFAULT (pg_current_xact_id()::text::bigint)")


def happen(count: int, *, event: str = "MEMORY_EDIT") -> list[AuditLog]:
    """Record `count` events, each in a separate transaction."""
    return [audit.record(HERE, event, subject=str(n), details={"n": n, "字": "值"}, now=NOW) for n in range(count)]


def tamper(statement: str, *parameters: Any) -> None:
    """Tamper as the owner of the database can: without triggers."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        cursor.execute(statement, parameters)


def elsewhere(call: Callable[[], Any]) -> Any:
    """Run `call` on a separate connection."""

    def run() -> Any:
        try:
            return call()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(run).result(20)


@pytest.mark.parametrize("table", ["memory_auditlog", "memory_auditseal"])
@pytest.mark.parametrize("statement", ["UPDATE {} SET {} = {}", "DELETE FROM {}", "TRUNCATE {} CASCADE"])
def test_the_database_refuses_to_change_events_and_seals(table, statement):
    happen(1)
    seal(now=NOW)
    column = "actor" if table == "memory_auditlog" else "late"

    with pytest.raises(DatabaseError, match="append-only"), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(statement.format(table, column, column))

    assert AuditLog.objects.across_namespaces().count() == AuditSeal.objects.count() == 1


def test_every_event_is_sealed_once_and_the_seals_are_linked():
    events = happen(10)

    assert seal(now=NOW) == 10
    assert seal(now=NOW) == 0

    seals = list(AuditSeal.objects.order_by("number"))
    assert [(one.number, one.count, one.total) for one in seals] == [(1, 4, 4), (2, 4, 8), (3, 2, 10)]
    assert bytes(seals[0].previous) == chain.GENESIS
    assert [bytes(one.previous) for one in seals[1:]] == [bytes(one.hash) for one in seals[:-1]]
    assert [identity for one in seals for identity in chain.members(one)] == [event.pk for event in events]
    proof = verify()
    assert (proof.seals, proof.events, proof.waiting, proof.faults) == (3, 10, 0, [])
    assert proof.head == (3, bytes(seals[2].hash).hex())


def test_an_empty_log_holds():
    assert seal(now=NOW) == 0
    assert verify().faults == []
    assert verify().head is None


def test_an_open_transaction_is_waited_for_and_waits_for_nobody():
    inserted, go_on = threading.Event(), threading.Event()

    def slow() -> None:
        try:
            with transaction.atomic():
                happen(1, event="SLOW")
                inserted.set()
                assert go_on.wait(20)
        finally:
            connections.close_all()

    writer = threading.Thread(target=slow)
    writer.start()
    assert inserted.wait(20)
    happen(2)
    # The slow event has the lowest number: later events must wait for it, or it would appear inside a sealed range.
    assert seal(now=NOW) == 0
    assert verify().waiting == 2
    go_on.set()
    writer.join()

    assert seal(now=NOW) == 3
    first = AuditSeal.objects.get()
    assert AuditLog.objects.across_namespaces().get(pk=next(iter(chain.members(first)))).event_type == "SLOW"
    assert verify().faults == []


def test_a_writer_that_rolled_back_leaves_no_gap():
    happen(1)
    with transaction.atomic():
        happen(1)
        transaction.set_rollback(True)
    happen(1)

    assert seal(now=NOW) == 2
    assert verify().faults == []


def test_of_two_sealers_at_once_one_seals():
    happen(9)
    with transaction.atomic():
        assert try_lock_in_transaction(Lock.AUDIT_SEALS)
        assert elsewhere(lambda: seal(now=NOW)) == 0

    with ThreadPoolExecutor(4) as pool:
        sealed = list(pool.map(lambda _: elsewhere(lambda: seal(now=NOW)), range(4)))

    assert sum(sealed) + seal(now=NOW) == 9
    assert verify().faults == []
    assert verify().events == 9


class TestTampering:
    @pytest.fixture(autouse=True)
    def _sealed(self) -> None:
        self.events = happen(10)
        seal(now=NOW)

    def broken(self) -> Any:
        faults = verify().faults
        assert faults
        return faults[0]

    @pytest.mark.parametrize(
        "change",
        ["actor = 'key:other'", "details = '{\"n\": 4}'", "created_at = created_at + interval '1 microsecond'",
         "namespace_id = 2", "subject = subject || ' '", "request_id = 'r'", "event_type = 'X'", "session = 's'",
         "xact = xact + 1", "xact = 9000000000"],
    )  # fmt: skip
    def test_a_changed_event_is_named(self, change):
        tamper(f"UPDATE memory_auditlog SET {change} WHERE id = %s", self.events[5].pk)

        fault = self.broken()

        assert (fault.number, fault.changed, fault.missing, fault.added) == (2, [self.events[5].pk], [], [])
        assert fault.what == "of its 4 events 1 changed"
        with pytest.raises(AuditBroken, match="seal 2: of its 4 events 1 changed"):
            run_task("verify_audit")

    def test_a_missing_event_is_named(self):
        tamper("DELETE FROM memory_auditlog WHERE id = %s", self.events[9].pk)

        assert (self.broken().number, self.broken().missing) == (3, [self.events[9].pk])

    def test_an_event_that_was_slipped_in_is_named(self):
        forged = happen(1)[0]
        tamper(
            "UPDATE memory_auditlog SET xact = (SELECT xact FROM memory_auditlog WHERE id = %s) WHERE id = %s",
            self.events[6].pk,
            forged.pk,
        )
        # The event sorts after the one whose number it took, and is not sealed as a new one.
        assert seal(now=NOW) == 0
        assert (self.broken().number, self.broken().added) == (2, [forged.pk])

    def test_events_that_changed_places_show(self):
        first, second = self.events[0].pk, self.events[1].pk
        tamper(
            "UPDATE memory_auditlog a SET xact = b.xact FROM memory_auditlog b "
            "WHERE (a.id = %s AND b.id = %s) OR (a.id = %s AND b.id = %s)",
            first, second, second, first,
        )  # fmt: skip
        assert set(self.broken().changed) == {first, second}

    def test_a_missing_seal_shows(self):
        tamper("DELETE FROM memory_auditseal WHERE number = 2")

        assert (self.broken().number, self.broken().what) == (2, "seal 2 is missing")
        assert len(verify().faults) == 1

    @pytest.mark.parametrize("column", ["count = 5", "total = 5", "sealed_at = now()", "era = 2", "cluster = 'c'",
                                        "xact_offset = 7", "first_id = last_id"])  # fmt: skip
    def test_a_changed_seal_shows(self, column):
        tamper(f"UPDATE memory_auditseal SET {column} WHERE number = 2")

        assert (self.broken().number, self.broken().what) == (
            2,
            "its events are there, but the seal itself was changed",
        )

    def test_a_seal_that_was_made_anew_does_not_fit_the_next(self):
        tamper("UPDATE memory_auditlog SET actor = 'x' WHERE id = %s", self.events[1].pk)
        forged = AuditSeal.objects.get(number=1)
        digests = [row.digest for row in chain.rows_between(chain.BEFORE_ALL, chain._place(forged))]
        tamper("UPDATE memory_auditseal SET hash = %s WHERE number = 1", chain.seal_hash(forged, digests))

        assert (self.broken().number, self.broken().what) == (2, "it does not follow the seal before it")

    def test_a_chain_that_was_cut_off_and_made_anew_shows_by_what_was_noted(self):
        number, digest = verify().head
        tamper("DELETE FROM memory_auditseal WHERE number = 3")
        tamper("DELETE FROM memory_auditlog WHERE id = %s", self.events[9].pk)
        seal(now=NOW)

        assert verify().faults == []
        assert not holds_at(number, digest)
        out = StringIO()
        with pytest.raises(SystemExit):
            call_command("verify_audit", "--expect", f"{number}:{digest}", stdout=out)
        assert "cut off and made anew" in out.getvalue()

    def test_only_the_newest_can_be_looked_at(self):
        tamper("UPDATE memory_auditlog SET actor = 'x' WHERE id = %s", self.events[0].pk)

        assert verify(newest=2).faults == []
        assert (verify(newest=2).events, verify(newest=3).events) == (2, 6)
        assert len(verify(newest=100).faults) == 1


class TestAnotherCluster:
    """A restored dump: its events have numbers that the cluster is far from reaching."""

    def move(self, *, by: int = 1_000_000) -> None:
        tamper("UPDATE memory_auditseal SET cluster = '1', first_xact = first_xact + %s, last_xact = last_xact + %s",
               by, by)  # fmt: skip
        tamper("UPDATE memory_auditlog SET xact = xact + %s", by)
        previous = chain.GENESIS
        for one in AuditSeal.objects.order_by("number"):
            ids = list(chain.members(one))
            one.previous = previous
            rows = chain.list_rows(ids)
            previous = chain.seal_hash(one, [row.digest for row in rows])
            packed = b"".join(row.id.bytes + row.digest[:8] for row in rows)
            tamper("UPDATE memory_auditseal SET previous = %s, hash = %s, members = %s WHERE number = %s",
                   one.previous, previous, packed, one.number)  # fmt: skip

    def test_a_new_era_begins_and_new_events_come_after_the_old_ones(self):
        happen(6)
        seal(now=NOW)
        unsealed = happen(2)
        self.move()
        assert verify().faults == []

        assert recognise_cluster(now=NOW)
        assert not recognise_cluster(now=NOW)
        later = happen(3)

        assert seal(now=NOW) == 3
        assert verify().faults == []
        assert verify().events == 11
        seals = list(AuditSeal.objects.order_by("number"))
        assert [one.era for one in seals] == [1, 1, 2, 2]
        assert list(chain.members(seals[2])) == [event.pk for event in unsealed]
        assert list(chain.members(seals[3])) == [event.pk for event in later]

    def test_events_that_were_written_before_it_was_noticed_are_sealed_late(self):
        happen(6)
        seal(now=NOW)
        self.move()
        early = happen(5)
        assert verify().faults[0].added

        assert seal(now=NOW) == 5

        assert verify().faults == []
        assert verify().events == 11
        late = [one for one in AuditSeal.objects.order_by("number") if one.late]
        assert [identity for one in late for identity in chain.members(one)] == [event.pk for event in early]
        tamper("DELETE FROM memory_auditlog WHERE id = %s", early[4].pk)
        assert verify().faults[0].missing == [early[4].pk]

    def test_a_second_move_is_another_era(self):
        for _ in range(2):
            happen(3)
            seal(now=NOW)
            self.move()
            happen(1)
        seal(now=NOW)
        happen(1)

        assert seal(now=NOW) == 1
        assert verify().faults == []
        assert AuditSeal.objects.first().era == 3

    def test_an_empty_chain_on_another_cluster(self):
        happen(2)
        tamper("UPDATE memory_auditlog SET xact = xact + 1000000")

        seal(now=NOW)

        assert verify().events == 2
        happen(1)
        assert seal(now=NOW) == 1
        assert verify().faults == []

    def test_a_number_that_no_cluster_gives_is_named(self):
        happen(1)
        tamper("UPDATE memory_auditlog SET xact = %s", 2**61)

        with pytest.raises(Conflict, match="never gave"):
            seal(now=NOW)


def test_events_from_before_the_chain_are_sealed_in_the_order_of_their_ids():
    events = happen(5)
    tamper("UPDATE memory_auditlog SET xact = 0")

    seal(now=NOW)

    sealed = [identity for one in AuditSeal.objects.order_by("number") for identity in chain.members(one)]
    assert sealed == sorted(event.pk for event in events)
    assert verify().faults == []


def test_the_digest_does_not_depend_on_the_sessions_settings():
    events = happen(3)

    def digests() -> list[bytes]:
        return [row.digest for row in chain.list_rows([event.pk for event in events])]

    plain = digests()
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL TimeZone = 'Asia/Shanghai'")
        cursor.execute("SET LOCAL DateStyle = 'German'")
        cursor.execute("SET LOCAL extra_float_digits = 0")
        assert digests() == plain


class TestCommands:
    def run(self, *arguments: str) -> tuple[int, str]:
        out = StringIO()
        try:
            call_command(*arguments, stdout=out)
        except SystemExit as end:
            return int(end.code), out.getvalue()
        return 0, out.getvalue()

    def test_sealing_and_verifying(self):
        happen(5)
        status, said = self.run("verify_audit")
        assert (status, "5 not sealed yet" in said) == (0, True)
        assert "5 events sealed; the chain ends at 2:" in self.run("seal_audit")[1]
        status, said = self.run("verify_audit")
        assert status == 0
        assert "5 events in 2 seals looked at, 0 not sealed yet" in said
        noted = said.rsplit(" ", 1)[1].strip()
        assert self.run("verify_audit", "--expect", noted)[0] == 0

    def test_a_broken_log_is_shown_event_by_event(self):
        events = happen(5)
        self.run("seal_audit")
        tamper("DELETE FROM memory_auditlog WHERE id = %s", events[0].pk)
        status, said = self.run("verify_audit")
        assert status == 1
        assert said.startswith(f"seal 1: of its 4 events 1 missing\n  missing: {events[0].pk}\n")
        assert said.endswith("The audit log does NOT hold.\n")

    @pytest.mark.parametrize("noted", ["1", "1:abc", "x:" + "0" * 64, "0:" + "0" * 64])
    def test_a_note_that_is_none_is_refused(self, noted):
        with pytest.raises(CommandError, match="NUMBER:HASH"):
            self.run("verify_audit", "--expect", noted)
