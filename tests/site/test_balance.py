"""Web processes share what there is to do: who is at work hands what comes to one that has less."""

from __future__ import annotations

import http.client
import json
import os
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from typing import IO

import pytest
from gunicorn.config import Config

from memos_site import client_connection
from memos_site.client_connection import Connection
from memos_site.forwarding import Balance, Forwarding
from tests.site.gunicorn_server import run_gunicorn
from tests.site.test_forwarding import CONFIG
from tests.threads import wait_until

PROCESSES, THREADS = 2, 4


@pytest.fixture(scope="module")
def server(tmp_path_factory) -> Iterator[tuple[int, subprocess.Popen[bytes]]]:
    """Its port, and its first process."""
    variables = {"MEMOS_WEB_WORKERS": str(PROCESSES), "MEMOS_WEB_THREADS": str(THREADS)}
    folder = tmp_path_factory.mktemp("web")
    with run_gunicorn("tests.site.slow:application", CONFIG, folder, **variables) as started:
        await_share(started[0])
        yield started
    assert "Traceback" not in (folder / "log").read_text()


class Client:
    """A kept connection."""

    def __init__(self, port: int) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        self._connection.connect()

    def ask(self, query: str = "", body: bytes = b"x") -> dict[str, int | str]:
        """What the process says that answers."""
        self._connection.request("POST", f"/v1/query{query}", body)
        answer = self._connection.getresponse()
        assert answer.status == 200
        return dict(json.loads(answer.read()))

    def close(self) -> None:
        self._connection.close()


@pytest.fixture
def clients(server) -> Iterator[list[Client]]:
    made = [Client(server[0]) for _ in range(PROCESSES * THREADS)]
    yield made
    for client in made:
        client.close()


def at_once(clients: list[Client], query: str = "?work", body: bytes = b"x") -> list[dict[str, int | str]]:
    with ThreadPoolExecutor(len(clients)) as pool:
        return list(pool.map(lambda client: client.ask(query, body), clients))


def await_share(port: int) -> set[int]:
    """The processes, as soon as each of them takes part."""
    deadline = time.monotonic() + 20
    while True:
        with ExitStack() as stack:
            fresh = [Client(port) for _ in range(PROCESSES * THREADS)]
            for client in fresh:
                stack.callback(client.close)
            found = {int(told["pid"]) for told in at_once(fresh)}
        if len(found) == PROCESSES:
            return found
        assert time.monotonic() < deadline


def test_those_who_ask_at_once_are_shared_out(clients):
    shares = [sorted(Counter(told["pid"] for told in at_once(clients, "?work=1")).values()) for _ in range(4)]

    # Now and then two hand over at once, or one has not been counted yet.
    assert sum(share in ([THREADS] * PROCESSES, [THREADS - 1, THREADS + 1]) for share in shares) >= 3


def test_who_asks_alone_stays_where_it_is(clients):
    assert len({clients[0].ask()["pid"] for _ in range(20)}) == 1


def begin(client: Client, done: Path, pool: ThreadPoolExecutor) -> tuple[int, Future[dict[str, int | str]]]:
    """The process that answers when `done` is there, and its answer."""
    answer = pool.submit(client.ask, f"?until={done}")
    begun = done.with_suffix(".begun")
    wait_until(lambda: begun.exists() and bool(begun.read_text()))
    return int(begun.read_text()), answer


def test_who_finds_a_process_at_work_is_answered_by_the_other_and_stays_there(server, clients, tmp_path):
    at_work, *others = clients
    done = tmp_path / "done"
    with ThreadPoolExecutor(1) as pool:
        own, answer = begin(at_work, done, pool)
        for other in others:
            # Until the process has counted what it answers, and the other what it has answered.
            wait_until(lambda other=other: other.ask()["pid"] != own)
            told = other.ask(body=b"body of its own")
            assert told["pid"] != own
            assert told["length"] == len(b"body of its own")
            assert told["peer"] == "127.0.0.1"
        assert not answer.done()
        done.touch()

    assert answer.result()["pid"] == own
    time.sleep(0.3)
    assert own not in {others[0].ask()["pid"] for _ in range(3)}


@pytest.mark.parametrize("size", [0, 1_000, 100_000, 500_000])
def test_bodies_arrive_whole(clients, size):
    assert [told["length"] for told in at_once(clients, body=b"x" * size)] == [size] * len(clients)


def test_requests_that_come_one_behind_the_other_are_answered_in_their_order(server):
    def ask(number: int) -> list[int]:
        one = b"POST /v1/query?work HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s"
        lengths = [number + 1, number + 2, number + 3]
        with socket.create_connection(("127.0.0.1", server[0]), timeout=20) as client:
            client.sendall(b"".join(one % (length, b"x" * length) for length in lengths))
            received = b""
            while received.count(b'"length"') < len(lengths):
                piece = client.recv(65_536)
                assert piece
                received += piece
        return [int(part.split(b",")[0]) - number for part in received.split(b'"length": ')[1:]]

    with ThreadPoolExecutor(6) as pool:
        assert list(pool.map(ask, range(6))) == [[1, 2, 3]] * 6


def test_a_process_that_dies_is_replaced_and_has_its_share_again(server, clients):
    died = int(at_once(clients)[0]["pid"])
    os.kill(died, signal.SIGKILL)

    assert died not in await_share(server[0])


def test_what_was_handed_to_a_process_that_does_nothing_is_answered_by_another(server, clients, tmp_path):
    """Stopped between two reports, it is taken for idle until SILENT_SECONDS have gone."""
    done, processes = tmp_path / "done", await_share(server[0])
    with ThreadPoolExecutor(1) as pool:
        own, first = begin(clients[0], done, pool)
        [hung] = processes - {own}
        # Until it has counted all as answered.
        time.sleep(0.3)
        os.kill(hung, signal.SIGSTOP)
        started = time.monotonic()
        try:
            with closing(Client(server[0])) as third:
                assert third.ask()["pid"] == own
            waited = time.monotonic() - started
        finally:
            os.kill(hung, signal.SIGCONT)
            done.touch()
        assert first.result()["pid"] == own

    # It was not answered where it came in the first place.
    assert waited > 1
    await_share(server[0])


def test_a_reload_loses_no_request(server):
    """Each is asked on a connection of its own: one that is kept may be closed by its process before it is read."""
    port, process = server
    before = await_share(port)
    answered: list[int] = []
    failed: list[Exception] = []
    over = threading.Event()

    def ask() -> None:
        while not over.is_set():
            client = Client(port)
            try:
                answered.append(int(client.ask("?work")["pid"]))
            except Exception as error:  # counted below
                failed.append(error)
            finally:
                client.close()

    askers = [threading.Thread(target=ask) for _ in range(6)]
    for asker in askers:
        asker.start()
    process.send_signal(signal.SIGHUP)
    deadline = time.monotonic() + 30

    def are_all_new() -> bool:
        return len(set(answered[-12:]) - before) == PROCESSES and not before & set(answered[-12:])

    while not are_all_new() and time.monotonic() < deadline:
        time.sleep(0.1)
    came_back = are_all_new()
    over.set()
    for asker in askers:
        asker.join()

    assert failed == []
    assert came_back


# Processes that are replaced after a few requests, and not in the same moment.
REPLACED_SOON = f"""{CONFIG}
from memos_site import web_worker

web_worker.REPLACED_AFTER_REQUESTS = 40
web_worker.REPLACED_AFTER_SECONDS = 2.0
"""


def test_who_is_answered_or_waits_notices_nothing_of_a_replacement(tmp_path):
    """Clients that ask all the time, some of which keep their connection, and others whose connection is idle."""
    answered: set[int] = set()
    failed: list[Exception] = []
    over = threading.Event()
    metrics = tmp_path / "metrics"
    metrics.mkdir()
    variables = {
        "MEMOS_WEB_WORKERS": str(PROCESSES), "MEMOS_WEB_THREADS": str(THREADS), "PROMETHEUS_MULTIPROC_DIR": str(metrics)
    }  # fmt: skip
    with run_gunicorn("tests.site.slow:application", REPLACED_SOON, tmp_path, **variables) as (port, _):

        def ask(keeps: bool) -> None:
            client = Client(port)
            while not over.is_set():
                try:
                    answered.add(int(client.ask("?work=0.01")["pid"]))
                except Exception as error:  # counted below
                    failed.append(error)
                if not keeps:
                    client.close()
            client.close()

        idle = [socket.create_connection(("127.0.0.1", port), timeout=20) for _ in range(8)]
        # Four have asked before, and four never.
        for client in idle[:4]:
            assert b"200 OK" in exchange(client)
        askers = [threading.Thread(target=ask, args=(number < 3,)) for number in range(6)]
        for asker in askers:
            asker.start()
        wait_until(lambda: len(answered) >= 3 * PROCESSES, seconds=60)
        over.set()
        for asker in askers:
            asker.join()
        for client in idle:
            assert b"200 OK" in exchange(client)
            client.close()

    assert failed == []
    assert "Traceback" not in (tmp_path / "log").read_text()
    # Those that came later count on in the files of those before: one for each place, and one of the server itself.
    assert 1 <= len(list(metrics.glob("counter_*.db"))) <= PROCESSES + 2


def test_a_process_alone_is_not_replaced(tmp_path):
    with (
        run_gunicorn("tests.site.slow:application", REPLACED_SOON, tmp_path, MEMOS_WEB_WORKERS="1") as (port, _),
        closing(Client(port)) as client,
    ):
        started = time.monotonic()
        found = set()
        while time.monotonic() - started < 5:
            found.add(client.ask("?work=0.01")["pid"])

    assert len(found) == 1


def exchange(client: socket.socket) -> bytes:
    """What is answered to a request on this very connection."""
    client.sendall(b"POST /v1/query HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\nx")
    received = b""
    while not received.endswith(b"}"):
        piece = client.recv(65_536)
        assert piece
        received += piece
    return received


def count_descriptors(process: subprocess.Popen[bytes]) -> int:
    return len(os.listdir(f"/proc/{process.pid}/fd"))


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="counts descriptors in /proc, which is not there")
def test_a_reload_leaves_no_descriptors(server):
    port, process = server
    counts = []
    for _ in range(2):
        before = await_share(port)
        process.send_signal(signal.SIGHUP)
        wait_until(lambda before=before: not before & await_share(port), seconds=30)
        # Until the last of those of before has ended.
        wait_until(lambda before=before: not any(os.path.exists(f"/proc/{pid}") for pid in before), seconds=30)
        time.sleep(1)
        counts.append(count_descriptors(process))

    assert counts[0] == counts[1]


@pytest.fixture
def balance(monkeypatch) -> Balance:
    """Of three processes: the first answers three requests, the second one, the third is away."""
    monkeypatch.setattr(Balance, "SILENT_SECONDS", 600.0)
    made = Balance(3)
    made.report(0, 3)
    made.report(1, 1)
    return made


def handed(balance: Balance, requests: int) -> list[int]:
    """The processes that are given a request of the third: none or one."""
    given: list[Forwarding] = []

    def forward(inbox: Forwarding) -> bool:
        given.append(inbox)
        return True

    assert balance.hand_over(2, requests, forward) == bool(given)
    return [number for number in balance.numbers if balance.inbox(number) in given]


def test_the_process_with_the_fewest_is_given_it(balance):
    assert handed(balance, 3) == [1]
    balance.report(1, 4)
    assert handed(balance, 4) == [0]


def test_none_is_given_it_that_has_as_many(balance):
    assert handed(balance, 1) == []
    assert handed(balance, 0) == []


def test_what_waits_in_an_inbox_counts(balance):
    ours, theirs = socket.socketpair()
    with ours, theirs, tempfile.TemporaryFile() as request:
        assert balance.inbox(1).send(ours, request)
        assert balance.inbox(1).send(ours, request)
        assert balance.inbox(1).waiting() == 2
        assert handed(balance, 3) == []
        assert handed(balance, 4) == [0]
        for _ in range(2):
            received = balance.inbox(1).receive()
            assert received is not None
            for one in received:
                one.close()
    assert balance.inbox(1).waiting() == 0
    assert handed(balance, 3) == [1]


def test_what_waits_in_its_own_inbox_is_to_be_answered_too(balance):
    ours, theirs = socket.socketpair()
    with ours, theirs, tempfile.TemporaryFile() as request:
        assert balance.inbox(2).send(ours, request)
        assert handed(balance, 1) == [1]


def test_who_is_gone_is_given_nothing(balance):
    balance.forget(1)
    balance.forget(0)
    assert handed(balance, 1_000) == []


@pytest.fixture
def to_send() -> Iterator[tuple[socket.socket, IO[bytes]]]:
    ours, theirs = socket.socketpair()
    with ours, theirs, tempfile.TemporaryFile() as request:
        yield ours, request


def test_nothing_is_sent_to_who_has_left(to_send):
    inbox = Forwarding()
    assert inbox.send(*to_send)
    inbox.leave()
    assert not inbox.send(*to_send)
    assert inbox.waiting() == 1
    inbox.enter()
    assert inbox.send(*to_send)


def test_who_is_silent_is_given_nothing_and_what_waits_for_it_is_found(balance, monkeypatch):
    ours, theirs = socket.socketpair()
    with ours, theirs, tempfile.TemporaryFile() as request:
        assert balance.inbox(1).send(ours, request)
        assert balance.list_unattended() == []
        monkeypatch.setattr(Balance, "SILENT_SECONDS", -1.0)
        assert handed(balance, 1_000) == []
        assert balance.list_unattended() == [balance.inbox(1)]
        monkeypatch.setattr(Balance, "SILENT_SECONDS", 600.0)
        balance.forget(1)
        assert balance.list_unattended() == [balance.inbox(1)]


def test_a_request_that_cannot_be_taken_is_told_from_none():
    """Descriptors that a process may not have are dropped by the system."""
    inbox = Forwarding()
    ours, theirs = socket.socketpair()
    with ours, theirs, tempfile.TemporaryFile() as request:
        assert inbox.send(ours, request)
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (0, hard))
        try:
            with pytest.raises(OSError, match="no more files"):
                inbox.receive()
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        assert inbox.receive() is None


def test_a_request_that_cannot_be_forwarded_is_there_to_be_answered(monkeypatch):
    full = Forwarding()
    ours, theirs = socket.socketpair()
    with ours, theirs, tempfile.TemporaryFile() as other:
        conn = Connection(Config(), ours, None, None)
        conn.begin()
        assert conn.take(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nbody") is None
        with monkeypatch.context() as no_place:
            no_place.setattr(client_connection, "open_unnamed_file", partial(open, "/dev/full", "w+b"))
            with pytest.raises(OSError, match="No space left"):
                conn.forward(full)
        while full.send(ours, other):
            pass
        assert not conn.forward(full)
        assert conn.buffered.chunk().endswith(b"body")
        conn.forget()


HOLDS_LOCK = """
import fcntl, sys, time
with open(sys.argv[1], "r+b") as lock:
    fcntl.lockf(lock, getattr(fcntl, sys.argv[2]))
    print(flush=True)
    time.sleep(60)
"""


@pytest.mark.parametrize(("how", "may_send"), [("LOCK_SH", True), ("LOCK_EX", False)])
def test_who_sends_waits_for_nobody_and_one_that_is_killed_holds_up_nobody(to_send, how, may_send):
    """Beside another who sends, and one that leaves."""
    inbox = Forwarding()
    lock = f"/proc/{os.getpid()}/fd/{inbox._lock.fileno()}"
    with subprocess.Popen([sys.executable, "-c", HOLDS_LOCK, lock, how], stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"\n"
        assert inbox.send(*to_send) == may_send
        holder.kill()
    assert inbox.send(*to_send)
    inbox.leave()
    assert not inbox.send(*to_send)


def test_without_files_in_memory_there_are_others(monkeypatch, to_send):
    def refuse(name: str) -> int:
        raise PermissionError(name)

    monkeypatch.setattr(os, "memfd_create", refuse)
    assert Forwarding().send(*to_send)


def test_others_are_there_when_each_of_them_reports(balance):
    assert not balance.are_others_there(0)
    assert balance.are_others_there(2)
    balance.report(2, 0)
    assert balance.are_others_there(0)
    balance.forget(1)
    assert not balance.are_others_there(0)
