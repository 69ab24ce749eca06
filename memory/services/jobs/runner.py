"""Claims jobs and carries them out: a heartbeat moves while a job runs, and its end or its error is recorded.

The job's row is the queue. A claim takes the next due job of a priority, of each namespace in turn, so one that has
queued thousands delays another's first job by one of its own. A job whose heartbeat stops becomes due again; after the
last attempt it is failed and keeps its input.
"""

from __future__ import annotations

import logging
import re
import threading
import time
import traceback
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from contextvars import ContextVar
from datetime import datetime, timedelta
from multiprocessing import current_process
from types import TracebackType
from typing import Any, Self, TypeVar

from django.conf import settings
from django.db import DatabaseError, IntegrityError, InterfaceError, connection, transaction
from django.utils import timezone
from django_q.timeout import TimeoutHandler

from memory import audit, caller, tracing
from memory.enums import AuditEvent, JobPriority, JobState
from memory.errors import MemosError
from memory.models import Job, Namespace
from memory.models.job import OPEN
from memory.postgresql import reach
from memory.services.jobs.queue import Kind, enqueue
from memory.services.jobs.registry import WORKER, NothingLeft, find_task, slice_seconds
from memory.services.jobs.schedules import mend_clock, run_now
from memory.types import Scope

log = logging.getLogger("memos.jobs")

Clock = Callable[[], datetime]
Result = TypeVar("Result")

LOST_WORKER = ("WorkerLost", "The worker that carried it out has ended before it.")
MAX_ERROR_CHARS = 200

# The namespace whose job this process began last, by priority, and the latest time that it has seen.
_served: dict[JobPriority, int] = {}
_latest: datetime | None = None


def work(priority: int) -> None:
    """Carries out the next due job of a priority: what a message of the broker asks a worker for."""
    with reach.across_namespaces():
        job = claim(JobPriority(priority), now=_look_at_clock())
    if job is not None:
        _run(job)


def run_schedule(schedule: str, kind: str, goes_on: bool = False) -> None:
    """Carries out a run of a schedule, which django-q2's clock asks for.

    One that `goes_on` and has used up its time queues the next run at once.
    """
    started = time.monotonic()
    with reach.across_namespaces():
        job = begin_scheduled(schedule=schedule, kind=kind, now=_look_at_clock())
    if job is not None:
        _run(job)
        if goes_on and time.monotonic() - started >= slice_seconds():
            run_now([schedule], apart=timedelta(), now=_look_at_clock())


def claim(priority: JobPriority, *, now: datetime) -> Job | None:
    """Claims the next due job of a priority, for the namespace after the one served last; None when none is due.

    A job that has used up its attempts is failed, and the one after it is taken.
    """
    while True:
        with transaction.atomic():
            due = Job.objects.due(priority, now=now).select_for_update(skip_locked=True)
            job = due.filter(namespace_id__gt=_served.get(priority, -1)).first() or due.first()
            if job is None:
                return None
            _served[priority] = job.namespace_id
            if job.state == JobState.RUNNING:
                job.error_type, job.error = LOST_WORKER
            if job.attempts < settings.MEMOS_JOB_ATTEMPTS:
                return _begin(job, now)
            give_up(job, now=now)


def begin_scheduled(*, schedule: str, kind: str, now: datetime) -> Job | None:
    """Claims the run of a schedule; None while the one before is still going on.

    A run after one that failed, or whose worker is lost, goes on with the same row: it has no input of its own, and its
    attempts count the failures in a row.
    """
    with transaction.atomic():
        job = (
            Job.objects.select_for_update()
            .filter(namespace_id=0, schedule=schedule, state__in=[*OPEN, JobState.FAILED])
            .first()
        )
        if job is None:
            try:
                with transaction.atomic():
                    job = Job.objects.create(schedule=schedule, kind=kind, queued_at=now)
            except IntegrityError:
                return None
        elif job.state == JobState.RUNNING:
            if not is_lost(job, now):
                return None
            job.error_type, job.error = LOST_WORKER
        return _begin(job, now)


def carry_out(job: Job, task: Callable[[], Result], *, clock: Clock) -> Result | None:
    """Does the work of a claimed job and records how it ended; None when it failed.

    An error is kept with the job, which is queued again or failed; only what ends the process is raised again.
    """
    with _Heart(job, clock) as heart:
        try:
            result = task()
        except BaseException as error:
            heart.stop()
            _record(job, heart, clock, error)
            # django-q2 ends the process of a task that took too long.
            if not isinstance(error, Exception):
                raise
            return None
        heart.stop()
        _record(job, heart, clock, None)
        return result


def report(done: int, total: int) -> None:
    """Reports the progress of this thread's job, which the next heartbeat stores. Does nothing outside of a job."""
    heart = _heart.get()
    if heart is not None:
        heart.progress = (done, total)


def do_others_wait() -> bool:
    """Tells whether a job of this job's priority waits in another namespace; False outside of a job."""
    heart = _heart.get()
    if heart is None:
        return False
    with reach.across_namespaces():
        due = Job.objects.due(JobPriority(heart.job.priority), now=timezone.now())
        return due.exclude(namespace_id=heart.job.namespace_id).exists()


def is_lost(job: Job, now: datetime) -> bool:
    """Tells whether a running job's heartbeat has stopped. One that lies ahead was made before the clock went back."""
    return job.heartbeat_at is None or abs(now - job.heartbeat_at) > 3 * beat_interval()


def beat_interval() -> timedelta:
    """Returns the time between two heartbeats. A job that has missed three is lost."""
    return timedelta(seconds=min(10.0, settings.MEMOS_JOB_RETRY_SECONDS / 6))


def give_up(job: Job, *, now: datetime) -> None:
    """Fails a job for good: it waits, with its input and last error, for someone to replay or discard it.

    Inside the caller's transaction.
    """
    job.state = JobState.FAILED
    job.finished_at = now
    job.save()
    _record_failure(job, now=now)
    log.error("job failed for good", extra=_describe_job(job) | {"error": job.error_type, "reason": job.error})


def describe_error(error: BaseException) -> tuple[str, str]:
    """Returns the type and first line of an error. What a foreign one quotes is left out: it may be memory text."""
    line = next((line.strip() for line in str(error).splitlines() if line.strip()), "")
    if not isinstance(error, MemosError):
        line = _without_quotes(line)
    return type(error).__name__, line[:MAX_ERROR_CHARS]


def _run(job: Job) -> None:
    """Carries out a claimed job as its namespace, or as the system, within its time limit."""

    def call() -> Any:
        with suppress(NothingLeft):
            return find_task(job.kind)(*job.arguments, now=timezone.now())

    with (
        tracing.job_span(job.kind, job.traceparent),
        reach.within(job.namespace_id) if job.namespace_id else reach.across_namespaces(),
        caller.hold(caller.Caller(request_id="" if job.schedule else str(job.pk))),
        _limit(job.seconds or settings.MEMOS_JOB_TIMEOUT_SECONDS),
    ):
        carry_out(job, call, clock=timezone.now)


def _limit(seconds: int) -> AbstractContextManager[Any]:
    """Limits the time of the job as django-q2 does: by an alarm, and by the timer that the worker's guard reads."""
    timer = getattr(current_process(), "timer", None)
    if timer is None:
        return nullcontext()
    timer.value = seconds + 3
    return TimeoutHandler(seconds)


def _look_at_clock() -> datetime:
    """Returns the time. When this process has seen a later one, it mends what the clock's jump left in the future."""
    global _latest  # noqa: PLW0603 - one moment a process
    now = timezone.now()
    if _latest is None or now < _latest:
        mend_clock(now=now)
    _latest = now
    return now


def _begin(job: Job, now: datetime) -> Job:
    job.state = JobState.RUNNING
    job.attempts += 1
    job.started_at = job.heartbeat_at = now
    job.due_at = now + 3 * beat_interval()
    job.finished_at = job.done = job.total = None
    job.again = False
    job.save()
    return job


def _record(job: Job, heart: _Heart, clock: Clock, error: BaseException | None) -> None:
    try:
        _end(job, heart, clock(), error)
    except (DatabaseError, InterfaceError):
        # The work was cut off in the middle of a statement, or the server was away for a moment.
        connection.close()
        _end(job, heart, clock(), error)


def _end(claimed: Job, heart: _Heart, now: datetime, error: BaseException | None) -> None:
    with transaction.atomic():
        job = _running(claimed).select_for_update().first()
        if job is None:
            log.warning("a job was taken over", extra={"job": str(claimed.pk), "attempt": claimed.attempts})
            return
        if heart.progress is not None:
            job.done, job.total = heart.progress
        job.heartbeat_at = job.finished_at = now
        asked_again, job.again = job.again, False
        if error is None:
            job.state = JobState.DONE
        else:
            job.error_type, job.error = describe_error(error)
            gives_up = bool(job.schedule) or job.attempts >= settings.MEMOS_JOB_ATTEMPTS
            job.state = JobState.FAILED if gives_up else JobState.QUEUED
            job.due_at = now + timedelta(seconds=settings.MEMOS_JOB_RETRY_SECONDS)
            where = {"error": job.error_type, "reason": job.error, "where": _place(error)}
            log.error("job failed", extra=_describe_job(job) | where)
        job.save()
        if job.state == JobState.FAILED:
            _record_failure(job, now=now)
        elif job.state == JobState.DONE and asked_again:
            priority = JobPriority(job.priority)
            kind = Kind(job.kind, of_namespace=job.namespace_id != 0, once=job.once, priority=priority)
            enqueue(kind, *job.arguments, seconds=job.seconds)


def _running(claimed: Job) -> Any:
    """Selects the row of a claimed job, unless another worker has taken it over."""
    rows = Job.objects.filter(namespace_id=claimed.namespace_id, pk=claimed.pk)
    return rows.filter(state=JobState.RUNNING, attempts=claimed.attempts)


def _record_failure(job: Job, *, now: datetime) -> None:
    """Records in the audit log that a job was given up; of a schedule that keeps failing, once."""
    if job.schedule and job.attempts > 1:
        return
    name = Namespace.objects.filter(pk=job.namespace_id).values_list("name", flat=True).first()
    details = {"kind": job.kind, "error": job.error_type, "attempts": job.attempts}
    scope = Scope(job.namespace_id, name or "", WORKER, str(job.pk))
    with reach.within(job.namespace_id):
        audit.record(scope, AuditEvent.JOB_FAIL, subject=str(job.pk), details=details, now=now)


def _describe_job(job: Job) -> dict[str, object]:
    return {"job": str(job.pk), "kind": job.kind, "attempt": job.attempts}


def _place(error: BaseException) -> str:
    """Returns where it was raised: file, line and function, without values."""
    frames = traceback.extract_tb(error.__traceback__)
    return f"{frames[-1].filename}:{frames[-1].lineno} {frames[-1].name}" if frames else ""


def _without_quotes(line: str) -> str:
    # An apostrophe inside a word opens nothing; a quote that does not end on this line goes on to its end.
    opened = re.search(r"""["`“‘«「『]|(?<!\w)'""", line)
    if opened is None:
        return line
    closed = max(line.rfind(mark) for mark in "\"'`”’»」』")
    return line[: opened.start()] + "…" + (line[closed + 1 :] if closed > opened.start() else "")


class _Heart:
    """Moves the heartbeat of a job while it runs, on a connection of its own, and stores the progress.

    The work's own transaction may last for minutes, and nothing in it is visible from outside.
    """

    def __init__(self, job: Job, clock: Clock) -> None:
        self.progress: tuple[int, int] | None = None
        self.job = job
        self._clock = clock
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="heartbeat", daemon=True)

    def __enter__(self) -> Self:
        self._token = _heart.set(self)
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stop()
        _heart.reset(self._token)

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join()

    def _beat(self) -> None:
        try:
            while not self._stopped.wait(beat_interval().total_seconds()):
                try:
                    self._write()
                except (DatabaseError, InterfaceError):
                    connection.close()
        finally:
            connection.close()

    def _write(self) -> None:
        now, (done, total) = self._clock(), self.progress or (None, None)
        with reach.within(self.job.namespace_id):
            _running(self.job).update(heartbeat_at=now, due_at=now + 3 * beat_interval(), done=done, total=total)


_heart: ContextVar[_Heart | None] = ContextVar("job_heart", default=None)
