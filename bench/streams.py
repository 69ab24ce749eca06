#!/usr/bin/env python
"""Measures how long streams of answers delay a plain query, on a separate server.

    python bench/streams.py [--streams 24] [--seconds 20]

A test model sends a word every quarter of a second. Queries are sent one after the other, alternately without streams
and with open ones. Prints one JSON object: milliseconds, and the megabytes that each web process does not share (USS).
"""

from __future__ import annotations

import argparse
import http.client
import json
import statistics
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from whole_server import WholeServer

FACTS = 200
WORD_SECONDS, WORDS = 0.25, 16
QUESTION = {"namespace": "bench", "query": "Who reviews migration 7 before release 7?", "max_tokens": 400}


class SlowModel(BaseHTTPRequestHandler):
    """Streams WORDS words, one every WORD_SECONDS."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        for number in range(WORDS + 1):
            ends = number == WORDS
            delta, finish = ({}, "stop") if ends else ({"content": "word "}, None)
            choice = {"index": 0, "delta": delta, "finish_reason": finish}
            chunk = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "slow", "choices": [choice]}
            try:
                self.wfile.write(b"data: " + json.dumps(chunk).encode() + b"\n\n")
                self.wfile.flush()
            except OSError:
                return
            time.sleep(WORD_SECONDS)

    def log_message(self, *_: object) -> None:
        """Suppresses the log."""


def post(server: WholeServer, path: str, body: dict[str, Any]) -> http.client.HTTPResponse:
    """Sends a request, and returns the answer, which is still to be read."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=120)
    headers = {"Authorization": f"Bearer {server.key}", "Content-Type": "application/json"}
    connection.request("POST", path, json.dumps(body), headers)
    return connection.getresponse()


def fill(server: WholeServer) -> None:
    """Remembers FACTS facts."""
    texts = [f"Engineer {number} reviews migration {number} before release {number}." for number in range(FACTS)]
    items = [{"namespace": "bench", "session_id": "s", "text": text} for text in texts]
    answer = post(server, "/v1/ingest/batch", {"items": items})
    answer.read()
    if answer.status != 200:
        raise SystemExit(f"ingest answered {answer.status}")


class Streams:
    """Keeps a number of streams open, and replaces each when it has ended."""

    def __init__(self, server: WholeServer, count: int) -> None:
        self._server, self._count = server, count
        self._over = threading.Event()
        self.first_event_ms: list[float] = []
        self.ended = 0

    def __enter__(self) -> Streams:
        self._threads = [threading.Thread(target=self._read) for _ in range(self._count)]
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()

    def _read(self) -> None:
        while not self._over.is_set():
            began = time.perf_counter()
            answer = post(self._server, "/v1/answer/stream", QUESTION)
            answer.readline()
            self.first_event_ms.append(1000 * (time.perf_counter() - began))
            self.ended += b"event: done" in answer.read()


def query(server: WholeServer, seconds: float) -> list[float]:
    """Returns the milliseconds of queries that are sent one after the other."""
    took, until = [], time.monotonic() + seconds
    while time.monotonic() < until:
        began = time.perf_counter()
        answer = post(server, "/v1/query", {"namespace": "bench", "query": "Which migration does engineer 9 review?"})
        answer.read()
        took.append(1000 * (time.perf_counter() - began))
        if answer.status != 200:
            raise SystemExit(f"a query answered {answer.status}")
    return took


def describe(took: list[float]) -> dict[str, float]:
    """Returns the median, the slowest and the number of times."""
    return {"p50": round(statistics.median(took), 1), "worst": round(max(took), 1), "count": len(took)}


def own_megabytes(server: WholeServer) -> list[float]:
    """Returns the megabytes that each web process does not share, largest first."""
    web = server.by_role()["web worker"]
    return sorted((round(process.memory_full_info().uss / 1e6, 1) for process in web), reverse=True)


def measure(url: str, streams: int, seconds: float) -> dict[str, Any]:
    """Measures one server."""
    with tempfile.TemporaryDirectory() as folder:
        server = WholeServer(
            Path(folder),
            MEMOS_LLM_ENABLED="1",
            MEMOS_LLM_PROVIDER="vllm",
            MEMOS_LLM_BASE_URL=url,
            MEMOS_LLM_MODEL="slow",
            MEMOS_STREAMS_PER_KEY=str(streams),
        )
        server.start()
        try:
            fill(server)
            query(server, 3.0)
            alone = query(server, seconds)
            with Streams(server, streams) as running:
                time.sleep(2.0)
                beside = query(server, seconds)
            return {
                "query_ms_alone": describe(alone),
                "query_ms_beside_streams": describe(beside),
                "first_event_ms": describe(running.first_event_ms),
                "streams_ended": running.ended,
                "own_megabytes": own_megabytes(server),
            }
        finally:
            server.stop()


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--streams", type=int, default=24)
    arguments.add_argument("--seconds", type=float, default=20.0, help="of each measurement")
    given = arguments.parse_args()
    model = ThreadingHTTPServer(("127.0.0.1", 0), SlowModel)
    model.daemon_threads = True
    threading.Thread(target=model.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{model.server_port}/v1"
    print(json.dumps(measure(url, given.streams, given.seconds), indent=2))


if __name__ == "__main__":
    main()
