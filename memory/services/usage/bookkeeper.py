"""Books calls of models in one thread of the process, with a separate connection.

A call may be made inside a transaction that is rolled back, by a thread that must not keep a connection, or by a stream
that has given up its own. A booking is committed at once, whatever happens to the work around it.
"""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, TypeVar

from django.db import OperationalError, connection

from memory.postgresql import reach

Result = TypeVar("Result")

# The most seconds that a call of a model waits for its booking.
WAIT_SECONDS = 10.0
# An idle process needs no second connection.
IDLE_SECONDS = 30.0


@dataclass(slots=True)
class _Desk:
    """The bookings that wait. A forked process gets a new one, because threads do not survive a fork."""

    pid: int = 0
    waiting: queue.SimpleQueue[tuple[Future[Any], Callable[[], Any]]] = field(default_factory=queue.SimpleQueue)


_desk = _Desk()
_opening = threading.Lock()


def book(work: Callable[[], Result]) -> Result:
    """Do the work in the booking thread, across namespaces, and return its result.

    Raises what the work raises, and OperationalError after WAIT_SECONDS.
    """
    if _desk.pid != os.getpid():
        _open()
    future: Future[Result] = Future()
    _desk.waiting.put((future, work))
    try:
        return future.result(timeout=WAIT_SECONDS)
    except TimeoutError as error:
        raise OperationalError(f"The database took more than {WAIT_SECONDS:g} s for a booking.") from error


def close() -> None:
    """Close the connection of the booking thread; the next work opens another one."""
    if _desk.pid == os.getpid():
        book(_close)


def _close() -> None:
    connection.close()


def _open() -> None:
    global _desk  # noqa: PLW0603 - one desk a process
    with _opening:
        if _desk.pid == os.getpid():
            return
        desk = _Desk(pid=os.getpid())
        threading.Thread(target=_work, args=(desk,), name="bookkeeper", daemon=True).start()
        _desk = desk


def _work(desk: _Desk) -> None:
    while True:
        try:
            future, work = desk.waiting.get(timeout=IDLE_SECONDS)
        except queue.Empty:
            connection.close()
            continue
        # Do it even if its caller no longer waits: a call that was made has its row.
        future.set_running_or_notify_cancel()
        try:
            connection.close_if_unusable_or_obsolete()
            with reach.across_namespaces():
                result = work()
        except BaseException as error:
            future.set_exception(error)
        else:
            future.set_result(result)
