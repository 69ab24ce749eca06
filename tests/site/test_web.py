"""The web server on the wire: limits, slow clients, bodies in chunks, streams, HTTP/2, replaced processes."""

from __future__ import annotations

import hashlib
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import h2.config
import h2.connection
import h2.events
import psutil
import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.crash.server import wait_for
from tests.site.web_server import run_web

THREADS = 2
RECEIVE_SECONDS = 3
MAX_BODY = 2_000_000


@pytest.fixture(scope="module")
def port(tmp_path_factory) -> Iterator[int]:
    """Start a server of one process that works on THREADS requests at once."""
    folder = tmp_path_factory.mktemp("web")
    limits = {"ECHO_RECEIVE_SECONDS": str(RECEIVE_SECONDS), "MEMOS_MAX_BODY_BYTES": str(MAX_BODY)}
    with run_web(folder, MEMOS_WEB_THREADS=str(THREADS), **limits) as (number, _):
        yield number
    log = (folder / "log").read_text()
    assert "traceback" not in log.lower(), log[-3000:]


def ask(port: int, path: str = "/", body: bytes | None = None, **headers: str) -> dict[str, Any]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    connection.request("GET" if body is None else "POST", path, body, headers)
    answer = json.loads(connection.getresponse().read())
    connection.close()
    return dict(answer)


def opened(port: int, data: bytes = b"") -> socket.socket:
    client = socket.create_connection(("127.0.0.1", port), timeout=RECEIVE_SECONDS + 15)
    client.sendall(data)
    return client


def answer_of(client: socket.socket) -> tuple[int, dict[str, str], bytes]:
    response = http.client.HTTPResponse(client)
    response.begin()
    return response.status, {name.lower(): value for name, value in response.getheaders()}, response.read()


def read_all(client: socket.socket) -> bytes:
    received = b""
    while data := client.recv(65_536):
        received += data
    return received


def read_answers(client: socket.socket, count: int) -> list[dict[str, Any]]:
    file, told = client.makefile("rb"), []
    for _ in range(count):
        length = 0
        while (line := file.readline()) != b"\r\n":
            if line.lower().startswith(b"content-length"):
                length = int(line.split(b":")[1])
        told.append(json.loads(file.read(length)))
    return told


SLOW = {
    "nothing at all": b"",
    "a head without an end": b"POST / HTTP/1.1\r\nHost: localhost\r\nX-Slow: ",
    "a body that does not come": b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 500\r\n\r\n{",
    "chunks that do not come": b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n1",
}


@pytest.mark.parametrize("kind", SLOW)
def test_clients_that_send_slowly_hold_up_nobody(port, kind):
    with ExitStack() as stack:
        slow = [stack.enter_context(opened(port, SLOW[kind])) for _ in range(60)]
        answered = []
        for number in range(10):
            for client in slow[number::10]:
                if SLOW[kind]:
                    client.sendall(b"1")
            answered.append(ask(port, f"/{number}", b"{}")["path"])

    assert answered == [f"/{number}" for number in range(10)]


def test_more_slow_clients_than_there_are_threads_hold_up_nobody(port):
    with ExitStack() as stack:
        for _ in range(600):
            stack.enter_context(opened(port, SLOW["a body that does not come"]))
        assert ask(port, "/", b"{}")["length"] == 2


@pytest.mark.parametrize("kind", ["a body that does not come", "chunks that do not come"])
def test_a_body_that_does_not_arrive_in_time_is_a_408_however_steadily_it_comes(port, kind):
    with opened(port, SLOW[kind]) as client:
        client.settimeout(0.5)
        received = b""
        while not received:
            client.sendall(b"1")
            try:
                received = client.recv(65_536)
            except TimeoutError:
                continue

    head, _, body = received.partition(b"\r\n\r\n")
    error = json.loads(body)["error"]
    assert head.startswith(b"HTTP/1.1 408 ")
    assert error["code"] == "request_timeout"
    assert f"within {RECEIVE_SECONDS} seconds" in error["message"]
    assert f"x-request-id: {error['request_id']}".encode() in head


def test_a_head_that_does_not_arrive_in_time_ends_the_connection(port):
    with opened(port, SLOW["a head without an end"]) as client:
        assert client.recv(100) == b""


@pytest.mark.parametrize("length", [0, 1, 100, 65_536, 131_071, 131_072, 131_073, MAX_BODY])
def test_a_body_arrives_as_it_was_sent(port, length):
    body = os.urandom(length)

    told = ask(port, "/in", body)

    assert (told["length"], told["sha256"]) == (length, hashlib.sha256(body).hexdigest())


def test_a_request_that_comes_byte_by_byte_is_answered(port):
    with opened(port) as client:
        for byte in b"POST /p HTTP/1.1\r\nHost: localhost\r\ncontent-length:  3 \r\n\r\nabc":
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
    one = b"POST /%d HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\nab"
    with opened(port, b"".join(one % number for number in range(5))) as client:
        assert [told["path"] for told in read_answers(client, 5)] == [f"/{number}" for number in range(5)]


@pytest.mark.parametrize(
    ("head", "status"),
    [
        (b"Content-Length: 1\r\nContent-Length: 40\r\n", 400),
        (b"Content-Length: +40\r\n", 400),
        (b"Content-Length: 9999999999\r\n", 413),
        (b"Transfer-Encoding: gzip, chunked\r\n", 400),
        (b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n", 400),
        (b"Transfer-Encoding : chunked\r\n", 400),
    ],
)
def test_after_a_body_of_unknown_or_refused_length_nothing_more_is_read(port, head, status):
    more = b"GET /smuggled HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with opened(port, b"POST /unread HTTP/1.1\r\nHost: localhost\r\n" + head + b"\r\n" + more) as client:
        received = read_all(client)

    assert received.startswith(b"HTTP/1.1 %d " % status)
    assert b"/smuggled" not in received


CHUNKED = b"POST /chunks HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n"


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
    with opened(port, CHUNKED + b"\r\n" + chunks + b"GET /next HTTP/1.1\r\nHost: localhost\r\n\r\n") as client:
        told = read_answers(client, 2)

    assert [(one["path"], one["length"]) for one in told] == [("/chunks", 1_200_000), ("/next", 0)]
    assert told[0]["sha256"] == hashlib.sha256(part * 20).hexdigest()


def test_chunks_of_more_than_a_body_may_have_are_refused(port):
    with opened(port, CHUNKED + b"\r\n") as client:
        client.sendall((b"%x\r\n" % 100_000 + b"x" * 100_000 + b"\r\n") * 21)
        status, _, content = answer_of(client)

    assert (status, json.loads(content)["error"]["code"]) == (413, "payload_too_large")


FORM = b"Content-Type: multipart/form-data; boundary=edge\r\n"


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b'--edge\r\nContent-Disposition: form-data; name="a"\r\n\r\nb\r\n--edge--\r\n', 200),
        (b"--edge\r\nContent-", 400),
    ],
    ids=["whole", "cut off"],
)
def test_a_form_in_chunks_that_ends_too_early_is_refused(port, body, status):
    chunk = b"%x\r\n%s\r\n" % (len(body), body)
    with opened(port, CHUNKED + FORM + b"\r\n" + chunk + (b"0\r\n\r\n" if status == 200 else b"zz\r\n")) as client:
        assert answer_of(client)[0] == status


@pytest.mark.parametrize(
    ("head", "body"),
    [(b"Content-Length: 3\r\n", b"abc"), (b"Transfer-Encoding: chunked\r\n", b"3\r\nabc\r\n0\r\n\r\n")],
    ids=["with a length", "in chunks"],
)
def test_who_asks_first_is_told_to_go_on(port, head, body):
    with opened(port, b"POST / HTTP/1.1\r\nHost: localhost\r\n" + head + b"Expect: 100-continue\r\n\r\n") as client:
        assert client.recv(100).startswith(b"HTTP/1.1 100 ")
        client.sendall(body)
        assert json.loads(answer_of(client)[2])["length"] == 3


def test_who_asks_first_is_told_not_to_send_a_body_that_is_too_large(port):
    head = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\nExpect: 100-continue\r\n\r\n" % (MAX_BODY + 1)
    with opened(port, head) as client:
        assert answer_of(client)[0] == 413


def test_headers_without_an_end_are_refused(port):
    with opened(port, b"GET / HTTP/1.1\r\nX: " + b"x" * 70_000) as client:
        assert answer_of(client)[0] == 431


@pytest.mark.parametrize("name", ["SCRIPT_NAME", "Script-Name", "PATH_INFO", "X-Forwarded-Proto", "X-Forwarded-SSL"])
def test_headers_of_a_forwarder_are_not_believed(port, name):
    told = ask(port, "/ops/", **{name: "/ops" if "P" in name and "_" in name else "https"})

    assert (told["path"], told["script"], told["scheme"]) == ("/ops/", "", "http")


def test_http_2_is_spoken_to_a_client_that_knows_it(port):
    connection = h2.connection.H2Connection(h2.config.H2Configuration())
    body = os.urandom(50_000)
    with opened(port) as client:
        connection.initiate_connection()
        fields = [(":method", "POST"), (":path", "/two"), (":authority", "localhost"), (":scheme", "http")]
        for stream in (1, 3):
            connection.send_headers(stream, fields)
        for start in range(0, len(body), 10_000):
            connection.send_data(1, body[start : start + 10_000])
        connection.end_stream(1)
        connection.send_data(3, b"short", end_stream=True)
        client.sendall(connection.data_to_send())
        answers = {1: b"", 3: b""}
        ended: set[int] = set()
        while ended != {1, 3}:
            for event in connection.receive_data(client.recv(65_536)):
                if isinstance(event, h2.events.DataReceived):
                    answers[event.stream_id] += event.data
                elif isinstance(event, h2.events.StreamEnded):
                    ended.add(event.stream_id)

    told = json.loads(answers[1])
    assert (told["protocol"], told["path"], told["sha256"]) == ("HTTP/2", "/two", hashlib.sha256(body).hexdigest())
    assert json.loads(answers[3])["length"] == 5


def test_a_client_that_takes_nothing_of_its_answer_loses_it(port, tmp_path):
    closed = tmp_path / "closed"
    with opened(port, f"GET /endless?closed={closed} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()):
        wait_for(closed.exists, seconds=20, what="the answer is ended")


def test_64_streams_at_once_leave_room_for_requests_and_end_with_their_clients(port, tmp_path):
    closed = [tmp_path / f"closed-{number}" for number in range(64)]
    with ExitStack() as stack:
        for file in closed:
            client = stack.enter_context(
                opened(port, f"GET /stream?closed={file} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            )
            lines = stack.enter_context(client.makefile("rb"))
            assert next(line for line in lines if line.startswith(b"data:")) == b"data: begun\n"
        assert ask(port, "/beside", b"{}")["path"] == "/beside"
        assert not any(file.exists() for file in closed)

    wait_for(lambda: all(file.exists() for file in closed), seconds=20, what="streams end with their clients")


def test_a_request_under_way_is_answered_when_the_server_stops(tmp_path):
    with run_web(tmp_path) as (port, process):
        client = opened(port, f"GET /late?until={tmp_path / 'now'} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        wait_for((tmp_path / "now.begun").exists, what="the request is under way")
        process.send_signal(signal.SIGTERM)
        wait_for(lambda: not takes_connections(port), what="the server takes no more")
        (tmp_path / "now").touch()
        status, _, content = answer_of(client)

    assert (status, content) == (200, b"late")


def takes_connections(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


def workers_of(process: subprocess.Popen[bytes]) -> list[psutil.Process]:
    return psutil.Process(process.pid).children()


def test_a_killed_process_is_replaced_and_its_counts_are_kept(tmp_path):
    metrics = tmp_path / "metrics"
    metrics.mkdir()
    with run_web(tmp_path, MEMOS_WEB_WORKERS="2", PROMETHEUS_MULTIPROC_DIR=str(metrics)) as (port, process):
        for _ in range(40):
            ask(port)
        [killed, other] = workers_of(process)
        killed.kill()
        wait_for(
            lambda: len(workers_of(process)) == 2 and not killed.is_running() and len(places(metrics)) == 2,
            what="another process in its place",
        )
        for _ in range(40):
            ask(port)
        assert other.is_running()
        assert count(metrics) == 80
        assert places(metrics) == ["web-0", "web-1"]


def test_processes_end_with_a_first_process_that_is_killed(tmp_path):
    with run_web(tmp_path, MEMOS_WEB_WORKERS="2") as (_, process):
        workers = workers_of(process)
        process.kill()
        assert not psutil.wait_procs(workers, timeout=10)[1]


def places(metrics: Path) -> list[str]:
    return sorted({file.stem.partition("_")[2] for file in metrics.glob("counter_*.db")})


def count(metrics: Path) -> float:
    program = "from memory.metrics import exposition; print(exposition({}).decode())"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PROMETHEUS_MULTIPROC_DIR": str(metrics)},
        capture_output=True,
        text=True,
        check=True,
    )
    return sum(
        sample.value
        for family in text_string_to_metric_families(done.stdout)
        for sample in family.samples
        if sample.name == "memos_http_requests_total"
    )
