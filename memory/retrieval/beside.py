"""The part of a search that runs beside the rest: in a second thread, on a connection of its own.

A process has one such thread at most, so it opens one connection more, whatever it is asked. Who finds the thread at
work does everything in turn: where all cores are busy, two threads a question would make none of them faster.
"""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextvars import Context, copy_context
from typing import Any, NamedTuple, TypeVar

from django.db import DatabaseError, InterfaceError, connection

from memory.models.sql import carry_limit
from memory.postgresql import replica

Result = TypeVar("Result")

log = logging.getLogger("memos.search")

# A connection that nothing was asked of for so long is closed: it takes memory of PostgreSQL.
IDLE_SECONDS = 60.0


class _SearchPart(NamedTuple):
    """What to do, in the context of the thread that asks for it: whose rows it may touch, and its trace."""

    work: Callable[[], Any]
    context: Context
    result: Future[Any]


class SecondThread:
    """Does one part of a search at a time."""

    def __init__(self) -> None:
        self._free = threading.Semaphore(1)
        self._parts: queue.SimpleQueue[_SearchPart | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="search-beside", daemon=True)
        self._thread.start()

    def begin(self, work: Callable[[], Result]) -> Future[Result] | None:
        """Has `work` done, which only reads; None if another part is being done."""
        if not self._free.acquire(blocking=False):
            return None
        part = _SearchPart(carry_limit(work), copy_context(), Future())
        self._parts.put(part)
        return part.result

    def close(self) -> None:
        """Waits until the thread has ended."""
        self._parts.put(None)
        self._thread.join()

    def _work(self) -> None:
        while True:
            try:
                part = self._parts.get(timeout=None if connection.connection is None else IDLE_SECONDS)
            except queue.Empty:
                _leave(connection.close)
                continue
            if part is None:
                _leave(connection.close)
                return
            try:
                result = part.context.run(part.work)
            except BaseException as error:  # whoever waits for the part is told
                part.result.set_exception(error)
            else:
                part.result.set_result(result)
                del result
            del part
            # As after a request: a connection that failed, or is old, is not used again.
            _leave(connection.close_if_unusable_or_obsolete)
            self._free.release()


def _leave(close: Callable[[], None]) -> None:
    """Closes the connection, or what is left of it: the thread goes on, for others wait for what they begin."""
    try:
        close()
    except (DatabaseError, InterfaceError) as error:
        log.warning("a connection was not closed", extra={"reason": str(error)})


_second: SecondThread | None = None


def open_second_thread() -> None:
    """From now on parts of searches run beside the rest; called after a fork."""
    global _second  # noqa: PLW0603 - one a process
    _second = SecondThread()


def close_second_thread() -> None:
    """From now on everything is done in turn."""
    global _second
    second, _second = _second, None
    if second is not None:
        second.close()


def begin(work: Callable[[], Result]) -> Future[Result] | None:
    """Has `work`, which only reads, done beside what the caller does next; None where the caller had better do it.

    Not within a transaction, whose rows no other connection sees, nor while the caller reads from a replica, of which
    there is no second connection.
    """
    if _second is None or connection.in_atomic_block or replica.is_reading():
        return None
    return _second.begin(work)
