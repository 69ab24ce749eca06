"""Erasures under failure and load: killed, repeated, concurrent, and with parts of the server away."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any
from unittest import mock

import pytest
import redis
from django.db import connection
from django.utils import timezone

from memory.enums import ErasureStatus
from memory.errors import Conflict, InvalidInput
from memory.models import (
    Condensation,
    ContextPack,
    ErasedSession,
    Erasure,
    Job,
    Memory,
    MemoryVector,
    Posting,
    Session,
)
from memory.services.erasure import holders as erasure_holders
from memory.services.erasure import proof as erasure_proof
from memory.services.erasure import requests, run
from memory.services.erasure.holder import Erased
from memory.services.erasure.requests import Target
from memory.services.evaluation import judgements
from memory.services.index.embedding_model import active_model
from memory.services.index.recount import differences
from memory.services.ingestion.ingest import ingest_batch
from memory.services.jobs import queue
from memory.services.memories import edit
from memory.services.recall import probe, query
from memory.services.recall.search import Ask
from memory.services.retention.exemptions import exempt
from memory.services.summaries import condense
from memory.stores import redis as redis_store
from memory.stores import window
from memory.types import NewMemory, WindowMessage, system_access
from tests.job_queue import queued_jobs

SECRET = "The safe in the cellar opens with zinnober and quagga."


def turns(tenant: Any, texts: list[str], *, session: str = "s1", speaker: str = "Ann") -> list[uuid.UUID]:
    memories = [NewMemory(session=session, role="user", text=text, speaker=speaker) for text in texts]
    return ingest_batch([(tenant.scope, memory) for memory in memories], now=timezone.now()).memory_ids


def request(tenant: Any, **target: Any) -> Erasure:
    return requests.request(tenant.scope, target=Target(**target), reason="test", now=timezone.now())


def carry_out(erasure: Erasure, **more: Any) -> Erasure:
    run.carry_out(namespace_id=erasure.namespace_id, erasure_id=erasure.id, now=timezone.now, **more)
    return read(erasure)


def hold(tenant: Any, memory_id: uuid.UUID) -> None:
    exempt(tenant.scope, memory_ids=[memory_id], legal_hold=True, reason="lawsuit", now=timezone.now())


def read(erasure: Erasure) -> Erasure:
    return Erasure.objects.get(namespace_id=erasure.namespace_id, id=erasure.id)


def finished(erasure: Erasure) -> Erasure:
    assert erasure.status == ErasureStatus.FINISHED, (erasure.status, erasure.waiting_for, erasure.error)
    assert erasure.proof["left"] == 0
    assert erasure.proof["counters_exact"] is True
    assert {entry["left"] for entry in erasure.holders.values()} == {0}
    return erasure


@contextmanager
def redis_away() -> Iterator[None]:
    with mock.patch.object(redis_store, "get_redis_connection", side_effect=redis.ConnectionError("away")):
        yield
    redis_store.resume()


def test_exactly_one_target_is_named(alice):
    for target in (Target(), Target(session="s1", speaker="Ann"), Target(memory_ids=(uuid.uuid4(),) * 1, session="s1")):
        with pytest.raises(InvalidInput, match="exactly one"):
            requests.request(alice.scope, target=target, reason="r", now=timezone.now())


class TestLegalHold:
    def test_a_held_memory_is_refused_in_words_and_nothing_goes(self, alice):
        hold(alice, turns(alice, [SECRET, "another"])[0])

        with pytest.raises(Conflict, match=r"1 of these memories are under a legal hold, .* among them") as refused:
            requests.request(alice.scope, target=Target(session="s1"), reason="r", now=timezone.now())

        assert refused.value.status == 409
        assert Memory.objects.across_namespaces().count() == 2
        assert not Erasure.objects.across_namespaces().exists()

    def test_a_hold_that_comes_after_the_request_ends_it(self, alice):
        ids = turns(alice, [SECRET])
        asked = request(alice, session="s1")
        hold(alice, ids[0])
        erasure = carry_out(asked)

        assert erasure.status == ErasureStatus.FAILED
        assert "legal hold" in erasure.error
        assert Memory.objects.across_namespaces().count() == 1


class TestInterrupted:
    @pytest.fixture(autouse=True)
    def _small_batches(self, monkeypatch):
        monkeypatch.setattr(run, "BATCH", 3)
        monkeypatch.setattr(run.sessions, "AT_ONCE", 1)

    @pytest.mark.django_db(transaction=True)
    @pytest.mark.parametrize("ends", ["process", "connection"])
    @pytest.mark.parametrize(("holder", "part"), [("memory_memory", "clear"), ("memory_document", "sweep")])
    def test_killed_in_the_middle_it_goes_on_and_counts_once(self, alice, monkeypatch, ends, holder, part):
        turns(alice, [f"{SECRET} {number}" for number in range(10)])
        turns(alice, ["kept"], speaker="Ben")
        erasure = request(alice, speaker="Ann")
        [ended] = [one for one in run.HOLDERS if one.name == holder]
        calls = []

        def end(*arguments: Any) -> int:
            done = int(getattr(ended, part)(*arguments))
            calls.append(done)
            if len(calls) < 2 and part == "clear":
                return done
            if ends == "process":
                raise KeyboardInterrupt
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_terminate_backend(pg_backend_pid())")
            raise AssertionError("unreachable")

        holders = [replace(ended, **{part: end}) if one is ended else one for one in run.HOLDERS]
        with monkeypatch.context() as patch, suppress(KeyboardInterrupt):
            patch.setattr(run, "HOLDERS", tuple(holders))
            carry_out(erasure)

        half = read(erasure)
        assert half.status == (ErasureStatus.RUNNING if ends == "process" else ErasureStatus.WAITING)
        assert Memory.objects.across_namespaces().count() == (8 if part == "clear" else 1)
        done = finished(carry_out(erasure))
        assert done.holders["memory_memory"] == {"counted": 10, "cleared": 10, "left": 0}
        assert done.proof["search"]["found_after"] == 0
        assert Memory.objects.across_namespaces().get().text == "kept"

    def test_what_a_killed_worker_left_is_queued_again_once(self, alice):
        turns(alice, [SECRET])
        erasure = request(alice, session="s1")
        Erasure.objects.across_namespaces().update(status=ErasureStatus.RUNNING)
        queued_jobs().delete()
        now = timezone.now()

        assert requests.request_lost(now=now + timedelta(minutes=4)) == 0
        assert requests.request_lost(now=now + timedelta(minutes=6)) == 1
        assert requests.request_lost(now=now + timedelta(minutes=6)) == 0
        assert queued_jobs().count() == 1
        finished(carry_out(erasure))
        assert requests.request_lost(now=now + timedelta(days=1)) == 0

    def test_when_its_time_is_over_the_rest_is_queued(self, alice):
        turns(alice, [f"{SECRET} {number}" for number in range(10)])
        erasure = request(alice, session="s1")
        queued_jobs().delete()

        runs = 0
        while carry_out(erasure, seconds=0).status == ErasureStatus.RUNNING:
            runs += 1
            assert queued_jobs().count() == 1

        assert runs > 3
        assert finished(read(erasure)).holders["memory_memory"]["cleared"] == 10

    def test_an_error_is_tried_again_and_given_up_in_the_end_without_quoting_it(self, alice, monkeypatch, caplog):
        turns(alice, [SECRET])
        erasure = request(alice, session="s1")

        def fail(*_: Any) -> None:
            raise ValueError(SECRET)

        monkeypatch.setattr(run.sessions, "settle", fail)
        first = carry_out(erasure)
        assert (first.status, first.attempts) == (ErasureStatus.WAITING, 1)
        assert first.waiting_for == "The next try, after: ValueError"
        for _ in range(run.MAX_ATTEMPTS):
            carry_out(erasure)

        last = read(erasure)
        assert (last.status, last.error) == (ErasureStatus.FAILED, "ValueError")
        assert "quagga" not in caplog.text

    def test_something_that_stays_is_named_and_cleared_by_the_next_try(self, alice, monkeypatch):
        turns(alice, [SECRET, "other words"])
        erasure = request(alice, session="s1")
        stays = replace(run.HOLDERS[0], name="stays", count=lambda erased: 1)
        with monkeypatch.context() as patch:
            patch.setattr("memory.services.erasure.proof.HOLDERS", (stays,))
            waiting = carry_out(erasure)

        assert waiting.status == ErasureStatus.WAITING
        assert waiting.waiting_for == "The next try, after: Still held by: stays."
        assert carry_out(erasure).status == ErasureStatus.FINISHED


class TestRedisAway:
    def test_the_receipt_says_it_and_the_windows_are_cleared_when_it_is_back(self, alice):
        turns(alice, [SECRET])
        turns(alice, ["kept"], speaker="Ben")
        with redis_away():
            waiting = carry_out(request(alice, speaker="Ann"))

        assert waiting.status == ErasureStatus.WAITING
        assert waiting.waiting_for == run.REDIS_AWAY
        assert waiting.holders["redis_window"] == {"counted": None}
        assert waiting.holders["memory_memory"]["cleared"] == 1
        assert not Memory.objects.across_namespaces().filter(speaker="Ann").exists()
        queued_jobs().delete()
        assert requests.request_lost(now=timezone.now() + timedelta(minutes=1)) == 1
        done = finished(carry_out(waiting))
        assert done.holders["redis_window"] == {"counted": None, "cleared": 1, "left": 0}
        assert done.proof["search"] == {"searched": 1, "found_before": 1, "found_after": 0}
        assert [message.text for message in window.read(alice.scope.namespace_id, "s1")] == ["kept"]


class TestQuestionsOfTheConsole:
    """Questions of staff may quote erased texts."""

    def ask(self, tenant, text):
        return probe.keep(tenant.scope, text=text, settings=[probe.ProbeSetting()], now=timezone.now())

    def test_they_go_with_what_is_erased_and_the_receipt_counts_them(self, alice, bob):
        turns(alice, [SECRET])
        mine, others = self.ask(alice, SECRET), self.ask(bob, "else")
        reach = system_access("test")

        done = finished(carry_out(request(alice, session="s1")))

        assert done.holders["redis_console_probes"] == {"counted": 1, "cleared": 1, "left": 0}
        assert probe.get_probe(reach, mine.id) is None
        assert probe.get_probe(reach, others.id).text == "else"

    def test_one_that_is_asked_meanwhile_does_not_hold_the_erasure_up(self, alice, monkeypatch):
        turns(alice, [SECRET])
        erasure = request(alice, whole_namespace=True)
        clear = run.sessions.clear_probes

        def clear_and_ask(erased):
            cleared = clear(erased)
            self.ask(alice, "asked later")
            return cleared

        monkeypatch.setattr(run.sessions, "clear_probes", clear_and_ask)
        assert finished(carry_out(erasure)).holders["redis_console_probes"]["left"] == 0


class TestOnTheWay:
    """Data that another process holds in memory while the erasure runs."""

    def test_a_query_that_has_found_it_already_keeps_no_pack(self, alice, monkeypatch):
        ids = turns(alice, [SECRET])
        turns(alice, ["other words"], session="s2")
        store = query._store

        def late(*arguments: Any, **more: Any) -> bool:
            finished(carry_out(request(alice, memory_ids=tuple(ids))))
            return store(*arguments, **more)

        ask = Ask(text="What opens the safe?", top_k=5, now=timezone.now())
        with monkeypatch.context() as patch:
            patch.setattr(query, "_store", late)
            query.query(alice.scope, ask, session="elsewhere")
        assert not ContextPack.objects.across_namespaces().exists()
        query.query(alice.scope, ask, session="elsewhere")
        assert ContextPack.objects.across_namespaces().count() == 1

    def test_a_query_that_has_read_its_summary_already_keeps_no_pack(self, alice, monkeypatch):
        ids = turns(alice, [SECRET, "Ann likes tea.", "Ann likes rye bread."])
        condense.condense_session(alice.scope, session="s1", now=timezone.now())
        store = query._store

        def late(*arguments: Any, **more: Any) -> bool:
            window.forget(alice.scope.namespace_id, "s1")
            finished(carry_out(request(alice, memory_ids=tuple(ids[:1]))))
            return store(*arguments, **more)

        monkeypatch.setattr(query, "_store", late)
        monkeypatch.setattr(query.window_store, "read", lambda *_: [])
        query.query(alice.scope, Ask(text="rye", top_k=1, now=timezone.now()), session="s1")
        assert not ContextPack.objects.across_namespaces().filter(pack__icontains="quagga").exists()

    def test_a_writer_between_its_commit_and_its_window_leaves_nothing_there(self, alice):
        [erased] = turns(alice, [SECRET])
        finished(carry_out(request(alice, session="s1")))
        message = WindowMessage(str(erased), "user", "Ann", SECRET, 3, timezone.now().isoformat())

        window.append({(alice.scope.namespace_id, "s1"): [message, replace(message, memory_id="new", text="new")]})

        assert [entry.text for entry in window.read(alice.scope.namespace_id, "s1")] == ["new"]

    @pytest.mark.parametrize("summarised_before", [False, True])
    def test_a_summary_in_the_making_is_not_stored(self, alice, monkeypatch, settings, summarised_before):
        settings.MEMOS_SUMMARY_BATCH_MESSAGES = 4
        ids = turns(alice, [SECRET, *(f"Ann decided on plan {number}." for number in range(3))])
        if summarised_before:
            condense.condense_session(alice.scope, session="s1", now=timezone.now())
            turns(alice, [f"Ann decided on route {number}." for number in range(8)])
        write = condense._write_card

        def late(scope: Any, batch: Any) -> Any:
            card = write(scope, batch)
            assert "quagga" in str(card)
            monkeypatch.setattr(condense, "_write_card", write)
            finished(carry_out(request(alice, memory_ids=tuple(ids[:1]))))
            return card

        monkeypatch.setattr(condense, "_write_card", late)
        made = condense.condense_session(alice.scope, session="s1", now=timezone.now())

        assert made == []
        assert not any("quagga" in card.condensed_text for card in Condensation.objects.across_namespaces())
        if summarised_before:
            assert Condensation.objects.across_namespaces().count() > 1

    def test_the_same_words_as_a_question_go_with_the_memory(self, alice, remember):
        said, other = turns(alice, [SECRET, "Tea."])
        mark = judgements.Mark(other, True)
        judgements.judge(alice.scope, query_text=f"  {SECRET}\n", marks=[mark], now=timezone.now())
        judgements.judge(alice.scope, query_text="What tea?", marks=[mark], now=timezone.now())
        window.forget(alice.scope.namespace_id, "s1")
        query.query(alice.scope, Ask(text=SECRET, top_k=1, now=timezone.now()), session="s1")

        done = finished(carry_out(request(alice, memory_ids=(said,))))

        assert done.holders["memory_relevancejudgement"]["cleared"] == 1
        assert not ContextPack.objects.across_namespaces().filter(query_text=SECRET).exists()


class TestAtOnce:
    pytestmark = pytest.mark.django_db(transaction=True)

    @pytest.fixture(autouse=True)
    def _model(self, transactional_db: None) -> None:
        active_model()

    def test_what_was_answered_before_the_request_goes_and_what_begins_after_it_stays(self, alice, monkeypatch):
        monkeypatch.setattr(run, "BATCH", 7)
        asked = threading.Event()
        lock, before, after = threading.Lock(), set(), set()

        def write(number: int) -> None:
            for part in range(25):
                late = asked.is_set()
                ids = turns(alice, [f"{SECRET} {number} {part} {place}" for place in range(2)], session="s1")
                with lock:
                    if late:
                        after.update(ids)
                    elif not asked.is_set():
                        before.update(ids)

        def forget() -> Erasure:
            while len(before) < 12:
                pass
            with lock:
                erasure = request(alice, session="s1")
                asked.set()
            return carry_out(erasure)

        with ThreadPoolExecutor(4) as pool:
            jobs = [pool.submit(closing, write, number) for number in range(3)]
            done = finished(pool.submit(closing, forget).result())
            for job in jobs:
                job.result()

        left = set(Memory.objects.across_namespaces().values_list("pk", flat=True))
        assert after
        assert after <= left
        assert not before & left
        assert done.found >= len(before)
        assert len(left) == 150 - done.found
        numbers = list(Memory.objects.across_namespaces().order_by("turn").values_list("turn", flat=True))
        assert len(set(numbers)) == len(numbers)
        assert Session.objects.across_namespaces().get().message_count == max(numbers)
        assert differences([alice.scope.namespace_id]) == []
        assert set(Posting.objects.across_namespaces().values_list("memory_id", flat=True)) == left
        assert set(MemoryVector.objects.across_namespaces().values_list("memory_id", flat=True)) == left
        shown = {uuid.UUID(message.memory_id) for message in window.read(alice.scope.namespace_id, "s1")}
        assert shown <= left

    def test_erasures_writers_summaries_and_curation_do_not_block_each_other(self, alice, monkeypatch):
        """The database sorts the sessions' names differently from their bytes, and the batches cover all of them."""
        monkeypatch.setattr(run, "BATCH", 20)
        names = ["a", "B", "c", "Ä", "甲", "_"]
        for session in names:
            turns(alice, [f"{session} begins {number}" for number in range(12)], session=session)
            turns(alice, [f"{session} answers {number}" for number in range(6)], session=session, speaker="Ben")
            condense.condense_session(alice.scope, session=session, now=timezone.now())
        everything = list(Memory.objects.across_namespaces().values_list("pk", flat=True))

        def write(order: list[str]) -> None:
            for part in range(12):
                memories = [NewMemory(session=name, role="user", text=f"new {part}", speaker="Eve") for name in order]
                ingest_batch([(alice.scope, memory) for memory in memories], now=timezone.now())

        def summarise() -> None:
            for session in names * 2:
                condense.condense_session(alice.scope, session=session, now=timezone.now())

        def curate() -> None:
            boss = system_access("staff:boss")
            edit.archive(boss, memory_ids=everything[::2], reason="r", now=timezone.now())
            edit.restore(boss, memory_ids=everything[::3], reason="r", now=timezone.now())

        erased = [
            request(alice, speaker="Ann"),
            request(alice, memory_ids=tuple(everything[::-2])),
            request(alice, session="B"),
        ]
        with ThreadPoolExecutor(7) as pool:
            jobs = [
                *(pool.submit(closing, carry_out, erasure) for erasure in erased),
                pool.submit(closing, write, names),
                pool.submit(closing, write, names[::-1]),
                pool.submit(closing, summarise),
                pool.submit(closing, curate),
            ]
            for job in jobs:
                job.result()

        for erasure in erased:
            finished(carry_out(read(erasure)))
        left = Memory.objects.across_namespaces().exclude(speaker="Eve")
        assert set(left.values_list("speaker", flat=True)) <= {"Ben"}
        assert not left.filter(pk__in=everything[::-2]).exists()
        assert not left.filter(session="B").exists()
        assert Memory.objects.across_namespaces().filter(speaker="Eve").count() == 2 * 12 * len(names)
        assert differences([alice.scope.namespace_id]) == []
        for session in Session.objects.across_namespaces():
            assert session.message_count == 18 + 24
        sources = {source for card in Condensation.objects.across_namespaces() for source in card.source_memory_ids}
        assert sources <= set(Memory.objects.across_namespaces().values_list("pk", flat=True))

    def test_a_second_worker_leaves_it_to_the_first(self, alice):
        turns(alice, [SECRET])
        erasure = request(alice, session="s1")
        settle = run.sessions.settle
        second = []

        def meanwhile(erased: Any) -> Any:
            if not second:
                with ThreadPoolExecutor(1) as pool:
                    job = pool.submit(
                        closing,
                        lambda: run.carry_out(
                            namespace_id=erasure.namespace_id, erasure_id=erasure.id, now=timezone.now
                        ),
                    )
                    second.append(job.result())
            return settle(erased)

        with mock.patch.object(run.sessions, "settle", meanwhile):
            finished(carry_out(erasure))
        assert second == [False]
        assert run.carry_out(namespace_id=erasure.namespace_id, erasure_id=erasure.id, now=timezone.now) is False


def closing(call: Any, *arguments: Any) -> Any:
    try:
        return call(*arguments)
    finally:
        connection.close()


def test_more_memories_than_one_statement_is_given(alice, bob):
    """Some holders read and clear 2,000 ids at a time, and others 500."""
    ids = [
        identity
        for start in range(5)
        for identity in turns(
            alice, [f"note {start} {number} word{number % 97}" for number in range(420)], session=f"s{start}"
        )
    ]
    turns(bob, ["note 1 1 word1"])
    kept = turns(alice, ["note kept word1"], session="s3")

    done = finished(carry_out(request(alice, memory_ids=tuple(ids))))

    assert done.holders["memory_memory"] == {"counted": 2_100, "cleared": 2_100, "left": 0}
    assert done.proof["search"] == {"searched": 20, "found_before": 20, "found_after": 0}
    mine = Memory.objects.filter(namespace_id=alice.scope.namespace_id)
    assert list(mine.values_list("pk", flat=True)) == kept
    assert ErasedSession.objects.across_namespaces().count() == 5
    assert list(Session.objects.filter(namespace_id=alice.scope.namespace_id).values_list("name", flat=True)) == ["s3"]
    assert Memory.objects.filter(namespace_id=bob.scope.namespace_id).count() == 1


def test_statistics_older_than_the_memories_make_no_loop_of_all_in_all(alice, monkeypatch):
    # The planning of queries is not tested here.
    monkeypatch.setattr(erasure_proof, "PROBES", 0)
    ids = turns(alice, [f"note {number} word{number % 97}" for number in range(1000)])
    asked = request(alice, memory_ids=tuple(ids))
    with connection.cursor() as cursor:
        # After a vacuum of emptied tables, PostgreSQL plans for one row in each.
        cursor.execute(
            "UPDATE pg_class SET reltuples = 0, relpages = 1 WHERE relnamespace = 'public'::regnamespace"
            " AND relname LIKE 'memory\\_%' AND relkind IN ('r', 'i')"
        )
        before = rows_read(cursor)

        finished(carry_out(asked))

        read_since = rows_read(cursor) - before
    # Each holder reads each memory a few times; a loop of all memories in all would be a million reads.
    assert read_since < 500 * len(ids)


def rows_read(cursor: Any) -> int:
    cursor.execute("SELECT sum(seq_tup_read + coalesce(idx_tup_fetch, 0)) FROM pg_stat_xact_user_tables")
    return int(cursor.fetchone()[0])


@pytest.mark.parametrize("kind", queue.OF_SESSION, ids=lambda kind: kind.name)
def test_jobs_that_name_a_session_that_is_gone_go_too(alice, bob, kind):
    turns(alice, [SECRET], session="s1")
    turns(alice, ["kept"], session="s2")
    queued_jobs().delete()
    for tenant in (alice, bob):
        for session in ("s1", "s2"):
            queue.enqueue(kind, tenant.scope.namespace_id, session)

    finished(carry_out(request(alice, session="s1")))

    assert not Job.objects.in_scope(alice.scope).filter(arguments__1="s1").exists()
    kept = Job.objects.across_namespaces().filter(kind=kind.name)
    assert {tuple(job.arguments) for job in kept} == {
        (alice.scope.namespace_id, "s2"),
        (bob.scope.namespace_id, "s1"),
        (bob.scope.namespace_id, "s2"),
    }


def test_packs_of_before_the_column_are_found_by_their_json(alice):
    """The test runs the migration's statement that fills the column."""
    import importlib

    migration = importlib.import_module("memory.migrations.0017_erasures").Migration
    [fill] = [one.sql for one in migration.operations if "SET memory_ids" in str(getattr(one, "sql", ""))]
    turns(alice, [SECRET, "Tea."])
    query.query(alice.scope, Ask(text="safe", top_k=1, now=timezone.now()), session="s1")
    before = set(ContextPack.objects.across_namespaces().get().memory_ids)
    ContextPack.objects.across_namespaces().update(memory_ids=[])
    with connection.cursor() as cursor:
        cursor.execute(fill)

    assert set(ContextPack.objects.across_namespaces().get().memory_ids) == before
    assert len(before) == 2


def test_the_registry_finds_a_row_that_slipped_through(alice):
    """Sweeps do not rely on the batches: they find and remove rows without a memory."""
    [identity] = turns(alice, [SECRET])
    erasure = request(alice, session="s1")
    carry_out(erasure)
    Posting.objects.create(
        namespace_id=alice.scope.namespace_id, term="quagga", memory_id=identity, frequency=1, length=9
    )
    erased = Erased.of(erasure)
    [postings] = [holder for holder in erasure_holders.HOLDERS if holder.name == "memory_posting"]

    assert postings.count(erased) == 1
    assert postings.sweep is not None
    assert postings.sweep(erased) == 1
    assert not Posting.objects.across_namespaces().exists()


def test_nothing_is_asked_of_a_reranker(alice, settings):
    from memory.retrieval import rerank

    turns(alice, [SECRET, "Tea."])
    with mock.patch.object(rerank, "rerank", side_effect=AssertionError):
        finished(carry_out(request(alice, session="s1")))


def test_a_clock_that_jumped_does_not_keep_a_memory(alice):
    future = timezone.now() + timedelta(days=400)
    memory = NewMemory(session="s1", role="user", text=SECRET)
    ingest_batch([(alice.scope, memory)], now=future)
    assert Memory.objects.across_namespaces().get().created_at > datetime.now(tz=future.tzinfo)

    finished(carry_out(request(alice, session="s1")))

    assert not Memory.objects.across_namespaces().exists()
