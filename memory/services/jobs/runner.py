"""What surrounds a job's work in a worker: it is claimed, its heartbeat kept, its end or its failure recorded.

A worker that is killed leaves a heartbeat that stops. django-q gives its job to another one after
MEMOS_JOB_RETRY_SECONDS, or `jobs.recover` does; after MEMOS_JOB_ATTEMPTS the job is failed and keeps its input.
"""

from __future__ import annotations

import logging
import re
import threading
import traceback
import uuid
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime, timedelta
from types import TracebackType
from typing import Self, TypeVar

from django.conf import settings
from django.db import DatabaseError, IntegrityError, InterfaceError, connection, transaction

from memory import audit
from memory.enums import AuditEvent, JobPriority, JobState
from memory.errors import MemosError
from memory.models import Job, Namespace
from memory.models.job import OPEN
from memory.postgresql import reach
from memory.services.jobs import early_runs
from memory.services.jobs.pacing import Pace
from memory.services.jobs.queue import Kind, enqueue, send_each
from memory.services.replica.reads import note_write
from memory.types import Scope

log = logging.getLogger("memos.jobs")

Clock = Callable[[], datetime]
Result = TypeVar("Result")

ACTOR = "worker"
LOST_WORKER = ("WorkerLost", "The worker that carried it out has ended before it.")
MAX_ERROR_CHARS = 200


@dataclass(frozen=True, slots=True)
class JobAttempt:
    """One attempt at a job. A worker that was given up for lost and comes back has another attempt's number."""

    namespace_id: int
    job_id: uuid.UUID
    attempt: int
    priority: JobPriority = JobPriority.NORMAL


def begin(*, namespace_id: int, job_id: uuid.UUID, now: datetime) -> JobAttempt | None:
    """Claims a queued job, or one whose worker is lost; None when there is nothing to do.

    While another worker is at it, a queue message is left that comes back later to see whether it still is. A job that
    has used up its attempts is failed.
    """
    with transaction.atomic():
        job = Job.objects.select_for_update().filter(namespace_id=namespace_id, pk=job_id).first()
        if job is None or job.state not in OPEN:
            return None
        if job.state == JobState.RUNNING:
            if not is_lost(job, now):
                send_again(job, due=now + timedelta(seconds=settings.MEMOS_JOB_RETRY_SECONDS))
                return None
            job.error_type, job.error = LOST_WORKER
        if job.attempts >= settings.MEMOS_JOB_ATTEMPTS:
            give_up(job, now=now)
            return None
        return _claim(job, now)


def begin_scheduled(*, schedule: str, kind: str, now: datetime) -> JobAttempt | None:
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
        return _claim(job, now)


def carry_out(run: JobAttempt | None, work: Callable[[], Result], *, clock: Clock) -> Result | None:
    """Does the work of a claimed job and records how it ended; None when it was not claimed, or failed.

    An error is kept with the job, which is queued again or failed; only what ends the process is raised again.
    """
    if run is None:
        return None
    with _Heart(run, clock) as heart:
        try:
            heart.pace.begin()
            result = work()
            heart.pace.end()
        except BaseException as error:
            heart.stop()
            _record(run, heart, clock, error)
            # django-q ends the process of a task that took too long, and gives it to another after a while.
            if not isinstance(error, Exception):
                raise
            return None
        heart.stop()
        if run.namespace_id:
            # Before anyone sees that it is done.
            note_write(namespace_ids=[run.namespace_id])
        _record(run, heart, clock, None)
        return result


def report(done: int, total: int) -> None:
    """Says how far the job of this thread is; its next heartbeat carries it. Outside of a job nothing happens."""
    heart = _heart.get()
    if heart is not None:
        heart.progress = (done, total)


def give_way(*, at_least: float = 5.0) -> bool:
    """Pauses the job of this thread for requests; whether it should end here for what waits (`pacing.Pace`).

    To be called between two steps, outside of transactions. Outside of a job it does nothing and is False.
    """
    heart = _heart.get()
    return heart is not None and heart.pace.give_way(at_least=at_least)


def is_lost(job: Job, now: datetime) -> bool:
    """Whether a running job's heartbeat has stopped. One that lies ahead was made before the clock went back."""
    return job.heartbeat_at is None or abs(now - job.heartbeat_at) > 3 * beat_interval()


def beat_interval() -> timedelta:
    """Three heartbeats have been missed long before django-q hands the job on."""
    return timedelta(seconds=min(10.0, settings.MEMOS_JOB_RETRY_SECONDS / 6))


def send_again(job: Job, *, due: datetime | None = None) -> None:
    """Puts another message of a job into the queue."""
    send_each(
        [(job.pk, job.arguments)],
        namespace_id=job.namespace_id,
        kind=job.kind,
        seconds=job.seconds,
        priority=JobPriority(job.priority),
        due=due,
    )


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
    """The type and first line of an error. What a foreign one quotes is left out: it may be memory text."""
    line = next((line.strip() for line in str(error).splitlines() if line.strip()), "")
    if not isinstance(error, MemosError):
        line = _without_quotes(line)
    return type(error).__name__, line[:MAX_ERROR_CHARS]


def _claim(job: Job, now: datetime) -> JobAttempt:
    job.state = JobState.RUNNING
    job.attempts += 1
    job.started_at = job.heartbeat_at = now
    job.finished_at = job.done = job.total = None
    job.again = False
    job.save()
    return JobAttempt(job.namespace_id, job.pk, job.attempts, JobPriority(job.priority))


def _record(run: JobAttempt, heart: _Heart, clock: Clock, error: BaseException | None) -> None:
    try:
        _end(run, heart, clock(), error)
    except (DatabaseError, InterfaceError):
        # The work was cut off in the middle of a statement, or the server was away for a moment.
        connection.close()
        _end(run, heart, clock(), error)


def _end(run: JobAttempt, heart: _Heart, now: datetime, error: BaseException | None) -> None:
    with transaction.atomic():
        rows = Job.objects.select_for_update().filter(namespace_id=run.namespace_id, pk=run.job_id)
        job = rows.filter(state=JobState.RUNNING, attempts=run.attempt).first()
        if job is None:
            log.warning("a job was taken over", extra={"job": str(run.job_id), "attempt": run.attempt})
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
            where = {"error": job.error_type, "reason": job.error, "where": _place(error)}
            log.error("job failed", extra=_describe_job(job) | where)
        job.save()
        if job.state == JobState.FAILED:
            _record_failure(job, now=now)
        if job.state == JobState.QUEUED:
            if isinstance(error, Exception):
                send_again(job, due=now + timedelta(seconds=settings.MEMOS_JOB_RETRY_SECONDS))
        elif job.schedule and heart.pace.gave_way:
            early_runs.go_on(job.schedule, now=now)
        elif asked_again:
            priority = JobPriority(job.priority)
            kind = Kind(job.kind, of_namespace=job.namespace_id != 0, once=job.once, priority=priority)
            enqueue(kind, *job.arguments, seconds=job.seconds)


def _record_failure(job: Job, *, now: datetime) -> None:
    """Has the audit log say that a job was given up; of a schedule that keeps failing, once."""
    if job.schedule and job.attempts > 1:
        return
    name = Namespace.objects.filter(pk=job.namespace_id).values_list("name", flat=True).first()
    details = {"kind": job.kind, "error": job.error_type, "attempts": job.attempts}
    scope = Scope(job.namespace_id, name or "", ACTOR, str(job.pk))
    with reach.within(job.namespace_id):
        audit.record(scope, AuditEvent.JOB_FAIL, subject=str(job.pk), details=details, now=now)


def _describe_job(job: Job) -> dict[str, object]:
    return {"job": str(job.pk), "kind": job.kind, "attempt": job.attempts}


def _place(error: BaseException) -> str:
    """Where it was raised: file, line and function, without values."""
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
    """Moves the heartbeat of a job while it runs, on a connection of its own, and carries the progress along.

    The work's own transaction may last for minutes, and nobody would see from outside what is written in it.
    """

    def __init__(self, run: JobAttempt, clock: Clock) -> None:
        self.progress: tuple[int, int] | None = None
        self.pace = Pace(priority=run.priority, namespace_id=run.namespace_id)
        self._run = run
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
        done, total = self.progress or (None, None)
        run = self._run
        rows = Job.objects.filter(
            namespace_id=run.namespace_id, pk=run.job_id, state=JobState.RUNNING, attempts=run.attempt
        )
        with reach.within(run.namespace_id):
            rows.update(heartbeat_at=self._clock(), done=done, total=total)


_heart: ContextVar[_Heart | None] = ContextVar("job_heart", default=None)
