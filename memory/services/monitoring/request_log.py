"""Counts and lists the API's requests without making them wait.

`record` puts a request into a buffer of this process. A thread, started with the first one, empties it once a second:
the counts go to RequestMinute by one statement, the requests to a stream in Redis that keeps the newest
MEMOS_REQUEST_LOG. Nothing here can fail a request. A killed process loses what it has not written: at most the last
second. When the database or Redis is away, the data of that second are lost too rather than kept: figures are worth
less than memory. A process that ends in order writes the rest.
"""

from __future__ import annotations

import atexit
import logging
import os
import threading
import time
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, NamedTuple

from django.conf import settings
from django.db import DatabaseError, InterfaceError, connection

from memory.errors import RedisAway
from memory.models import RequestMinute
from memory.models.queries.monitoring import add_requests
from memory.postgresql import reach
from memory.stores.redis import call

log = logging.getLogger("memos.request_log")

STREAM = "memos:requests"
EVERY_SECONDS = 1.0
# Upper ends of the latency buckets in milliseconds; the last bucket has none.
BOUNDS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000)
# More requests than a process can answer in a second.
MAX_BUFFERED = 50_000
IDLE_SECONDS = 30.0


class Recorded(NamedTuple):
    """An answered request. `at`: seconds since 1970; `namespace_id` 0: none."""

    at: float
    method: str
    route: str
    status: int
    milliseconds: float
    namespace_id: int
    key: str
    request_id: str
    empty_recall: bool


@dataclass(slots=True)
class _Buffer:
    """The unwritten requests of this process, and the locks of its thread. A forked process gets a new one."""

    pid: int = 0
    waiting: deque[Recorded] = field(default_factory=lambda: deque(maxlen=MAX_BUFFERED))
    starting: threading.Lock = field(default_factory=threading.Lock)
    writing: threading.Lock = field(default_factory=threading.Lock)


_buffer = _Buffer()


def record(
    *,
    method: str,
    route: str,
    status: int,
    milliseconds: float,
    namespace_id: int = 0,
    key: str = "",
    request_id: str = "",
    empty_recall: bool = False,
) -> None:
    """Record one answered request. Takes about a microsecond; the oldest are dropped when the buffer is full."""
    if _buffer.pid != os.getpid():
        _begin()
    _buffer.waiting.append(
        Recorded(time.time(), method, route, status, milliseconds, namespace_id, key, request_id, empty_recall)
    )


def _begin() -> None:
    """Give this process a new buffer and thread: threads do not survive a fork, and locks may be held."""
    global _buffer  # noqa: PLW0603 - one buffer a process
    with _buffer.starting if _buffer.pid == 0 else threading.Lock():
        if _buffer.pid == os.getpid():
            return
        _buffer = _Buffer(pid=os.getpid())
        threading.Thread(target=_write_for_ever, name="request-log", daemon=True).start()
        atexit.register(flush)


def _write_for_ever() -> None:
    quiet_since = time.monotonic()
    while True:
        time.sleep(EVERY_SECONDS)
        if _buffer.waiting:
            quiet_since = time.monotonic()
            try:
                connection.close_if_unusable_or_obsolete()
                flush()
            except Exception:
                # The thread goes on: a defect here must not end the figures of this process.
                log.exception("requests could not be counted")
        elif time.monotonic() - quiet_since > IDLE_SECONDS:
            # An idle process needs no second connection.
            connection.close()


def flush() -> int:
    """Write the buffered requests; return how many. Never raises when the database or Redis is away."""
    with _buffer.writing:
        taken = []
        while _buffer.waiting:
            taken.append(_buffer.waiting.popleft())
        if not taken:
            return 0
        try:
            _count(taken)
        except (DatabaseError, InterfaceError) as error:
            log.warning("figures of requests were lost", extra={"requests": len(taken), "reason": type(error).__name__})
        try:
            call(lambda client: _list(client, taken))
        except RedisAway:
            log.warning("the list of requests lacks some", extra={"requests": len(taken)})
        except Exception:
            # The thread goes on: a defect here must not end the figures of this process.
            log.exception("requests could not be listed")
        return len(taken)


def _count(taken: Iterable[Recorded]) -> None:
    sums: dict[tuple[int, datetime, str], list[Any]] = {}
    for one in taken:
        minute = datetime.fromtimestamp(one.at // 60 * 60, UTC)
        for namespace_id in {RequestMinute.ALL, one.namespace_id}:
            figures = sums.setdefault((namespace_id, minute, one.route[:100]), [0, 0, 0, [0] * (len(BOUNDS) + 1)])
            figures[0] += 1
            figures[1] += one.status >= 400
            figures[2] += one.empty_recall
            figures[3][bucket_of(one.milliseconds)] += 1
    # Keep one order everywhere, so that two processes do not deadlock.
    rows = [(*key, *figures) for key, figures in sorted(sums.items())]
    with reach.across_namespaces():
        add_requests(rows)


def bucket_of(milliseconds: float) -> int:
    """Return the index of the latency bucket."""
    return next((index for index, bound in enumerate(BOUNDS) if milliseconds <= bound), len(BOUNDS))


def _list(client: Any, taken: Iterable[Recorded]) -> None:
    limit = settings.MEMOS_REQUEST_LOG
    with client.pipeline(transaction=False) as pipe:
        for one in taken:
            fields = {
                "at": f"{one.at:.3f}",
                "method": one.method,
                "route": one.route,
                "status": one.status,
                "ms": f"{one.milliseconds:.1f}",
                "namespace_id": one.namespace_id,
                "key": one.key,
                "request_id": one.request_id,
            }
            pipe.xadd(STREAM, fields, maxlen=limit, approximate=True)
        pipe.execute()
