"""The threads that answer requests: of those that wait, the one that has worked last is next.

concurrent.futures goes round all of them, so each thread of a server with little to do keeps a connection, for which
PostgreSQL has a process of 9 MB. Here few of them do the work of quiet hours, and the others close theirs.
"""

from __future__ import annotations

import logging
import queue
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor, Future
from functools import partial
from typing import Any, NamedTuple, TypeVar

from django.db import connections

Result = TypeVar("Result")

log = logging.getLogger("memos.web")

# A thread that had nothing to do for so long closes its connections.
IDLE_SECONDS = 10.0


class _Call(NamedTuple):
    work: Callable[[], Any]
    result: Future[Any]

    def answer(self, done: Callable[[], None]) -> None:
        """Does the work. `done` is called before whoever waits for the result is told: what is asked next finds this
        thread free."""
        if not self.result.set_running_or_notify_cancel():
            done()
            return
        try:
            result = self.work()
        except BaseException as error:  # whoever waits for it is told
            done()
            self.result.set_exception(error)
        else:
            done()
            self.result.set_result(result)


class RequestThreads(Executor):
    """At most `most` threads, each made when all others work. They end with the process, which waits for them by
    `shutdown` only."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._changing = threading.Lock()
        self._waiting: deque[_Call] = deque()
        # The one that has worked last is at the end.
        self._idle: list[_Thread] = []
        self._threads: list[_Thread] = []
        self._is_shut_down = False

    def submit(self, fn: Callable[..., Result], /, *args: Any, **kwargs: Any) -> Future[Result]:
        """Has `fn` called with the arguments. Raises RuntimeError after `shutdown`."""
        call = _Call(lambda: fn(*args, **kwargs), Future())
        with self._changing:
            if self._is_shut_down:
                raise RuntimeError("no request is answered any more: the server stops")
            if self._idle:
                self._idle.pop().calls.put(call)
            elif len(self._threads) >= self._most or not self._start_thread(call):
                self._waiting.append(call)
        return call.result

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Takes nothing more; each thread ends when nothing waits for it. `wait` returns when all have."""
        with self._changing:
            self._is_shut_down = True
            dropped = list(self._waiting) if cancel_futures else []
            if cancel_futures:
                self._waiting.clear()
            idle, self._idle = self._idle, []
        for call in dropped:
            call.result.cancel()
        for thread in idle:
            thread.calls.put(None)
        if wait:
            for thread in self._threads:
                thread.join()

    def _start_thread(self, call: _Call) -> bool:
        """Starts one more, with something to do; False where the system has none left and others are there."""
        thread = _Thread(self, len(self._threads))
        try:
            thread.start()
        except RuntimeError:
            if not self._threads:
                raise
            log.exception("no further thread could be started: requests wait for those that are there")
            return False
        self._threads.append(thread)
        thread.calls.put(call)
        return True

    def stand(self, thread: _Thread, *, is_last: bool = False) -> None:
        """Gives a thread what waits; without anything, the thread is given the next request, or the last that comes."""
        with self._changing:
            if self._waiting:
                thread.calls.put(self._waiting.popleft())
            elif self._is_shut_down:
                thread.calls.put(None)
            else:
                self._idle.insert(0 if is_last else len(self._idle), thread)

    def leave(self, thread: _Thread) -> bool:
        """Gives it nothing until it stands again; False if it has just been given something."""
        with self._changing:
            if thread not in self._idle:
                return False
            self._idle.remove(thread)
            return True


class _Thread(threading.Thread):
    """One of the threads. `calls`: what it is given; None ends it."""

    def __init__(self, pool: RequestThreads, number: int) -> None:
        super().__init__(name=f"request-{number}", daemon=True)
        self.calls: queue.SimpleQueue[_Call | None] = queue.SimpleQueue()
        self._pool = pool

    def run(self) -> None:
        while (call := self._await_call()) is not None:
            call.answer(partial(self._pool.stand, self))
            del call
        _close_connections()

    def _await_call(self) -> _Call | None:
        while True:
            try:
                return self.calls.get(timeout=IDLE_SECONDS if _has_connections() else None)
            except queue.Empty:
                if self._pool.leave(self):
                    _close_connections()
                    self._pool.stand(self, is_last=True)


def _has_connections() -> bool:
    return any(own.connection is not None for own in connections.all(initialized_only=True))


def _close_connections() -> None:
    for own in connections.all(initialized_only=True):
        try:
            own.close()
        except Exception:
            # The thread goes on, for others wait for what it is given.
            log.exception("a connection was not closed")
