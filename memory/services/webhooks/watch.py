"""Waits for events without a database connection for each waiter: one thread of the process polls for all of them."""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass, field

from django.db import DatabaseError, InterfaceError, connection

from memory.models.queries import webhooks as queries
from memory.postgresql import reach
from memory.services.webhooks.events import Place, sources
from memory.services.webhooks.feed import horizon

LOOK_SECONDS = 0.5
# A process without waiters needs no connection and no thread for it.
IDLE_LOOKS = 3


@dataclass(frozen=True, slots=True)
class _Wait:
    namespace_id: int
    after: Place
    ended: threading.Event = field(default_factory=threading.Event)


@dataclass(slots=True)
class _Watch:
    """The waiters of this process. A forked process gets a new one, because threads do not survive a fork."""

    pid: int = 0
    waits: dict[int, _Wait] = field(default_factory=dict)
    is_running: bool = False


_watch = _Watch()
_lock = threading.Lock()


def wait_for_event(namespace_id: int, *, after: Place, seconds: float) -> bool:
    """Wait at most `seconds` until there may be an event after the position; return whether there may be one."""
    one = _Wait(namespace_id, after)
    _add(one)
    try:
        return one.ended.wait(seconds)
    finally:
        with _lock:
            _watch.waits.pop(id(one), None)


def _add(one: _Wait) -> None:
    global _watch  # noqa: PLW0603 - one watch a process
    with _lock:
        if _watch.pid != os.getpid():
            _watch = _Watch(pid=os.getpid())
        _watch.waits[id(one)] = one
        if not _watch.is_running:
            _watch.is_running = True
            threading.Thread(target=_look_on, args=(_watch,), name="changes", daemon=True).start()


def _look_on(watch: _Watch) -> None:
    pause, idle = threading.Event(), 0
    try:
        while True:
            with _lock:
                waits = dict(watch.waits)
                idle = 0 if waits else idle + 1
                if idle > IDLE_LOOKS:
                    watch.is_running = False
                    return
            if waits:
                _look(waits)
            pause.wait(LOOK_SECONDS)
    except BaseException:
        with _lock:
            # The next waiter starts another thread.
            watch.is_running = False
        raise
    finally:
        connection.close()


def _look(waits: dict[int, _Wait]) -> None:
    """End the waits for which there may be an event. When the database is away, end all of them: their readers report
    it."""
    try:
        with reach.across_namespaces():
            places = [(number, one.namespace_id, *one.after) for number, one in waits.items()]
            ended = queries.list_newer(places, below=horizon(), sources=sources(()))
    except (DatabaseError, InterfaceError):
        connection.close()
        ended = list(waits)
    for number in ended:
        waits[number].ended.set()
