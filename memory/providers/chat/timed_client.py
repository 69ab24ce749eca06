"""Creates an HTTP client whose answers end in time: the timeout covers the whole answer instead of each read.

Answers also end when the `Cancellation` of their context is cancelled. Without this, an answer that trickles would
never time out, because the client's own limit is for each read.
"""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Iterator

import httpx2
import openai

from memory.providers.chat.cancellation import CallCancelled, current
from memory.providers.tls import tls_context

_DEADLINE = "memos_deadline"


def create_timed_client() -> httpx2.Client:
    """Create the SDK's default client (with proxies of the environment and kept connections) with a total timeout."""
    return openai.DefaultHttpxClient(verify=tls_context(), event_hooks={"request": [_begin], "response": [_watch]})


class _TimedStream(httpx2.SyncByteStream):
    """The body of an answer, whose connection is shut down at the deadline or on cancellation to end a pending read."""

    def __init__(self, response: httpx2.Response, seconds: float) -> None:
        self._stream = response.stream
        self._network = response.extensions["network_stream"]
        self._is_late = self._is_cancelled = False
        self._timer = threading.Timer(max(seconds, 0), self._be_late)
        self._timer.daemon = True
        self._timer.start()
        self._cancellation = current.get()
        if self._cancellation:
            self._cancellation.add(self._cancel)

    def __iter__(self) -> Iterator[bytes]:
        assert isinstance(self._stream, httpx2.SyncByteStream)
        try:
            for part in self._stream:
                self._check_end()
                yield part
        except httpx2.TransportError as error:
            self._check_end(error)
            raise
        self._check_end()

    def close(self) -> None:
        self._timer.cancel()
        if self._cancellation:
            self._cancellation.remove(self._cancel)
        assert isinstance(self._stream, httpx2.SyncByteStream)
        self._stream.close()

    def _check_end(self, error: Exception | None = None) -> None:
        if self._is_cancelled:
            raise CallCancelled from error
        if self._is_late:
            raise httpx2.ReadTimeout("the answer took too long") from error

    def _be_late(self) -> None:
        self._is_late = True
        self._shut_down()

    def _cancel(self) -> None:
        self._is_cancelled = True
        self._shut_down()

    def _shut_down(self) -> None:
        # Shut down the plain socket below TLS, because the TLS object belongs to the reading thread.
        with contextlib.suppress(OSError):
            socket.socket.shutdown(self._network.get_extra_info("socket"), socket.SHUT_RDWR)


def _begin(request: httpx2.Request) -> None:
    seconds = request.extensions["timeout"]["read"]
    if seconds is not None:
        request.extensions[_DEADLINE] = time.monotonic() + seconds


def _watch(response: httpx2.Response) -> None:
    deadline = response.request.extensions.get(_DEADLINE)
    if deadline is not None:
        response.stream = _TimedStream(response, deadline - time.monotonic())
