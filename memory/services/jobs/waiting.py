"""Reports the waiting jobs by priority and by namespace, and since when they wait; waits until the queue is empty."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count, F, Min, Q
from django.utils import timezone

from memory.enums import JobPriority, JobState
from memory.errors import InvalidInput, NotFound
from memory.models import Job, Namespace
from memory.models.job import OPEN
from memory.models.queries.jobs import count_new_turns
from memory.models.scoped import ScopedQuerySet
from memory.postgresql import reach
from memory.services.jobs.schedules import run_now
from memory.types import Access

# The report names only this many namespaces, those with the most jobs.
NAMED = 20
LONGEST_WAIT_SECONDS = 300.0
_LOOK_SECONDS = 0.2
# A wait has turns processed at once, and all waits together so many seconds apart at least.
_APART = timedelta(seconds=10)
_ASK_SECONDS = 2.0
# The schedules whose runs process new turns.
FOLLOWING = ("memos: index entities", "memos: settle memories")
# The longest acceptable time until a job is begun: beyond it, its priority has too few workers, or a stuck one.
BEGUN_WITHIN = {
    JobPriority.INTERACTIVE: timedelta(seconds=2),
    JobPriority.NORMAL: timedelta(minutes=5),
    JobPriority.BULK: timedelta(hours=1),
}


@dataclass(frozen=True, slots=True)
class OpenJobs:
    """Counts the waiting and running jobs, and holds the time since which the oldest one waits."""

    queued: int = 0
    running: int = 0
    oldest: datetime | None = None

    @property
    def total(self) -> int:
        return self.queued + self.running


@dataclass(frozen=True, slots=True)
class QueueStatus:
    """Holds the waiting jobs of the requested namespaces. `by_namespace` names the NAMED with the most jobs ("": jobs
    of the whole system); `turns` counts the turns that were not read for names or not compared.
    """

    by_priority: dict[JobPriority, OpenJobs]
    by_namespace: dict[str, OpenJobs]
    turns: int

    @property
    def total(self) -> int:
        """Returns the number of jobs that wait or run."""
        return sum(jobs.total for jobs in self.by_priority.values())


@dataclass(frozen=True, slots=True)
class Waited:
    """Holds the result of a wait: whether the queue is idle, after how many seconds, and the jobs and turns left."""

    is_idle: bool
    seconds: float
    jobs: int
    turns: int


def queue_status(access: Access, *, namespaces: Collection[str] | None = None) -> QueueStatus:
    """Returns the waiting jobs of the namespaces, or of all that the caller reaches. Raises NotFound for any other."""
    access = _narrow(access, namespaces)
    figures = {
        "queued": Count("pk", filter=Q(state=JobState.QUEUED)),
        "running": Count("pk", filter=Q(state=JobState.RUNNING)),
        "oldest": Min("queued_at", filter=Q(state=JobState.QUEUED)),
    }
    jobs = _open_jobs(access)
    by_priority = {JobPriority(row[0]): OpenJobs(*row[1:]) for row in jobs.values_list("priority").annotate(**figures)}
    by_namespace = jobs.values_list("namespace_id").annotate(**figures)
    rows = list(by_namespace.order_by((F("queued") + F("running")).desc(), "namespace_id")[:NAMED])
    names = dict(Namespace.objects.filter(pk__in=[row[0] for row in rows]).values_list("pk", "name"))
    return QueueStatus(
        {priority: by_priority.get(priority, OpenJobs()) for priority in JobPriority},
        {names.get(row[0], ""): OpenJobs(*row[1:]) for row in rows},
        _count_turns(access),
    )


def describe_overdue(*, now: datetime) -> str:
    """Names the priorities whose jobs wait longer than BEGUN_WITHIN, with the longest wait; "" if there are none."""
    with reach.across_namespaces():
        # Jobs between two attempts were begun: they wait for a time, not for a worker.
        unbegun = Job.objects.across_namespaces().filter(state=JobState.QUEUED, started_at=None, schedule="")
        rows = list(unbegun.order_by("priority").values_list("priority").annotate(Min("queued_at")))
    overdue = [(JobPriority(number), now - oldest) for number, oldest in rows]
    return "; ".join(
        f"{priority.label} jobs wait for {wait.total_seconds():.0f} s, more than "
        f"{BEGUN_WITHIN[priority].total_seconds():.0f} s"
        for priority, wait in overdue
        if wait > BEGUN_WITHIN[priority]
    )


def wait_for(
    access: Access,
    *,
    namespaces: Collection[str] | None = None,
    seconds: float,
    with_turns: bool = True,
    sleep: Callable[[float], None] = time.sleep,
) -> Waited:
    """Waits until no job of the namespaces waits or runs and, `with_turns`, no turn is left to be read or compared.

    Waits at most `seconds`, up to LONGEST_WAIT_SECONDS, and not for jobs of the clock or failed jobs. It does wait,
    until the timeout, for a turn that cannot be settled because a budget is spent. Call it outside of a transaction.
    Raises InvalidInput for another number of seconds, NotFound for a namespace that the caller does not reach.
    """
    if not 0 <= seconds <= LONGEST_WAIT_SECONDS:
        raise InvalidInput(
            f"A wait takes 0 to {LONGEST_WAIT_SECONDS:.0f} seconds: ask again when it has ended.",
            detail={"field": "seconds"},
        )
    access = _narrow(access, namespaces)
    started = asked = time.monotonic()
    while True:
        jobs, turns = _open_jobs(access).count(), _count_turns(access) if with_turns else 0
        waited = time.monotonic() - started
        if turns and started + waited >= asked:
            run_now(FOLLOWING, apart=_APART, now=timezone.now())
            asked += _ASK_SECONDS
        if not (jobs or turns) or waited >= seconds:
            return Waited(not (jobs or turns), waited, jobs, turns)
        sleep(min(_LOOK_SECONDS, seconds - waited))


def to_dict(status: QueueStatus) -> dict[str, Any]:
    """Returns a status as clients see it."""
    return {
        "priorities": [
            {"priority": priority.label, **_describe(jobs)} for priority, jobs in status.by_priority.items()
        ],
        "namespaces": [{"namespace": name or None, **_describe(jobs)} for name, jobs in status.by_namespace.items()],
        "turns": status.turns,
    }


def _describe(jobs: OpenJobs) -> dict[str, Any]:
    oldest = jobs.oldest.isoformat() if jobs.oldest else None
    return {"queued": jobs.queued, "running": jobs.running, "oldest_at": oldest}


def _narrow(access: Access, namespaces: Collection[str] | None) -> Access:
    """Narrows the access to the namespaces. Raises NotFound."""
    if namespaces is None:
        return access
    found = dict(Namespace.objects.filter(name__in=namespaces).values_list("name", "pk"))
    for name in namespaces:
        if not access.all_namespaces and found.get(name) not in access.namespace_ids:
            raise NotFound(f"There is no namespace {name!r} that this key reaches.", detail={"field": "namespace"})
    return replace(access, all_namespaces=False, namespace_ids=frozenset(found.values()))


def _count_turns(access: Access) -> int:
    return count_new_turns(None if access.all_namespaces else access.namespace_ids)


def _open_jobs(access: Access) -> ScopedQuerySet[Job]:
    """Finds jobs that wait or run. Those of the clock are listed with the schedules."""
    return Job.objects.reachable_by(access).filter(state__in=OPEN, schedule="").order_by()
