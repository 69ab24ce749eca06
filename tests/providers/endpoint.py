"""An HTTP endpoint on loopback that gives a test's answers and records its requests."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Asked:
    """One request that arrived."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]


@dataclass
class Endpoint:
    """A fake endpoint. `answer(body)` returns (status, content), and optionally headers.

    The content is sent as JSON. Bytes are sent unchanged, and an iterator of bytes piece by piece, until it ends or the
    reader has gone.
    """

    url: str
    answer: Callable[[dict[str, Any]], tuple[Any, ...]]
    asked: list[Asked] = field(default_factory=list)
    # Set when an answer has been sent, or its reader has left.
    left: threading.Event = field(default_factory=threading.Event)
    # Set at the end, so that a waiting answer does not outlive its test.
    closing: threading.Event = field(default_factory=threading.Event)


@contextlib.contextmanager
def serving(answer: Callable[[dict[str, Any]], tuple[Any, ...]]) -> Iterator[Endpoint]:
    """Start an endpoint that answers with `answer`, which the test can change at any time (`endpoint.answer`)."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            headers = {name.lower(): value for name, value in self.headers.items()}
            endpoint.asked.append(Asked(self.path, headers, body))
            status, reply, *more = endpoint.answer(body)
            streamed = isinstance(reply, Iterator)
            content = reply if isinstance(reply, bytes) or streamed else json.dumps(reply).encode()
            with contextlib.suppress(OSError):
                self.send_response(status)
                kind = "text/event-stream" if streamed else "text/html" if isinstance(reply, bytes) else None
                self.send_header("Content-Type", kind or "application/json")
                for name, value in (more[0] if more else {}).items():
                    self.send_header(name, value)
                if not streamed:
                    self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                for piece in content if streamed else (content,):
                    self.wfile.write(piece)
                    self.wfile.flush()
            endpoint.left.set()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    endpoint = Endpoint(f"http://127.0.0.1:{server.server_port}/v1", answer)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield endpoint
    finally:
        endpoint.closing.set()
        server.shutdown()
        thread.join()
        server.server_close()
