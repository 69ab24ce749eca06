"""Run django-q's clusters, one for each priority of jobs; all of them end when one of their processes is killed.

The main process feeds the workers, records results and delivers to webhooks, each in a thread: a process for each would
take 7 MB more. It starts no process after its first thread. Below it each cluster has a guard, which starts its
workers.

The processes of a cluster share queues and locks in memory. An idle worker waits inside the lock of the task queue:
killed there, it leaves the lock taken, the worker that replaces it waits for ever, and no more jobs are done while all
look alive. A queue that was cut off within a message is as useless. So everything is restarted (crash-only software:
Candea and Fox, HotOS 2003) by the supervisor of the workers: `make run`, or a container's restart policy. An
interrupted job goes on when its heartbeat has been missed. And no process outlives the one that started it: a worker
without its guard would keep its memory and its connections for ever.
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
from dataclasses import dataclass
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from multiprocessing.synchronize import Event
from typing import Any, NoReturn

from django.conf import settings
from django.db import connection, connections
from django_q.cluster import Sentinel
from django_q.conf import Conf
from django_q.monitor import monitor
from django_q.pusher import pusher
from django_q.queues import Queue
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
    connections.close_all()
    stops = multiprocessing.Event()
    clusters = [Cluster(priority, stops) for priority in priorities]
    for cluster in clusters:
        cluster.guard.start()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stops.set())
    for cluster in clusters:
        cluster.start_threads()
    delivers = JobPriority.NORMAL in priorities and settings.MEMOS_WEBHOOK_THREADS
    courier = Courier(settings.MEMOS_WEBHOOK_THREADS) if delivers else None
    deliveries = threading.Thread(target=_run_or_end, args=(courier.run,), name="webhooks") if courier else None
    if deliveries:
        deliveries.start()
    wait([cluster.guard.sentinel for cluster in clusters])
    if not stops.is_set():
        log.critical("a cluster has ended: ending all of them")
        _end_all()
    for cluster in clusters:
        cluster.guard.join()
    if courier and deliveries:
        courier.stop()
        deliveries.join()


class Cluster:
    """Holds the guard of a priority's workers, and the threads of this process that feed them and record results."""

    def __init__(self, priority: JobPriority, stops: Event) -> None:
        self.name = CLUSTERS[priority]
        self.tasks, self.results = Queue(maxsize=Conf.QUEUE_LIMIT), Queue()
        self.stops, self.stops_pushing = stops, multiprocessing.Event()
        self.has_pushed, self.has_recorded = multiprocessing.Event(), multiprocessing.Event()
        fork = multiprocessing.get_context("fork").Process
        self.guard = fork(target=self._guard, args=(priority,), name=priority.label)

    def start_threads(self) -> None:
        """Start to feed the workers, and to record results."""
        broker = FairBroker(self.name)
        for work in (self._push, self._record):
            arguments = (lambda work=work: work(broker),)
            threading.Thread(target=_run_or_end, args=arguments, name=work.__name__, daemon=True).start()

    def _push(self, broker: FairBroker) -> None:
        while not self.stops_pushing.is_set():
            # The pusher returns early when the database does not answer.
            pusher(self.tasks, self.stops_pushing, broker)
            connection.close()
        self.has_pushed.set()

    def _record(self, broker: FairBroker) -> None:
        monitor(self.results, broker)
        self.has_recorded.set()

    def _guard(self, priority: JobPriority) -> None:
        setproctitle(f"qcluster {priority.label} guard")
        Conf.CLUSTER_NAME = self.name
        for option, value in settings.Q_CLUSTER["ALT_CLUSTERS"].get(self.name, {}).items():
            setattr(Conf, option.upper(), value)
        if priority is JobPriority.BULK:
            os.nice(_LONG_NICENESS)
        CrashOnlySentinel(self)


class CrashOnlySentinel(Sentinel):
    """Guards a cluster; if one of its workers is killed, the guard and all of its workers end."""

    def __init__(self, cluster: Cluster) -> None:
        super().__init__(cluster.stops, multiprocessing.Event(), uuid.uuid4(), start=False)
        self.task_queue, self.result_queue, self.event_out = cluster.tasks, cluster.results, cluster.stops_pushing
        self._cluster = cluster
        self.start()

    def spawn_pusher(self) -> MainThread:
        """Return the thread of the main process that feeds the workers."""
        return MainThread(self.parent_pid, self._cluster.has_pushed)

    def spawn_monitor(self) -> MainThread:
        """Return the thread of the main process that records results."""
        return MainThread(self.parent_pid, self._cluster.has_recorded)

    def spawn_process(self, target: Any, *args: Any) -> BaseProcess:
        """Start a worker, and a thread that waits for its end.

        A thread is needed because the guard takes a lock of each worker before it checks whether that is alive.
        """
        process: BaseProcess = super().spawn_process(target, *args)
        threading.Thread(target=_end_with, args=(process,), name="watch worker", daemon=True).start()
        return process


@dataclass(frozen=True, slots=True)
class MainThread:
    """Represents a thread of the main process `pid` to a guard: alive until `has_ended`."""

    pid: int
    has_ended: Event

    def is_alive(self) -> bool:
        """Return whether the thread still works."""
        return not self.has_ended.is_set()


def _run_or_end(work: Callable[[], None]) -> None:
    """Run a thread's work; an error in it ends the process, which its supervisor starts again."""
    try:
        work()
    except Exception:
        log.exception("the workers end")
        _end_all()


def bind_forks() -> None:
    """Make the kernel kill all later forks of this process, and theirs, when their parent ends (Linux)."""
    binders: list[Callable[[], None] | None] = []

    def before() -> None:
        binders[:] = [die_with_parent(signal.SIGKILL)]

    def after_in_child() -> None:
        if binders and binders[0] is not None:
            binders[0]()

    os.register_at_fork(before=before, after_in_child=after_in_child)


def _end_with(process: BaseProcess) -> None:
    wait([process.sentinel])
    while (status := process.exitcode) is None:
        # The guard's own thread has just taken the status and not stored it yet.
        time.sleep(0.01)
    if status in _ENDED_BY_GUARD or status > 0:
        return
    log.critical("a worker was killed: ending all of them", extra={"signal": -status})
    _end_all()


def _end_all() -> NoReturn:
    """End this process and its children."""
    for child in multiprocessing.active_children():
        child.kill()
    os._exit(1)
