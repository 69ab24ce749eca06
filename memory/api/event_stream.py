"""Server-sent events (WHATWG HTML, 9.2): an answer that is sent while it is made.

Events are sent as soon as they exist, and a comment after PING_SECONDS without one. A stream occupies only a thread:
its database connection is closed before the first byte. While it waits for an event, it yields empty pieces. They put
nothing on the wire, but let the web server close the stream if its client has left.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Generator
from contextlib import closing
from contextvars import copy_context
from typing import Any, Self

from django.conf import settings
from django.db import connection, connections
from django.http import HttpRequest, StreamingHttpResponse

from memory import deadline
from memory.api.errors import describe_error
from memory.api.responses import error_body
from memory.enums import ErrorCode
from memory.errors import TooManyStreams
from memory.text.json_values import encode

log = logging.getLogger("memos.error")

# Limit of streams, model answers and long polls that a web process runs at once. Each occupies a thread.
MAX_STREAMS = 64
PING_SECONDS = 15.0
STREAM_HEADERS = {
    "Cache-Control": "no-cache, no-transform",
    # Keeps nginx from buffering the stream.
    "X-Accel-Buffering": "no",
    # Keeps proxies from compressing the stream, which would buffer it.
    "Content-Encoding": "identity",
}

_open: Counter[str] = Counter()
_lock = threading.Lock()


class Slot:
    """A caller's slot for one stream or model answer; their number at once is limited in each process.

    Raises TooManyStreams.
    """

    def __init__(self, caller: str) -> None:
        most = settings.MEMOS_STREAMS_PER_KEY
        with _lock:
            if _open.total() >= MAX_STREAMS:
                raise TooManyStreams(f"{MAX_STREAMS} streams or answers are under way. Try again in a moment.")
            if _open[caller] >= most:
                raise TooManyStreams(
                    f"This key has {most} streams or answers under way (MEMOS_STREAMS_PER_KEY). Let one end, or read "
                    "it to its end, and try again."
                )
            _open[caller] += 1
        self._caller: str | None = caller

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.give_back()

    def give_back(self) -> None:
        """Release the slot. Calling it again does nothing."""
        with _lock:
            if self._caller is not None:
                _open[self._caller] -= 1
                # Keys come and go, so callers without a stream are removed.
                _open[self._caller] or _open.pop(self._caller)
                self._caller = None


class EventStream:
    """The pieces of a streamed response, each made in the context of the caller who opened it."""

    def __init__(self, pieces: Generator[bytes], slot: Slot) -> None:
        self._pieces = pieces
        self._slot = slot
        with deadline.without_limit():
            self._context = copy_context()

    def __iter__(self) -> EventStream:
        return self

    def __next__(self) -> bytes:
        return self.advance(self._pieces)

    def advance(self, pieces: Generator[bytes]) -> bytes:
        """Return the next piece, made in the caller's context. Raises StopIteration and what the generator raises."""
        return self._context.run(next, pieces)

    def close(self) -> None:
        """Close the generator, give the slot back and close the thread's connections."""
        try:
            self._context.run(self._pieces.close)
        finally:
            self._slot.give_back()
            give_connection_back()


def write_event(number: int, name: str, data: Any) -> bytes:
    """Return an event: its number as `id`, its name, and its data as JSON on one line."""
    return b"id: %d\nevent: %s\ndata: %s\n\n" % (number, name.encode(), encode(data))


def respond(
    request: HttpRequest,
    events: Generator[tuple[str, Any] | None],
    slot: Slot,
    *,
    write: Callable[[int, str, Any], bytes] = write_event,
) -> StreamingHttpResponse:
    """Return a response that streams the events (name, data). None stands for no event yet. `write` encodes one."""
    give_connection_back()
    stream = EventStream(_write(request, events, write), slot)
    return StreamingHttpResponse(stream, content_type="text/event-stream", headers=STREAM_HEADERS)


def give_connection_back() -> None:
    """Close this thread's database connections. The next query opens a new one."""
    # A test's transaction needs its connection.
    if not connection.in_atomic_block:
        for one in connections.all(initialized_only=True):
            one.close()


def sleep_without_connection(seconds: float) -> None:
    """Sleep without holding a database connection, because other requests may wait for one."""
    give_connection_back()
    time.sleep(seconds)


def _write(
    request: HttpRequest, events: Generator[tuple[str, Any] | None], write: Callable[[int, str, Any], bytes]
) -> Generator[bytes]:
    number = 0
    spoke = time.monotonic()
    with closing(events):
        try:
            for event in events:
                if event is not None:
                    number += 1
                    give_connection_back()
                    yield write(number, *event)
                elif time.monotonic() - spoke < PING_SECONDS:
                    yield b""
                    continue
                else:
                    yield b": ping\n\n"
                spoke = time.monotonic()
        except Exception as error:
            yield write(number + 1, "error", _describe(request, error))


def _describe(request: HttpRequest, error: Exception) -> dict[str, Any]:
    status, code, message, detail, _ = describe_error(error)
    if status is None:
        log.exception("a stream broke off")
        code, message = (
            ErrorCode.INTERNAL_ERROR,
            "Something went wrong inside; the server's log has more under the request_id.",
        )
    return error_body(request, code, message, detail)
