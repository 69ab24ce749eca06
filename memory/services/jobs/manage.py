"""Background jobs as people and the clock deal with them: listed, replayed, discarded, recovered, forgotten."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import IntegrityError, connection, transaction
from django.db.models import Exists, OuterRef, Q
from django_q.models import Failure, OrmQ

from memory import audit
from memory.enums import AccessScope, AuditEvent, JobPriority, JobState
from memory.errors import Conflict, Forbidden, InvalidInput, NotFound
from memory.models import Job, Namespace
from memory.models.job import OVER
from memory.models.paging import narrow, page_of
from memory.services.jobs.runner import LOST_WORKER, beat_interval, give_up, send_again
from memory.services.tenancy.notes import clean_note
from memory.types import Access, ListFilter, Scope

LOST_MESSAGE = ("QueueMessageLost", "The queue has lost it.")
MAX_REASON_CHARS = 500
_BATCH = 5_000
# How far ahead of the clock a row of the queue may lie beyond its regular time before the clock must have gone back.
_CLOCK_SLACK = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class JobFilter:
    """What a listing of jobs is narrowed to; None is all. `cursor` is the `next_cursor` of the page before."""

    namespace: str | None = None
    kind: str | None = None
    state: JobState | None = None
    cursor: uuid.UUID | None = None
    limit: int = 50


def list_jobs(access: Access, *, wanted: JobFilter) -> tuple[list[dict[str, Any]], uuid.UUID | None]:
    """The newest jobs that the caller reaches, and the cursor of the next page; the system's take all namespaces.

    Raises NotFound for a namespace that it does not reach.
    """
    rows = narrow(Job.objects.reachable_by(access), access, ListFilter(wanted.namespace, None, wanted.limit))
    if wanted.kind is not None:
        rows = rows.filter(kind=wanted.kind)
    if wanted.state is not None:
        rows = rows.filter(state=wanted.state)
    if wanted.cursor is not None:
        rows = rows.filter(pk__lte=wanted.cursor)
    page, following = page_of(rows, wanted.limit)
    names = Namespace.objects.in_bulk({job.namespace_id for job in page if job.namespace_id})
    return [_to_dict(job, names.get(job.namespace_id)) for job in page], following.pk if following else None


def to_dict(job: Job) -> dict[str, Any]:
    """A job as clients see it."""
    return _to_dict(job, Namespace.objects.filter(pk=job.namespace_id).first())


def find(access: Access, *, job_id: uuid.UUID) -> Job:
    """A job that the caller reaches. Raises NotFound."""
    job = Job.objects.reachable_by(access).filter(pk=job_id).first()
    if job is None:
        raise _not_found(job_id)
    return job


def replay(access: Access, *, job_id: uuid.UUID, now: datetime, request_id: str = "") -> Job:
    """Queues a failed or discarded job again, with the input that it had and all its attempts.

    Raises NotFound, Forbidden, and Conflict for a job in another state, or while the same is queued or running.
    """
    with transaction.atomic():
        job = _lock_job(access, job_id)
        if job.state not in (JobState.FAILED, JobState.DISCARDED):
            raise Conflict(
                f"The job is {job.state}: only a failed or discarded one can be replayed.", detail={"state": job.state}
            )
        former = {"state": job.state, "attempts": job.attempts, "error": job.error_type}
        job.state = JobState.QUEUED
        job.attempts = 0
        job.queued_at = now
        job.reason = ""
        job.started_at = job.heartbeat_at = job.finished_at = job.done = job.total = None
        try:
            with transaction.atomic():
                job.save()
        except IntegrityError:
            raise Conflict(
                "The same is queued, running or failed in another job: see to that one.", detail={"kind": job.kind}
            ) from None
        send_again(job)
        _record(access, AuditEvent.JOB_REPLAY, job, {"before": former}, now=now, request_id=request_id)
    return job


def discard(access: Access, *, job_id: uuid.UUID, reason: str, now: datetime, request_id: str = "") -> Job:
    """Takes a failed or queued job out of the way; it can still be replayed until it is forgotten.

    Raises NotFound, Forbidden, InvalidInput for an empty reason, and Conflict for a job in another state.
    """
    if not reason.strip() or len(reason) > MAX_REASON_CHARS:
        raise InvalidInput(f"Say why, in 1 to {MAX_REASON_CHARS} characters.", detail={"field": "reason"})
    reason = clean_note(reason, field="reason")
    with transaction.atomic():
        job = _lock_job(access, job_id)
        if job.state not in (JobState.FAILED, JobState.QUEUED):
            raise Conflict(
                f"The job is {job.state}: only a failed or queued one can be discarded.", detail={"state": job.state}
            )
        former = {"state": job.state, "attempts": job.attempts, "error": job.error_type}
        OrmQ.objects.filter(pk=job.queue_message_id).delete()
        job.state = JobState.DISCARDED
        job.reason = reason
        job.finished_at = now
        job.save()
        details = {"before": former, "reason": reason}
        _record(access, AuditEvent.JOB_DISCARD, job, details, now=now, request_id=request_id)
    return job


def recover(*, now: datetime) -> int:
    """Queues jobs again that nobody would come back to, or fails them after their last attempt; returns how many.

    They are queued or running without a sign of life, and their queue message is gone. One at a time, so that two runs
    at once share the work.
    """
    mend_clock(now=now)
    handled = 0
    for job_id in list(_select_lost(now).values_list("pk", flat=True)):
        with transaction.atomic():
            job = _select_lost(now).select_for_update(skip_locked=True).filter(pk=job_id).first()
            # The lock may have come after another run's commit, with a look at the queue from before it.
            if job is None or not _select_lost(now).filter(pk=job_id).exists():
                continue
            handled += 1
            if job.state == JobState.QUEUED:
                job.error_type, job.error = LOST_MESSAGE
                job.attempts += 1
            else:
                job.error_type, job.error = LOST_WORKER
            # The run of a schedule is not carried on: the clock brings the next one, with the same row.
            if job.schedule or job.attempts >= settings.MEMOS_JOB_ATTEMPTS:
                give_up(job, now=now)
                continue
            job.state = JobState.QUEUED
            job.save()
            send_again(job)
    return handled


def mend_clock(*, now: datetime) -> int:
    """Brings forward what a clock that has gone back left in the future; returns how many rows.

    django-q compares moments with the clock: rows of an hour ahead would wait for an hour.
    """
    latest = now + timedelta(seconds=settings.MEMOS_JOB_RETRY_SECONDS) + _CLOCK_SLACK
    mended = OrmQ.objects.filter(lock__gt=latest).update(lock=now)
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE django_q_schedule SET next_run = %s "
            "WHERE name LIKE 'memos: %%' AND next_run > %s + make_interval(mins => minutes)",
            [now, now + _CLOCK_SLACK],
        )
        return mended + cursor.rowcount


def forget(*, now: datetime) -> int:
    """Deletes jobs that ended well or were discarded MEMOS_JOBS_KEEP_DAYS ago; returns how many. Failed ones stay.

    What django-q noted of messages that failed goes as well.
    """
    oldest = now - timedelta(days=settings.MEMOS_JOBS_KEEP_DAYS)
    Failure.objects.filter(stopped__lt=oldest).delete()
    old = Job.objects.across_namespaces().filter(state__in=OVER, finished_at__lt=oldest)
    deleted = 0
    while part := old.filter(pk__in=list(old.values_list("pk", flat=True)[:_BATCH])).delete()[0]:
        deleted += part
    return deleted


def _select_lost(now: datetime) -> Any:
    silent = 3 * beat_interval()
    stopped = Q(heartbeat_at=None) | Q(heartbeat_at__lt=now - silent) | Q(heartbeat_at__gt=now + silent)
    return (
        Job.objects.across_namespaces()
        .unfinished()
        .filter(Q(state=JobState.QUEUED) | stopped)
        .filter(~Exists(OrmQ.objects.filter(pk=OuterRef("queue_message_id"))))
        .order_by("pk")
    )


def _lock_job(access: Access, job_id: uuid.UUID) -> Job:
    job = Job.objects.reachable_by(access).select_for_update().filter(pk=job_id).first()
    if job is None:
        raise _not_found(job_id)
    if not job.namespace_id and not access.may(AccessScope.ADMIN):
        raise Forbidden("A job of the whole system needs a key with the scope 'admin'.", detail={"field": "id"})
    return job


def _not_found(job_id: uuid.UUID) -> NotFound:
    return NotFound(f"There is no job {job_id} that this key reaches.", detail={"field": "id"})


def _record(
    access: Access, event: AuditEvent, job: Job, details: dict[str, Any], *, now: datetime, request_id: str
) -> None:
    name = Namespace.objects.filter(pk=job.namespace_id).values_list("name", flat=True).first() or ""
    scope = Scope(job.namespace_id, name, access.actor, request_id)
    audit.record(scope, event, subject=str(job.pk), details={"kind": job.kind, **details}, now=now)


def _to_dict(job: Job, namespace: Namespace | None) -> dict[str, Any]:
    moments = ("queued_at", "started_at", "heartbeat_at", "finished_at")
    # The first argument of what can belong to a namespace is the namespace, which has a field of its own.
    subject = job.arguments[1:] if job.arguments[:1] == [job.namespace_id] else job.arguments
    return {
        "id": str(job.pk),
        "kind": job.kind,
        "namespace": namespace.name if namespace else None,
        "schedule": job.schedule or None,
        "subject": [str(part) for part in subject],
        "priority": JobPriority(job.priority).label,
        "state": str(job.state),
        "attempts": job.attempts,
        "progress": None if job.total is None else {"done": job.done, "total": job.total},
        "error": {"type": job.error_type, "message": job.error} if job.error_type else None,
        "reason": job.reason,
        **{name: moment.isoformat() if (moment := getattr(job, name)) else None for name in moments},
    }
