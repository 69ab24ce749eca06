"""When namespaces are held as columns, and that each question finds everything that was written before."""

from __future__ import annotations

import re
import threading
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest
from django.db import OperationalError, connection, transaction
from django.test import override_settings
from django.utils import timezone

from memory import caches
from memory.enums import ErasureStatus
from memory.models import Erasure
from memory.postgresql import reach
from memory.retrieval.columns import store
from memory.retrieval.columns.load import read_all
from memory.retrieval.filters import parse
from memory.services.erasure import requests, run
from memory.services.ingestion.ingest import ingest, ingest_batch
from memory.services.memories import edit
from memory.services.recall.search import Ask, find
from memory.stores import index_holders
from memory.stores import redis as redis_store
from memory.types import NewMemory, system_access
from tests.retrieval.columns.ways import as_a_process_without_columns, ask, ask_by_columns, by_columns
from tests.threads import wait_until

pytestmark = pytest.mark.django_db(transaction=True)
ACCESS = system_access("tests")


def test_the_first_question_is_answered_by_sql_and_later_ones_by_the_columns(opened, alice, remember):
    remember(alice, "The archive key is under the mat.")

    assert not by_columns(ask(alice.scope, "Where is the archive key?"))
    assert [hit.text for hit in ask_by_columns(alice.scope, "Where is the archive key?").hits] == [
        "The archive key is under the mat."
    ]


def test_a_question_to_what_is_held_sends_one_statement_before_and_one_after(opened, alice, remember, monkeypatch):
    remember(alice, "The archive key is under the mat.")
    question = {"namespace": "alice", "session_id": "s1", "query": "Where is the archive key?"}
    ask_by_columns(alice.scope, question["query"])
    assert alice.post("/v1/query", question).json()["raw_chunks"]
    sent: list[str] = []
    own, execute = threading.get_ident(), psycopg.Cursor.execute

    def note(cursor: Any, statement: Any, *arguments: Any, **options: Any) -> Any:
        # Another thread reads the changes once a second.
        if threading.get_ident() == own:
            sent.append(str(statement))
        return execute(cursor, statement, *arguments, **options)

    monkeypatch.setattr(psycopg.Cursor, "execute", note)

    answer = alice.post("/v1/query", question).json()

    assert [hit["text"] for hit in answer["raw_chunks"]] == ["The archive key is under the mat."]
    # Values that a process caches for seconds may be read again at any time.
    known = re.compile(r"memory_(namespacepolicy|embeddingmodel)|memory_namespace\b.*\bname\b")
    key, before, after = [one for one in sent if not known.search(one)]
    assert "memory_apikey" in key
    assert "memory_condensation" in before
    assert "memory_indexchange" in before
    assert "INSERT INTO memory_contextpack" in after
    assert "INSERT INTO memory_auditlog" in after


def test_a_process_that_was_not_told_to_holds_nothing(alice, remember):
    remember(alice, "The archive key is under the mat.")

    for _ in range(3):
        assert not by_columns(ask(alice.scope, "Where is the archive key?"))
        time.sleep(0.05)


def test_a_narrowed_question_and_one_in_a_transaction_are_answered_by_sql(opened, alice, remember):
    remember(alice, "The archive key is under the mat.")
    ask_by_columns(alice.scope, "key")

    now = timezone.now()
    narrowed = ({"as_of": now}, {"valid_at": now}, {"where": parse({"role": "agent"})})
    for fields in narrowed:
        assert not by_columns(find(alice.scope, Ask("key", 5, now, **fields)).retrieval)
    assert find(alice.scope, Ask("key", 5, now, where=parse({"role": "agent"}))).hits == []
    with transaction.atomic():
        remember(alice, "The spare key is with Bo.")
        within = ask(alice.scope, "key")
        assert not by_columns(within)
        assert len(within.hits) == 2
        transaction.set_rollback(True)
    assert len(ask_by_columns(alice.scope, "key").hits) == 1


def test_a_large_namespace_is_not_held(opened, alice, remember):
    for number in range(3):
        remember(alice, f"Key number {number} is under the mat.")

    with override_settings(MEMOS_LARGE_NAMESPACE_MEMORIES=2):
        for _ in range(3):
            assert not by_columns(ask(alice.scope, "Which key?"))
            time.sleep(0.05)


def test_what_was_asked_for_longest_ago_makes_room(alice, bob, remember):
    remember(alice, "The archive key is under the mat.")
    remember(bob, "The garden key hangs by the door.")
    with override_settings(MEMOS_COLUMNS_MB=1):
        store.open_store()
    try:
        store._store._budget = 60_000
        ask_by_columns(alice.scope, "key")
        model_id = next(iter(store._store._held))[1]
        assert store.last_seen(alice.scope, model_id) is not None
        # There is room for 64 rows; one more allocates space for further ones.
        ask_by_columns(bob.scope, "key")
        deadline = time.monotonic() + 5
        while store.last_seen(alice.scope, model_id) is not None and time.monotonic() < deadline:
            time.sleep(0.05)
        assert store.last_seen(alice.scope, model_id) is None
        assert store.last_seen(bob.scope, model_id) is not None
    finally:
        store.close_store()


def test_what_is_larger_than_the_budget_takes_no_others_place_and_is_read_once(alice, bob, remember, monkeypatch):
    read: list[int] = []
    monkeypatch.setattr(store, "read_all", lambda *of: (read.append(of[0]), read_all(*of))[1])
    remember(bob, "The garden key hangs by the door.")
    keys = [remember(alice, f"Key number {number} is under the mat.") for number in range(90)]
    store.open_store()
    try:
        store._store._budget = 60_000
        ask_by_columns(bob.scope, "key")
        for _ in range(3):
            assert not by_columns(ask(alice.scope, "key"))
            wait_until(lambda: not store._store._loading)
        assert read == [bob.scope.namespace_id, alice.scope.namespace_id]
        assert by_columns(ask(bob.scope, "key"))
        # A namespace with fewer memories may fit.
        edit.archive(ACCESS, memory_ids=[uuid.UUID(one) for one in keys[5:]], reason="test", now=timezone.now())
        caches.forget_all()
        assert len(ask_by_columns(alice.scope, "key").hits) == 5
    finally:
        store.close_store()


def test_what_grows_beyond_the_budget_goes_before_others(alice, bob, remember):
    remember(bob, "The garden key hangs by the door.")
    remember(alice, "The archive key is under the mat.")
    store.open_store()
    try:
        store._store._budget = 85_000
        ask_by_columns(bob.scope, "key")
        ask_by_columns(alice.scope, "key")
        model_id = next(iter(store._store._held))[1]
        assert store.last_seen(bob.scope, model_id) is not None
        # They are added at once, because a slowly growing namespace would push others out first.
        more = [NewMemory(session="s1", role="user", text=f"Key number {number} is Ann's.") for number in range(150)]
        ingest_batch([(alice.scope, one) for one in more], now=timezone.now())
        ask(alice.scope, "key")
        wait_until(lambda: store.last_seen(alice.scope, model_id) is None)
        assert store.last_seen(bob.scope, model_id) is not None
        assert by_columns(ask(bob.scope, "key"))
    finally:
        store.close_store()


def test_whoever_asks_first_others_find_all_of_it(opened, alice, bob, remember):
    remember(alice, "The archive key is under the mat.")
    with reach.within(bob.scope.namespace_id):
        assert ask(alice.scope, "key").hits == []

    assert [hit.text for hit in ask_by_columns(alice.scope, "key").hits] == ["The archive key is under the mat."]


def test_more_than_a_question_can_wait_for_is_read_again_in_the_background(opened, alice, remember, monkeypatch):
    monkeypatch.setattr(store, "MOST_CHANGES", 2)
    remember(alice, "The archive key is under the mat.")
    ask_by_columns(alice.scope, "key")
    for number in range(3):
        remember(alice, f"Key number {number} is with Bo.")

    first = ask(alice.scope, "key")
    assert not by_columns(first)
    assert len(first.hits) == len(ask_by_columns(alice.scope, "key").hits) == 4


def test_eight_threads_find_what_each_wrote_before_it_asked(opened, alice, remember):
    remember(alice, "The archive key is under the mat.")
    ask_by_columns(alice.scope, "key")
    ways: list[bool] = []

    def write_and_ask(number: int) -> list[str]:
        missing = []
        try:
            for turn in range(5):
                text = f"The code of locker {number * 100 + turn} is {uuid.uuid4().hex[:8]}."
                ingest(alice.scope, memory=NewMemory(session=f"s{number}", role="user", text=text), now=timezone.now())
                found = ask(alice.scope, f"What is the code of locker {number * 100 + turn}?")
                ways.append(by_columns(found))
                if text not in [hit.text for hit in found.hits]:
                    missing.append(text)
        finally:
            connection.close()
        return missing

    with ThreadPoolExecutor(8) as pool:
        assert [missing for one in pool.map(write_and_ask, range(8)) for missing in one] == []
    assert all(ways)


def test_an_erasure_is_not_over_before_every_holder_has_taken_it_in(opened, alice, remember):
    secret = remember(alice, "My passport number is X1234567.")
    remember(alice, "The archive key is under the mat.")
    ask_by_columns(alice.scope, "passport")
    model_id = next(iter(store._store._held))[1]

    target = requests.Target(memory_ids=(uuid.UUID(secret),))
    asked = requests.request(alice.scope, target=target, reason="test", now=timezone.now(), enqueue=False)
    run.carry_out(namespace_id=alice.scope.namespace_id, erasure_id=asked.id, now=timezone.now)

    held = store._store._held.get((alice.scope.namespace_id, model_id))
    assert held is None or secret not in held.columns.ids
    assert held is None or held.columns.terms.postings("passport") is None


def test_an_erasure_by_another_process_waits_for_the_one_that_holds_the_memory(alice, remember, monkeypatch):
    # The interval is so long that an erasure which does not wait ends before the next look.
    monkeypatch.setattr(store, "LOOK_EVERY_SECONDS", 3.0)
    secret = remember(alice, "My passport number is X1234567.")
    remember(alice, "The archive key is under the mat.")
    store.open_store()
    try:
        ask_by_columns(alice.scope, "passport")
        [(key, held)] = store._store._held.items()
        target = requests.Target(memory_ids=(uuid.UUID(secret),))
        asked = requests.request(alice.scope, target=target, reason="test", now=timezone.now(), enqueue=False)
        with as_a_process_without_columns():
            run.carry_out(namespace_id=alice.scope.namespace_id, erasure_id=asked.id, now=timezone.now)

        assert Erasure.objects.in_scope(alice.scope).get(id=asked.id).status == ErasureStatus.FINISHED
        assert held.is_gone
        assert key not in store._store._held
    finally:
        store.close_store()


@pytest.mark.parametrize("lost", ["interest", "the database"])
def test_what_nobody_asks_for_and_what_cannot_be_confirmed_is_forgotten(opened, alice, remember, monkeypatch, lost):
    remember(alice, "The archive key is under the mat.")
    ask_by_columns(alice.scope, "key")
    assert len(store._store._held) == 1

    def fail(*_: object) -> None:
        raise OperationalError("away")

    if lost == "interest":
        monkeypatch.setattr(store, "IDLE_SECONDS", 0.0)
    else:
        monkeypatch.setattr(store, "read_changes", fail)
        monkeypatch.setattr(store, "LEASE_SECONDS", 0.5)
    wait_until(lambda: not store._store._held)


def test_processes_that_are_gone_are_named_no_longer():
    now = time.time()
    index_holders.confirm("gone:1", {7}, now - 3 * index_holders.LEASE_SECONDS)
    index_holders.confirm("late:2", {7}, now - 0.5 * index_holders.LEASE_SECONDS)
    index_holders.confirm("here:3", {7}, now)
    named = redis_store.call(lambda client: client.zrange(index_holders._key(7), 0, -1))
    assert named == [b"late:2", b"here:3"]


def test_who_does_not_say_that_it_took_a_change_in_is_waited_for_and_then_not_counted(monkeypatch):
    monkeypatch.setattr(index_holders, "LEASE_SECONDS", 1.0)
    index_holders.confirm("gone:1", {7}, time.time() - 0.2)
    started = time.monotonic()
    index_holders.wait_until_confirmed(7, time.time())
    assert time.monotonic() - started >= 0.7

    index_holders.confirm("here:2", {8}, time.time() - 0.2)
    threading.Timer(0.2, lambda: index_holders.confirm("here:2", {8}, time.time())).start()
    started = time.monotonic()
    index_holders.wait_until_confirmed(8, time.time())
    assert time.monotonic() - started < 0.9
