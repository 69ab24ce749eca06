"""How many requests are being answered, over all web processes: background work takes what they leave.

Each web process adds the seconds that its requests took to one number in Redis, twice a second while there are any. Who
reads it twice knows how many were in flight on average: no clocks are compared, and no request makes a round trip.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from contextvars import ContextVar
from dataclasses import dataclass, field

from memory.errors import RedisAway
from memory.stores.redis import call

log = logging.getLogger("memos.load")

KEY = "memos:load:1:seconds"
EVERY_SECONDS = 0.5


@dataclass(slots=True)
class _Gauge:
    """The requests of this process, and the thread that tells Redis of them. A fork begins with its own."""

    pid: int = 0
    in_flight: int = 0
    # Summed up until `since` (monotonic), of all requests, finished or not.
    seconds: float = 0.0
    since: float = 0.0
    lock: threading.Lock = field(default_factory=threading.Lock)
    awake: threading.Event = field(default_factory=threading.Event)

    def move(self, change: int) -> None:
        """Counts the time until now, and `change` requests from now on."""
        with self.lock:
            now = time.monotonic()
            self.seconds += self.in_flight * (now - self.since)
            self.since = now
            self.in_flight += change
            if not self.awake.is_set():
                self.awake.set()

    def take(self) -> float:
        """The seconds since the last time. With none, and nothing in flight, the thread may sleep."""
        self.move(0)
        with self.lock:
            taken, self.seconds = self.seconds, 0.0
            if not taken and not self.in_flight:
                self.awake.clear()
        return taken


_gauge = _Gauge()
_starting = threading.Lock()
# Of the request of this thread.
_is_counted: ContextVar[bool] = ContextVar("is_counted", default=False)


def begin() -> None:
    """Count a request that has arrived, until `end`."""
    if _gauge.pid != os.getpid():
        _start()
    _is_counted.set(True)
    _gauge.move(1)


def end() -> None:
    """Count the request no more: it was answered, or waits for a model or a client. Twice is once."""
    if _is_counted.get():
        _is_counted.set(False)
        _gauge.move(-1)


def read() -> float:
    """Seconds that requests took since Redis is there, all together: compare two readings. Raises RedisAway."""
    return float(call(lambda client: client.get(KEY)) or 0.0)


def publish() -> float:
    """Adds this process's seconds to the sum now; returns them. Raises RedisAway, and they are lost."""
    taken = _gauge.take()
    if taken:
        call(lambda client: client.incrbyfloat(KEY, taken))
    return taken


def _start() -> None:
    global _gauge  # noqa: PLW0603 - one gauge a process
    with _starting:
        if _gauge.pid == os.getpid():
            return
        _gauge = _Gauge(pid=os.getpid(), since=time.monotonic())
        threading.Thread(target=_publish_for_ever, name="request-load", daemon=True).start()


def _publish_for_ever() -> None:
    while True:
        _gauge.awake.wait()
        time.sleep(EVERY_SECONDS)
        try:
            publish()
        except RedisAway as error:
            log.debug("load not told", extra={"reason": str(error)})
