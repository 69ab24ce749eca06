"""Requests that take long go to a process of their own, under one address, and hold no thread that others need."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from urllib.parse import quote

import pytest
from gunicorn.config import Config

from memos_site.client_connection import Connection
from tests.site.gunicorn_server import run_gunicorn

THREADS, STREAM_THREADS, WORKERS = 1, 6, 3

# As the web server itself is configured, without what loads models and asks the database.
CONFIG = """
import runpy

_own = runpy.run_path("memos_site/gunicorn.conf.py")
for _name in ("worker_class", "workers", "threads", "pre_fork", "post_fork", "child_exit", "preload_app", "keepalive"):
    globals()[_name] = _own[_name]
bind = "127.0.0.1:{port}"
graceful_timeout = 2
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory) -> Iterator[tuple[int, subprocess.Popen[bytes]]]:
    """Its port, and its first process. Two web processes of THREADS threads, and one with STREAM_THREADS."""
    variables = {
        "MEMOS_WEB_WORKERS": str(WORKERS - 1),
        "MEMOS_WEB_THREADS": str(THREADS),
        "MEMOS_STREAM_THREADS": str(STREAM_THREADS),
        "MEMOS_RECEIVE_SECONDS": "5",
    }
    with run_gunicorn("tests.site.slow:application", CONFIG, tmp_path_factory.mktemp("web"), **variables) as started:
        yield started


def connect(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=20)


def request(path: str, body: bytes = b"") -> bytes:
    return b"POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s" % (path.encode(), len(body), body)


def read_all(client: socket.socket) -> bytes:
    """What comes until the server closes."""
    return b"".join(iter(lambda: client.recv(65_536), b""))


def ask(port: int, path: str, body: bytes = b"") -> tuple[bytes, dict]:
    """Head and JSON of an answer, on a connection of its own."""
    with connect(port) as client:
        client.sendall(request(path, body))
        client.shutdown(socket.SHUT_WR)
        head, _, content = read_all(client).partition(b"\r\n\r\n")
    return head, json.loads(content)


def process_of(port: int, path: str, body: bytes = b"") -> int:
    """The process that answers the route."""
    return int(ask(port, path, body)[1]["pid"])


def test_streams_are_answered_by_one_process_and_the_rest_by_others(server):
    port, _ = server

    of_streams = {process_of(port, path) for path in ("/v1/answer/stream", "/v1/chat/stream?x=1") for _ in range(4)}
    of_others = {process_of(port, path) for path in ("/v1/query", "/v1/answer", "/v1/answer/streams") for _ in range(8)}

    assert len(of_streams) == 1
    assert of_streams.isdisjoint(of_others)


@pytest.mark.parametrize(
    "target", ["/v1/%61nswer/stream", "/v1/chat%2Fstream", "/v1/answer/stream#x", "http://x/v1/answer/stream?y"]
)
def test_a_stream_is_one_however_its_route_is_written(server, target):
    port, _ = server

    assert process_of(port, target) == process_of(port, "/v1/answer/stream")


def asked_for(port: int, target: str, method: str = "GET") -> int:
    """The process that answers a request without a body."""
    with connect(port) as client:
        client.sendall(f"{method} {target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
        _, _, content = read_all(client).partition(b"\r\n\r\n")
    return int(json.loads(content)["pid"])


@pytest.mark.parametrize(
    "query",
    ["wait=30", "namespace=a&wait=1", "wait=%205", "w%61it=5", "wait=0&wait=5", "wait=+5", "wait=٥"],
)
def test_who_may_wait_for_changes_is_answered_where_the_streams_are(server, query):
    port, _ = server

    assert asked_for(port, f"/v1/changes?{quote(query, safe='=&+%')}") == process_of(port, "/v1/answer/stream")


@pytest.mark.parametrize(
    "target", ["/v1/changes", "/v1/changes?wait=0", "/v1/changes?x=1&wait=00", "/v1/memories?wait=5"]
)
def test_who_does_not_wait_is_answered_by_the_others(server, target):
    port, _ = server
    of_streams = process_of(port, "/v1/answer/stream")

    assert of_streams not in {asked_for(port, target) for _ in range(4)}


@pytest.mark.parametrize("size", [0, 10, 200_000, 3_000_000])
def test_a_body_goes_with_its_connection(server, size):
    body = os.urandom(size)

    head, told = ask(server[0], "/v1/answer/stream", body)

    assert told["length"] == size
    assert told["peer"] == "127.0.0.1"
    assert b"connection: close" in head.lower()


def test_a_kept_connection_may_end_with_a_stream(server):
    with connect(server[0]) as client:
        client.sendall(request("/v1/query"))
        first = client.recv(65_536)
        client.sendall(request("/v1/chat/stream", b"body"))
        second = read_all(client)

    assert b"200 OK" in first
    assert b'"length": 4' in second


def test_waiting_streams_hold_no_other_request(server):
    """More of them than the web processes have threads; each goes on when it is told to."""
    port, _ = server
    with ExitStack() as stack:
        waiting = [stack.enter_context(connect(port)) for _ in range(STREAM_THREADS)]
        for client in waiting:
            client.sendall(request("/v1/answer/stream?wait"))
        # Each has sent its first piece.
        begun = [client.recv(65_536) for client in waiting]

        answered = [process_of(port, "/v1/query") for _ in range(4)]
        refused = ask_raw(port)

    assert all(b"200 OK" in piece for piece in begun)
    assert len(answered) == 4
    assert b"503" in refused
    assert b"MEMOS_STREAM_THREADS" in refused


def test_a_stream_whose_client_leaves_gives_its_thread_back(server):
    port, _ = server
    for _ in range(3 * STREAM_THREADS):
        client = connect(port)
        client.sendall(request("/v1/answer/stream?wait"))
        if b"503" in client.recv(65_536):
            # Those that left are noticed a moment later.
            time.sleep(0.2)
        client.close()
    deadline = time.monotonic() + 20
    while b"200 OK" not in ask_raw(port):
        assert time.monotonic() < deadline
        time.sleep(0.1)


def ask_raw(port: int) -> bytes:
    with connect(port) as client:
        client.sendall(request("/v1/answer/stream"))
        return read_all(client)


def test_a_process_of_streams_that_dies_is_replaced_and_nothing_handed_over_is_lost(server):
    port, _ = server
    before = process_of(port, "/v1/answer/stream")
    os.kill(before, signal.SIGKILL)

    with ThreadPoolExecutor(4) as pool:
        after = set(pool.map(lambda _: process_of(port, "/v1/answer/stream"), range(4)))

    assert len(after) == 1
    assert after.isdisjoint({before, process_of(port, "/v1/query")})


def test_after_a_reload_one_process_has_the_streams(server):
    port, process = server
    before = process_of(port, "/v1/answer/stream")
    process.send_signal(signal.SIGHUP)
    deadline = time.monotonic() + 20
    while (after := process_of(port, "/v1/answer/stream")) == before:
        assert time.monotonic() < deadline
        time.sleep(0.1)

    assert {process_of(port, "/v1/answer/stream") for _ in range(4)} == {after}
    assert after not in {process_of(port, "/v1/query") for _ in range(8)}


@pytest.mark.parametrize(
    ("path", "body", "enabled", "takes_long"),
    [
        ("/mcp", b'{"method": "tools/call", "params": {"name" : "answer"}}', True, True),
        ("/mcp?x", b'{"method": "tools/call", "params": {"name":"answer"}}', True, True),
        ("/mcp", b'{"method": "tools/call", "params": {"name": "answer"}}', False, False),
        (
            "/mcp",
            b'{"method": "tools/call", "params": {"name": "search", "arguments": {"query": "answer"}}}',
            True,
            False,
        ),
        ("/mcp", b'{"name": "answer"' + b" " * 200_000 + b"}", True, False),
        ("/v1/query", b'{"name": "answer"}', True, False),
    ],
)
def test_a_tool_that_a_model_answers_takes_long(settings, path, body, enabled, takes_long):
    settings.MEMOS_LLM_ENABLED = enabled
    ours, clients = socket.socketpair()
    with ours, clients:
        conn = Connection(Config(), ours, None, None)
        conn.begin()
        for piece in (request(path, body)[:40], request(path, body)[40:60], request(path, body)[60:]):
            assert conn.take(piece) is None
        assert conn.lacks == 0
        assert conn.takes_long == takes_long
        assert conn.buffered.chunk().startswith(b"POST")
        conn.forget()
