"""Run django-q's clusters, one for each priority of jobs; all of them end when one of their processes is killed.

The threads of one process feed the workers, record results and deliver to webhooks: a process for each would take
10 MB more.

The processes of a cluster share queues and locks in memory. An idle worker waits inside the lock of the task queue:
killed there, it leaves the lock taken, the worker that replaces it waits for ever, and no job is done any more
while all look alive. A queue that was cut off within a message is as useless. So everything is restarted
(crash-only software: Candea and Fox, HotOS 2003) by the supervisor of the workers: `make run`, or a container's
restart policy. A job that was under way goes on when its heartbeat has been missed. And no process outlives the one
that started it: a worker whose guard is gone would hold its memory and its connections for ever.
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
from multiprocessing.queues import Queue
from multiprocessing.synchronize import Event
from typing import Any, NoReturn

from django.conf import settings
from django.db import connection, connections
from django_q.cluster import Sentinel
from django_q.conf import Conf
from django_q.monitor import monitor
from django_q.pusher import pusher
from setproctitle import setproctitle

from memory.enums import JobPriority
from memory.services.jobs.broker import FairBroker
from memory.services.jobs.lanes import CLUSTERS
from memory.services.webhooks.courier import Courier
from memos_site.embedded import die_with_parent

log = logging.getLogger("memos.worker")

# Exit statuses of a worker that its guard ends after a timeout; such a worker waits in no queue.
_ENDED_BY_GUARD = (0, -signal.SIGTERM)
# Long jobs leave the processor to short ones.
_LONG_NICENESS = 5


def run_clusters(priorities: Sequence[JobPriority]) -> None:
    """Run a cluster for each of the priorities until SIGTERM or SIGINT; end the process when one of them ends."""
    setproctitle(f"qcluster {multiprocessing.current_process().name}")
    connections.close_all()
    stops = multiprocessing.Event()
    fork = multiprocessing.get_context("fork").Process
    guards = [fork(target=_guard, args=(priority, stops), name=priority.label) for priority in priorities]
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


def _guard(priority: JobPriority, stops: Event) -> None:
    """Guard the cluster of a priority, as the main function of a process."""
    setproctitle(f"qcluster {priority.label} guard")
    Conf.CLUSTER_NAME = CLUSTERS[priority]
    for name, value in settings.Q_CLUSTER["ALT_CLUSTERS"].get(CLUSTERS[priority], {}).items():
        setattr(Conf, name.upper(), value)
    if priority is JobPriority.BULK:
        os.nice(_LONG_NICENESS)
    CrashOnlySentinel(stops, multiprocessing.Event(), uuid.uuid4())


class CrashOnlySentinel(Sentinel):
    """The guard of a cluster; a process of it that is killed ends the guard and all of its processes."""

    def spawn_monitor(self) -> BaseProcess:
        """Starts the process that takes jobs from the queue, keeps how they ended, and delivers to webhooks."""
        has_pushed = multiprocessing.Event()
        process = self.spawn_process(
            _run_beside_jobs, self.task_queue, self.event_out, has_pushed, self.result_queue, self.broker
        )
        self._pusher = Pusher(process, has_pushed)
        return process

    def spawn_pusher(self) -> Pusher:
        """What takes jobs from the queue, in the monitor's process."""
        return self._pusher

    def spawn_process(self, target: Any, *args: Any) -> BaseProcess:
        """Starts a process of the cluster, and a thread that waits for its end.

        A thread, for the guard takes a lock of each worker before it looks whether that is alive.
        """
        process: BaseProcess = super().spawn_process(target, *args)
        name = getattr(target, "__name__", "process")
        threading.Thread(target=_end_with, args=(process, name), name=f"watch {name}", daemon=True).start()
        return process


class Pusher:
    """The thread that takes jobs from the queue, as the guard looks at it: alive until `has_ended`."""

    def __init__(self, process: BaseProcess, has_ended: Event) -> None:
        self._process = process
        self._has_ended = has_ended
        self.pid = process.pid
        self.name = process.name

    def is_alive(self) -> bool:
        """Whether it may still take jobs."""
        return self._process.is_alive() and not self._has_ended.is_set()


def _run_beside_jobs(tasks: Queue, stops: Event, has_pushed: Event, results: Queue, broker: FairBroker) -> None:
    """Feed the workers and record results until the last one, or until SIGTERM. One cluster delivers to webhooks."""
    ends = threading.Event()
    delivers = broker.priority is JobPriority.NORMAL and settings.MEMOS_WEBHOOK_THREADS
    courier = Courier(settings.MEMOS_WEBHOOK_THREADS) if delivers else None
    signal.signal(signal.SIGTERM, lambda *_: ends.set())

    def push() -> None:
        while not stops.is_set():
            # It returns early when the database does not answer.
            pusher(tasks, stops, broker)
            connection.close()
        has_pushed.set()

    def keep_results() -> None:
        monitor(results, broker)
        ends.set()

    for work in (push, keep_results):
        threading.Thread(target=_run_or_end, args=(work,), name=work.__name__, daemon=True).start()
    deliveries = threading.Thread(target=_run_or_end, args=(courier.run,), name="webhooks") if courier else None
    if deliveries:
        deliveries.start()
    ends.wait()
    if courier and deliveries:
        courier.stop()
        deliveries.join()


def _run_or_end(work: Callable[[], None]) -> None:
    """Runs a thread's work; an error of it ends the process, which the guard starts again."""
    try:
        work()
    except Exception:
        log.exception("the process beside the jobs ends")
        os._exit(1)


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
    _end_all()


def _end_all() -> NoReturn:
    """End this process and its children."""
    for child in multiprocessing.active_children():
        child.kill()
    os._exit(1)
