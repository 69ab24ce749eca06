"""Reports on the schedules: when each ran last, how that went, and when it is due again."""

from __future__ import annotations

from ast import literal_eval
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django_q.models import Schedule
from django_q.tasks import async_task

from memory.enums import JobState
from memory.models import Job
from memory.models.job import OPEN
from memory.models.queries import jobs as queries
from memory.postgresql import reach
from memory.postgresql.reach import NO_NAMESPACE
from memory.types import Access

COUNTED = timedelta(days=1)
# Behind by so many periods a schedule is late, and so many failures in a row are no accident.
LATE_PERIODS = 3
FAILURES_IN_A_ROW = 3
# A moment may lie this far ahead of the clock beyond its regular time before the clock must have gone back.
_CLOCK_SLACK = timedelta(minutes=1)
# django-q2 looks at the schedules twice a minute.
_LOOK = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class ScheduleState:
    """One schedule. `state` is that of its last run, None before the first; `failures` counts those in a row.

    `runs` were begun within COUNTED; one that failed and the attempts after it count once.
    """

    name: str
    minutes: int
    next_run_at: datetime | None
    last_run_at: datetime | None
    finished_at: datetime | None
    state: str | None
    failures: int
    error: tuple[str, str] | None
    runs: int

    @property
    def seconds(self) -> float | None:
        """Returns how long the last run took; None while it runs. Never below 0, also where the clock went back."""
        if self.last_run_at is None or self.finished_at is None:
            return None
        return max(0.0, (self.finished_at - self.last_run_at).total_seconds())

    def is_late(self, now: datetime) -> bool:
        """Tells whether its last run, or before any its first due one, is more than LATE_PERIODS ago."""
        since = self.last_run_at or self.next_run_at
        return since is not None and now - since > LATE_PERIODS * timedelta(minutes=self.minutes) + _LOOK

    def is_ahead(self, now: datetime) -> bool:
        """Tells whether its next run lies further ahead than its period: the clock has gone back."""
        return self.next_run_at is not None and self.next_run_at - now > timedelta(minutes=self.minutes) + _LOOK

    def keeps_failing(self) -> bool:
        return self.failures >= FAILURES_IN_A_ROW


def schedule_states(*, now: datetime) -> list[ScheduleState]:
    """Returns every schedule of MemOS, by name."""
    with reach.within(NO_NAMESPACE):
        rows = queries.list_schedules(counted_since=now - COUNTED)
    return [
        ScheduleState(
            name=name,
            minutes=minutes,
            next_run_at=next_run,
            last_run_at=started,
            finished_at=finished,
            state=state,
            failures=attempts if state == JobState.FAILED else 0,
            error=(error_type, error) if error_type else None,
            runs=runs,
        )
        for name, minutes, next_run, started, finished, state, attempts, error_type, error, runs in rows
    ]


def run_now(names: Collection[str], *, apart: timedelta, now: datetime) -> int:
    """Queues the next run of each schedule now, unless the run before was queued less than `apart` ago.

    Returns how many were queued.
    """
    queued = 0
    with transaction.atomic():
        for schedule in Schedule.objects.filter(name__in=names).order_by("pk"):
            following = now + timedelta(minutes=schedule.minutes or 1)
            is_due = Schedule.objects.filter(pk=schedule.pk, next_run__lt=following - apart)
            if is_due.update(next_run=following):
                async_task(schedule.func, **literal_eval(schedule.kwargs))
                queued += 1
    return queued


def mend_clock(*, now: datetime) -> int:
    """Brings forward what a clock that has gone back left in the future; returns how many rows.

    Moments are compared with the clock: rows of an hour ahead would wait for an hour.
    """
    latest = now + timedelta(seconds=settings.MEMOS_JOB_RETRY_SECONDS) + _CLOCK_SLACK
    with reach.across_namespaces():
        mended = Job.objects.across_namespaces().filter(state__in=OPEN, due_at__gt=latest).update(due_at=now)
        return mended + queries.mend_schedules(now=now, slack=_CLOCK_SLACK)


def list_schedules(access: Access, *, now: datetime) -> list[dict[str, Any]]:
    """The schedules as `/v1/ops/pipeline` lists them; they are the system's, so they take all namespaces."""
    if not access.all_namespaces:
        return []
    return [
        {
            "name": entry.name.removeprefix("memos: "),
            "every_minutes": entry.minutes,
            "last_run_at": entry.last_run_at.isoformat() if entry.last_run_at else None,
            "next_run_at": entry.next_run_at.isoformat() if entry.next_run_at else None,
            "state": entry.state,
            "seconds": entry.seconds,
            "last_error": {"type": entry.error[0], "message": entry.error[1]} if entry.error else None,
            "failures_in_a_row": entry.failures,
            "runs": entry.runs,
            "runs_since": (now - COUNTED).isoformat(),
            "late": entry.is_late(now),
        }
        for entry in schedule_states(now=now)
    ]
