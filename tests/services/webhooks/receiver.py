"""A receiver of webhooks on loopback, which records its messages and gives a test's answers."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from standardwebhooks import Webhook as Verifier

# The status, the headers, and the pieces of the body.
Answer = tuple[int, dict[str, str], Iterator[bytes] | bytes]


@dataclass
class Received:
    """A message as it came."""

    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def event(self) -> dict[str, Any]:
        return dict(json.loads(self.body))

    def verify(self, secret: str) -> dict[str, Any]:
        """Check the message with the receivers' own library; raise WebhookVerificationError if it is wrong."""
        return dict(Verifier(secret).verify(self.body, self.headers))


@dataclass
class Receiver:
    """A fake receiver; `answer` is called for every message."""

    port: int
    answer: Callable[[Received], Answer]
    received: list[Received] = field(default_factory=list)
    closing: threading.Event = field(default_factory=threading.Event)

    def url(self, host: str = "127.0.0.1", path: str = "/hook") -> str:
        return f"http://{host}:{self.port}{path}"

    @property
    def types(self) -> list[str]:
        return [one.event["type"] for one in self.received]


def accept(_: Received) -> Answer:
    return 204, {}, b""


def refuse(status: int = 500, headers: dict[str, str] | None = None) -> Callable[[Received], Answer]:
    return lambda _: (status, headers or {}, b"no")


@contextlib.contextmanager
def receiving(answer: Callable[[Received], Answer] = accept) -> Iterator[Receiver]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            one = Received(self.path, {name.lower(): value for name, value in self.headers.items()}, body)
            receiver.received.append(one)
            status, headers, pieces = receiver.answer(one)
            with contextlib.suppress(OSError):
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                if isinstance(pieces, bytes):
                    self.send_header("Content-Length", str(len(pieces)))
                self.end_headers()
                for piece in [pieces] if isinstance(pieces, bytes) else pieces:
                    self.wfile.write(piece)
                    self.wfile.flush()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    receiver = Receiver(server.server_port, answer)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield receiver
    finally:
        receiver.closing.set()
        server.shutdown()
        thread.join()
        server.server_close()
