"""The web server's worker: requests reach a thread whole, and clients that send slowly hold none."""

from __future__ import annotations

import hashlib
import http.client
import json
import os
import signal
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from tests.site.echo import LATE_SECONDS
from tests.site.gunicorn_server import run_gunicorn

THREADS = 2
RECEIVE_SECONDS = 3
MOST_BODY = 2_000_000

# As the web server itself is configured, without what loads models and asks the database.
CONFIG = """
import runpy

_own = runpy.run_path("memos_site/gunicorn.conf.py")
for _name in ("worker_class", "forwarded_allow_ips", "forwarder_headers", "secure_scheme_headers"):
    globals()[_name] = _own[_name]
bind = "127.0.0.1:{port}"
workers = 1
threads = {threads}
keepalive = 20
"""


@pytest.fixture(scope="module")
def port(tmp_path_factory) -> Iterator[int]:
    """A server of one process with THREADS threads."""
    variables = {"MEMOS_RECEIVE_SECONDS": str(RECEIVE_SECONDS), "MEMOS_MAX_BODY_BYTES": str(MOST_BODY)}
    config = CONFIG.replace("{threads}", str(THREADS))
    folder = tmp_path_factory.mktemp("web")
    with run_gunicorn("tests.site.echo:application", config, folder, **variables) as (number, _):
        yield number
    assert "Traceback" not in (folder / "log").read_text()


def ask(port: int, path: str = "/", body: bytes | None = None, **headers: str) -> dict[str, Any]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    connection.request("GET" if body is None else "POST", path, body, headers)
    answer = json.loads(connection.getresponse().read())
    connection.close()
    return dict(answer)


def opened(port: int, data: bytes = b"") -> socket.socket:
    client = socket.create_connection(("127.0.0.1", port), timeout=RECEIVE_SECONDS + 5)
    client.sendall(data)
    return client


def answer_of(client: socket.socket) -> tuple[int, dict[str, str], bytes]:
    response = http.client.HTTPResponse(client)
    response.begin()
    return response.status, dict(response.getheaders()), response.read()


SLOW = {
    "nothing at all": b"",
    "a head without an end": b"POST / HTTP/1.1\r\nHost: x\r\nX-Slow: ",
    "a body that does not come": b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 500\r\n\r\n{",
}


@pytest.mark.parametrize("kind", SLOW)
def test_clients_that_send_slowly_hold_no_thread(port, kind):
    with ExitStack() as stack:
        slow = [stack.enter_context(opened(port, SLOW[kind])) for _ in range(30)]
        answered = []
        for number in range(10):
            for client in slow[number::10]:
                if SLOW[kind]:
                    client.sendall(b"x")
            answered.append(ask(port, f"/{number}")["path"])

    assert answered == [f"/{number}" for number in range(10)]


@pytest.mark.parametrize("kind", ["a head without an end", "a body that does not come"])
def test_what_does_not_arrive_in_time_is_a_408_however_steadily_it_comes(port, kind):
    with opened(port, SLOW[kind]) as client:
        started = time.monotonic()
        client.settimeout(0.5)
        received = b""
        while not received and time.monotonic() < started + RECEIVE_SECONDS + 10:
            client.sendall(b"x")
            try:
                received = client.recv(65_536)
            except TimeoutError:
                continue

    head, _, body = received.partition(b"\r\n\r\n")
    error = json.loads(body)["error"]
    assert head.startswith(b"HTTP/1.1 408 ")
    assert error["code"] == "request_timeout"
    assert "MEMOS_RECEIVE_SECONDS" in error["message"]
    assert f"X-Request-ID: {error['request_id']}".encode() in head


def test_a_connection_that_says_nothing_is_closed_without_a_word(port):
    with opened(port) as client:
        assert client.recv(100) == b""


def test_clients_that_do_not_close_after_their_answer_do_not_keep_others_waiting(port):
    with ExitStack() as stack:
        for _ in range(20):
            client = stack.enter_context(opened(port, b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"))
            assert answer_of(client)[0] == 200
        started = time.monotonic()
        ask(port)

        assert time.monotonic() - started < 10


@pytest.mark.parametrize("length", [0, 1, 100, 65_536, 131_071, 131_072, 131_073, MOST_BODY])
def test_a_body_arrives_as_it_was_sent(port, length):
    body = os.urandom(length)

    told = ask(port, "/in", body)

    assert (told["length"], told["sha256"]) == (length, hashlib.sha256(body).hexdigest())


def test_a_request_that_comes_byte_by_byte_is_answered(port):
    with opened(port) as client:
        for byte in b"POST /p HTTP/1.1\r\nHost: x\r\ncontent-length:  3 \r\n\r\nabc":
            client.sendall(bytes([byte]))

        assert json.loads(answer_of(client)[2])["length"] == 3


def test_one_connection_carries_many_requests(port):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    for number in range(50):
        connection.request("POST", f"/{number}", b"x" * number)
        told = json.loads(connection.getresponse().read())
        assert (told["path"], told["length"]) == (f"/{number}", number)
    connection.close()


def test_requests_that_are_sent_at_once_are_answered_in_their_order(port):
    one = b"POST /%d HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nab"
    with opened(port, b"".join(one % number for number in range(5))) as client:
        file = client.makefile("rb")
        paths = []
        for _ in range(5):
            assert file.readline() == b"HTTP/1.1 200 OK\r\n"
            length = 0
            while (line := file.readline()) != b"\r\n":
                if line.lower().startswith(b"content-length"):
                    length = int(line.split(b":")[1])
            paths.append(json.loads(file.read(length))["path"])

    assert paths == [f"/{number}" for number in range(5)]


def test_a_body_that_is_not_read_is_not_taken_for_the_next_request(port):
    smuggled = b"GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n"
    head = b"POST /unread HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(smuggled)
    with opened(port, head + smuggled + b"GET /next HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n") as client:
        received = b""
        while data := client.recv(65_536):
            received += data

    assert b"/unread" in received
    assert b"/next" in received
    assert b"/smuggled" not in received


@pytest.mark.parametrize(
    "head",
    [
        b"Transfer-Encoding: chunked\r\n",
        b"Content-Length: 1\r\nContent-Length: 40\r\n",
        b"Content-Length: +40\r\n",
        b"Content-Length: 9999999999\r\n",
        b"Transfer-Encoding: chunked\r\nContent-Length: 3\r\n",
        b"Transfer-Encoding: gzip, chunked\r\n",
        b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n",
        b"Transfer-Encoding : chunked\r\n",
    ],
)
def test_after_a_body_of_unknown_or_refused_length_nothing_more_is_read(port, head):
    more = b"GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n"
    with opened(port, b"POST /unread HTTP/1.1\r\nHost: x\r\n" + head + b"\r\n" + more) as client:
        received = b""
        while data := client.recv(65_536):
            received += data

    assert received.startswith(b"HTTP/1.1 ")
    assert b"/smuggled" not in received


CHUNKED = b"POST /chunks HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n"


@pytest.mark.parametrize("piece", [1, 7, 1_000_000])
@pytest.mark.parametrize("extra", [b"", b";name=value"], ids=["plain", "with an extension"])
def test_a_body_in_chunks_is_read_however_it_arrives(port, piece, extra):
    body = b"".join(b"%X%s\r\n%s\r\n" % (len(part), extra, part) for part in (b"one ", b"t\r\n0\r\n\r\n", b"three"))
    sent = CHUNKED + b"\r\n" + body + b"0\r\nTrailer: dropped\r\n\r\n"
    with opened(port) as client:
        for start in range(0, len(sent), piece):
            client.sendall(sent[start : start + piece])
        status, _, content = answer_of(client)

    assert status == 200
    assert json.loads(content)["sha256"] == hashlib.sha256(b"one t\r\n0\r\n\r\nthree").hexdigest()


def test_a_large_body_in_chunks_and_the_request_behind_it_are_answered(port):
    part = os.urandom(60_000)
    chunks = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for _ in range(20)) + b"0\r\n\r\n"
    with opened(port, CHUNKED + b"\r\n" + chunks + b"GET /next HTTP/1.1\r\nHost: x\r\n\r\n") as client:
        file = client.makefile("rb")
        told = []
        for _ in range(2):
            length = 0
            while (line := file.readline()) != b"\r\n":
                if line.lower().startswith(b"content-length"):
                    length = int(line.split(b":")[1])
            told.append(json.loads(file.read(length)))

    assert [(one["path"], one["length"]) for one in told] == [("/chunks", 1_200_000), ("/next", 0)]
    assert told[0]["sha256"] == hashlib.sha256(part * 20).hexdigest()


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b"%x\r\n" % (MOST_BODY + 1), 413, "payload_too_large"),
        ((b"%x\r\n" % 100_000 + b"x" * 100_000 + b"\r\n") * 21, 413, "payload_too_large"),
        (b"zz\r\n", 400, "invalid_request"),
        (b"-1\r\n", 400, "invalid_request"),
        (b"3\r\nabcd\r\n0\r\n\r\n", 400, "invalid_request"),
        (b"1;" + b"x" * 5_000, 400, "invalid_request"),
        (b"0\r\n" + b"Trailer: x\r\n" * 2_000, 400, "invalid_request"),
    ],
    ids=["announced too large", "too large", "no number", "a sign", "longer than said", "a long line", "long trailers"],
)
def test_chunks_that_cannot_be_taken_are_refused(port, body, status, code):
    with opened(port, CHUNKED + b"\r\n") as client:
        client.sendall(body)
        answered, headers, content = answer_of(client)

    assert (answered, json.loads(content)["error"]["code"], headers["Connection"]) == (status, code, "close")


def test_who_asks_first_is_told_to_go_on_with_chunks(port):
    with opened(port, CHUNKED + b"Expect: 100-continue\r\n\r\n") as client:
        assert client.recv(100).startswith(b"HTTP/1.1 100 ")
        client.sendall(b"3\r\nabc\r\n0\r\n\r\n")
        received = b""
        while b"}" not in received:
            received += client.recv(65_536)

    assert b'"length": 3' in received


def test_who_asks_first_is_told_to_go_on(port):
    with opened(port, b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n") as client:
        assert client.recv(100).startswith(b"HTTP/1.1 100 ")
        client.sendall(b"abc")
        received = b""
        while b"}" not in received:
            received += client.recv(65_536)

    assert b'"length": 3' in received


def test_headers_without_an_end_are_refused(port):
    with opened(port, b"GET / HTTP/1.1\r\nX: " + b"x" * 70_000) as client:
        status, _, body = answer_of(client)

    assert (status, json.loads(body)["error"]["code"]) == (431, "headers_too_large")


@pytest.mark.parametrize("name", ["SCRIPT_NAME", "Script-Name", "PATH_INFO", "X-Forwarded-Proto", "X-Forwarded-SSL"])
def test_headers_of_a_forwarder_are_not_believed(port, name):
    told = ask(port, "/ops/", **{name: "/ops" if "P" in name and "_" in name else "https"})

    assert (told["path"], told["script"], told["scheme"]) == ("/ops/", "", "http")


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGTERM], ids=["reload", "stop"])
def test_a_request_that_takes_longer_than_a_stop_may_is_answered(tmp_path, number):
    config = CONFIG.replace("{threads}", str(THREADS)) + "graceful_timeout = 1\n"
    if number == signal.SIGTERM:
        # Who stops the server ends by force what is left then.
        config = config.replace("graceful_timeout = 1", f"graceful_timeout = {LATE_SECONDS + 5:.0f}")
    with run_gunicorn("tests.site.echo:application", config, tmp_path) as (port, process):
        client = opened(port, b"GET /late HTTP/1.1\r\nHost: x\r\n\r\n")
        time.sleep(0.5)
        process.send_signal(number)
        status, _, content = answer_of(client)
        assert (status, json.loads(content)["path"]) == (200, "/late")
