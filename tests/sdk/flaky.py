"""A proxy on loopback that loses answers, or reports that it is busy, before it does its work."""

from __future__ import annotations

import contextlib
import http.client
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

# The status and Retry-After of each fault.
_REFUSALS = {"busy": (503, "0.01"), "limited": (429, "0.01"), "spent": (429, "3600")}


class Flaky:
    """The state of the proxy.

    `faults` are the next requests' faults in order: "lost" (the request is passed on, its answer is not), "busy" (503),
    "limited" (429), "spent" (429, for an hour), "" (none). `keys` has the Idempotency-Key of each request.
    """

    def __init__(self) -> None:
        self.url = ""
        self.faults: list[str] = []
        self.keys: list[str | None] = []


@contextlib.contextmanager
def flaky_proxy(target: str, *, port: int = 0) -> Iterator[Flaky]:
    """Start a proxy in front of `target`, on any free port unless one is named."""
    flaky = Flaky()
    host = urlsplit(target).netloc

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            flaky.keys.append(self.headers.get("Idempotency-Key"))
            fault = flaky.faults.pop(0) if flaky.faults else ""
            if fault in _REFUSALS:
                self._refuse(*_REFUSALS[fault])
                return
            upstream = http.client.HTTPConnection(host, timeout=30)
            upstream.request(self.command, self.path, body, dict(self.headers))
            answer = upstream.getresponse()
            content = answer.read()
            upstream.close()
            if fault == "lost":
                self.close_connection = True
                self.connection.close()
                return
            self.send_response(answer.status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_PUT = do_DELETE = do_GET = do_POST

        def _refuse(self, status: int, seconds: str) -> None:
            self.send_response(status)
            self.send_header("Retry-After", seconds)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    flaky.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield flaky
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
