"""The threads that answer requests: which is next, what waits, and what an idle one lets go of."""

from __future__ import annotations

import threading
from concurrent.futures import CancelledError

import pytest
from django.db import connection

from memos_site import executor
from memos_site.executor import RequestThreads
from tests.threads import wait_until

SECONDS = 10


@pytest.fixture
def pool():
    pool = RequestThreads(3)
    yield pool
    pool.shutdown()


def name() -> str:
    return threading.current_thread().name


def answer(pool):
    return pool.submit(name).result(SECONDS)


def occupy(pool, count):
    """Has `count` threads wait for the event that is returned with their names."""
    go_on, begun = threading.Event(), threading.Barrier(count + 1)

    def work():
        begun.wait(SECONDS)
        go_on.wait(SECONDS)
        return name()

    results = [pool.submit(work) for _ in range(count)]
    begun.wait(SECONDS)
    return go_on, results


def test_one_after_the_other_is_done_by_one_thread(pool):
    assert {answer(pool) for _ in range(20)} == {"request-0"}
    assert len(pool._threads) == 1


def test_the_thread_that_has_worked_last_is_next(pool):
    go_on, results = occupy(pool, 3)
    go_on.set()
    assert {result.result(SECONDS) for result in results} == {"request-0", "request-1", "request-2"}
    wait_until(lambda: len(pool._idle) == 3)
    last = pool._idle[-1].name
    assert {answer(pool) for _ in range(20)} == {last}


def test_what_comes_while_all_work_is_done_in_the_order_it_came():
    pool = RequestThreads(1)
    go_on, _ = occupy(pool, 1)
    done = []
    for number in range(50):
        pool.submit(done.append, number)
    assert done == []
    go_on.set()
    pool.shutdown()
    assert done == list(range(50))


def test_an_error_is_for_who_waits_and_the_thread_goes_on(pool):
    def fail():
        raise ValueError("of the work")

    with pytest.raises(ValueError, match="of the work"):
        pool.submit(fail).result(SECONDS)
    assert answer(pool) == "request-0"


def test_what_is_cancelled_while_it_waits_is_not_done(pool):
    go_on, results = occupy(pool, 3)
    done = []
    waiting = pool.submit(done.append, 1)
    assert waiting.cancel()
    go_on.set()
    assert answer(pool).startswith("request-")
    with pytest.raises(CancelledError):
        waiting.result(SECONDS)
    assert done == []
    assert all(result.result(SECONDS) for result in results)


def test_a_shutdown_does_what_it_has_taken_and_takes_nothing_more():
    pool = RequestThreads(2)
    go_on, results = occupy(pool, 2)
    done = []
    waiting = [pool.submit(done.append, number) for number in range(5)]
    pool.shutdown(wait=False)
    with pytest.raises(RuntimeError, match="server stops"):
        pool.submit(name)
    go_on.set()
    pool.shutdown()
    assert sorted(done) == list(range(5))
    assert all(result.done() for result in (*results, *waiting))
    assert not any(thread.is_alive() for thread in pool._threads)


def test_a_shutdown_cancels_what_waits_if_it_is_told_to():
    pool = RequestThreads(1)
    go_on, _ = occupy(pool, 1)
    waiting = pool.submit(name)
    pool.shutdown(wait=False, cancel_futures=True)
    go_on.set()
    pool.shutdown()
    assert waiting.cancelled()


@pytest.mark.django_db(transaction=True)
def test_an_idle_thread_closes_its_connection_and_opens_another_when_it_is_needed(pool, monkeypatch):
    monkeypatch.setattr(executor, "IDLE_SECONDS", 0.05)

    def ask():
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_backend_pid()")
            return cursor.fetchone()[0]

    first = pool.submit(ask).result(SECONDS)

    def is_open():
        with connection.cursor() as cursor:
            cursor.execute("SELECT count(*) FROM pg_stat_activity WHERE pid = %s", [first])
            return bool(cursor.fetchone()[0])

    wait_until(lambda: not is_open())
    assert pool.submit(ask).result(SECONDS) != first
    assert len(pool._threads) == 1


def test_nothing_is_lost_between_threads_that_come_and_go(monkeypatch):
    """Requests meet threads in each moment of their leaving and standing."""
    monkeypatch.setattr(executor, "IDLE_SECONDS", 0.0005)
    monkeypatch.setattr(executor, "_has_connections", lambda: True)
    pool = RequestThreads(4)
    done = []

    def send(begin):
        for number in range(begin, begin + 500):
            pool.submit(done.append, number).result(SECONDS)

    senders = [threading.Thread(target=send, args=(begin,)) for begin in (0, 1_000, 2_000, 3_000, 4_000, 5_000)]
    for sender in senders:
        sender.start()
    for sender in senders:
        sender.join(60)
    pool.shutdown()
    assert sorted(done) == [number for begin in range(0, 6_000, 1_000) for number in range(begin, begin + 500)]


def test_a_thread_that_cannot_be_started_leaves_its_work_to_the_others(pool, monkeypatch):
    go_on, [result] = occupy(pool, 1)

    def refuse(_):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(executor._Thread, "start", refuse)
    waiting = pool.submit(name)
    go_on.set()
    assert (result.result(SECONDS), waiting.result(SECONDS)) == ("request-0", "request-0")


def test_without_any_thread_it_is_said_at_once(pool, monkeypatch):
    def refuse(_):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(executor._Thread, "start", refuse)
    with pytest.raises(RuntimeError, match="can't start"):
        pool.submit(name)
