"""django-q's cluster, which ends as a whole when one of its processes is killed.

Its processes share queues and locks in memory. An idle worker waits inside the lock of the task queue: killed there, it
leaves the lock taken, the worker that replaces it waits for ever, and no job is done any more while all look alive. A
queue that was cut off in the midst of a message is as useless. So everything is started anew (crash-only software:
Candea and Fox, HotOS 2003) by whoever watches the cluster: `make run`, or a container's restart policy. A job that was
under way goes on when its heartbeat has been missed. And none of its processes outlives the one that started it: a
worker whose guard is gone would hold its memory and its connections for ever.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from typing import Any

from django.conf import settings
from django_q.cluster import Sentinel

from memory.services.webhooks import courier
from memos_site.embedded import die_with_parent

log = logging.getLogger("memos.worker")

# How the guard itself ends a worker that was too long at a job; that one waits in no queue.
_ENDED_BY_GUARD = (0, -signal.SIGTERM)


class CrashOnlySentinel(Sentinel):
    """The guard of a cluster; a process of it that is killed ends the guard and all of its processes."""

    def spawn_cluster(self) -> None:
        """Starts the cluster's own processes, and the one that delivers to webhooks."""
        super().spawn_cluster()
        if settings.MEMOS_WEBHOOK_THREADS:
            self.spawn_process(courier.run_process)

    def spawn_process(self, target: Any, *args: Any) -> BaseProcess:
        """Starts a process of the cluster, and a thread that waits for its end.

        A thread, for the guard takes a lock of each worker before it looks whether that is alive.
        """
        process: BaseProcess = super().spawn_process(target, *args)
        name = getattr(target, "__name__", "process")
        threading.Thread(target=_end_with, args=(process, name), name=f"watch {name}", daemon=True).start()
        return process


def bind_forks() -> None:
    """Has what this process forks from now on, and what that forks, be killed when its parent ends (Linux)."""
    binders: list[Callable[[], None] | None] = []

    def before() -> None:
        binders[:] = [die_with_parent(signal.SIGKILL)]

    def after_in_child() -> None:
        if binders and binders[0] is not None:
            binders[0]()

    os.register_at_fork(before=before, after_in_child=after_in_child)


def _end_with(process: BaseProcess, name: str) -> None:
    wait([process.sentinel])
    while (status := process.exitcode) is None:
        # The guard's own thread has just taken the status and not kept it yet.
        time.sleep(0.01)
    if status in _ENDED_BY_GUARD or status > 0:
        return
    log.critical("a process of the worker was killed: ending all of them", extra={"part": name, "signal": -status})
    for child in multiprocessing.active_children():
        child.kill()
    os._exit(1)
