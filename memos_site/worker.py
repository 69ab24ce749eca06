"""Runs clusters of django-q2 below one process, which ends with all of them when one of their processes is killed.

The processes of a cluster share queues and locks in memory. An idle worker waits inside the lock of the task queue:
killed there, it leaves the lock taken, the worker that replaces it waits for ever, and no more jobs are done while all
look alive. So everything is restarted (crash-only software: Candea and Fox, HotOS 2003) by whoever supervises this
process: `make run`, or a container's restart policy. An interrupted job goes on when its heartbeat has been missed. No
process outlives the one that started it.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import threading
import time
import uuid
from collections.abc import Callable, Sequence
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from multiprocessing.synchronize import Event
from typing import Any, NoReturn

from django.conf import settings
from django.db import connections
from django_q.cluster import Sentinel
from django_q.conf import Conf
from setproctitle import setproctitle

from memos_site.embedded import die_with_parent

log = logging.getLogger("memos.worker")

# Exit statuses of a worker that its guard ends after a timeout; such a worker waits in no queue.
_ENDED_BY_GUARD = (0, -signal.SIGTERM)
# Requests go first. Lower still, the workers would get next to nothing of a machine that is busy throughout.
_NICENESS = 5


def run_clusters(names: Sequence[str]) -> None:
    """Run the clusters until SIGTERM or SIGINT; end the process when one of them ends."""
    setproctitle("qcluster worker")
    connections.close_all()
    stops = multiprocessing.Event()
    fork = multiprocessing.get_context("fork").Process
    guards = [fork(target=_guard, args=(name, stops), name=name) for name in names]
    for guard in guards:
        guard.start()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stops.set())
    wait([guard.sentinel for guard in guards])
    if not stops.is_set():
        log.critical("a cluster has ended: ending all of them")
        _end_all()
    for guard in guards:
        guard.join()


def bind_forks() -> None:
    """Make the kernel kill all later forks of this process, and theirs, when their parent ends (Linux)."""
    binders: list[Callable[[], None] | None] = []

    def before() -> None:
        binders[:] = [die_with_parent(signal.SIGKILL)]

    def after_in_child() -> None:
        if binders and binders[0] is not None:
            binders[0]()

    os.register_at_fork(before=before, after_in_child=after_in_child)


def _guard(name: str, stops: Event) -> None:
    setproctitle(f"qcluster {name} guard")
    Conf.CLUSTER_NAME = name
    options = dict(settings.Q_CLUSTER["ALT_CLUSTERS"].get(name, {}))
    os.nice(_NICENESS + options.pop("niceness", 0))
    for option, value in options.items():
        setattr(Conf, option.upper(), value)
    CrashOnlySentinel(stops, multiprocessing.Event(), uuid.uuid4())


class CrashOnlySentinel(Sentinel):
    """Guards a cluster; if one of its processes is killed, the guard and all of its processes end."""

    def spawn_process(self, target: Any, *args: Any) -> BaseProcess:
        """Start a process, and a thread that waits for its end.

        A thread is needed because the guard takes a lock of each worker before it checks whether that is alive.
        """
        process: BaseProcess = super().spawn_process(target, *args)
        threading.Thread(target=_end_with, args=(process,), name="watch", daemon=True).start()
        return process


def _end_with(process: BaseProcess) -> None:
    wait([process.sentinel])
    while (status := process.exitcode) is None:
        # The guard's own thread has just taken the status and not stored it yet.
        time.sleep(0.01)
    if status in _ENDED_BY_GUARD or status > 0:
        return
    log.critical("a process was killed: ending all of them", extra={"signal": -status})
    _end_all()


def _end_all() -> NoReturn:
    """End this process and its children."""
    for child in multiprocessing.active_children():
        child.kill()
    os._exit(1)
