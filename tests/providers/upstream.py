"""A chat model's endpoint that sends a test's bytes: it streams, breaks off, waits, or answers something else."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Reply:
    """A reply that sends `pieces` one by one.

    It `breaks` off after them, or waits for `before_last`, at most `waits` seconds, before it sends the last piece.
    """

    pieces: Sequence[bytes]
    status: int = 200
    content_type: str = "application/json"
    headers: dict[str, str] = field(default_factory=dict)
    breaks: bool = False
    before_last: threading.Event | None = None
    waits: float = 20.0

    @property
    def content(self) -> bytes:
        return b"".join(self.pieces)


def chunk(delta: dict[str, Any] | None = None, *, finish: str | None = None, **fields: Any) -> bytes:
    """Return an event of a stream, with spaces and fields that no other program would write like this."""
    choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish, "x": 1e-7}]
    said = {"id": "c-1", "object": "chat.completion.chunk", "created": 7, "model": "m", "choices": choices, **fields}
    return b"data:  " + json.dumps(said, indent=None, ensure_ascii=False).encode() + b"\n\n"


def streamed(*texts: str, **options: Any) -> Reply:
    """Return a stream of these pieces of text, with its end."""
    pieces = [chunk({"role": "assistant", "content": ""}), *(chunk({"content": text}) for text in texts)]
    ending = [] if options.get("breaks") else [chunk({}, finish="stop"), b"data: [DONE]\n\n"]
    return Reply([*pieces, *ending], content_type="text/event-stream", **options)


def whole(text: Any, *, finish: str | None = "stop", **message: Any) -> Reply:
    """Return a whole answer."""
    said_by = {"role": "assistant", "content": text, **message}
    said = {
        "id": "c-1",
        "object": "chat.completion",
        "created": 7,
        "model": "m",
        "choices": [{"index": 0, "message": said_by, "finish_reason": finish}],
        "usage": {"prompt_tokens": 12, "completion_tokens": 3, "total_tokens": 15},
        "unheard_of": [1.50, "ü"],
    }
    return Reply([json.dumps(said, indent=3).encode()])


@dataclass
class Upstream:
    """An endpoint where `answer(body)` makes the reply; `asked` has the received bodies and headers, and `left` tells
    when a reader left."""

    url: str
    answer: Callable[[dict[str, Any]], Reply]
    asked: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    left: threading.Event = field(default_factory=threading.Event)

    @property
    def messages(self) -> list[dict[str, Any]]:
        """Return the messages of the last request."""
        found: list[dict[str, Any]] = self.asked[-1]["messages"]
        return found


@contextlib.contextmanager
def serving_upstream(reply: Reply) -> Iterator[Upstream]:
    """Start an endpoint that answers with `reply`, which the test can change at any time (`upstream.answer`)."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            upstream.asked.append(body)
            upstream.headers.append({name.lower(): value for name, value in self.headers.items()})
            given = upstream.answer(body)
            try:
                self._send(given)
            except OSError:
                upstream.left.set()
            self.close_connection = True

        def _send(self, given: Reply) -> None:
            self.send_response(given.status)
            self.send_header("Content-Type", given.content_type)
            self.send_header("Transfer-Encoding", "chunked")
            self.send_header("Connection", "close")
            for name, value in given.headers.items():
                self.send_header(name, value)
            self.end_headers()
            for place, piece in enumerate(given.pieces):
                if given.before_last and place == len(given.pieces) - 1:
                    given.before_last.wait(given.waits)
                self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
                self.wfile.flush()
            if not given.breaks:
                self.wfile.write(b"0\r\n\r\n")

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    upstream = Upstream(f"http://127.0.0.1:{server.server_port}/v1", lambda _: reply)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield upstream
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
