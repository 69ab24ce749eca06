"""Lists, replays, discards and deletes background jobs."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import IntegrityError, transaction
from django_q.models import Failure

from memory import audit
from memory.enums import AccessScope, AuditEvent, JobPriority, JobState
from memory.errors import Conflict, Forbidden, InvalidInput, NotFound
from memory.models import Job, Namespace
from memory.models.job import OVER
from memory.models.paging import narrow, page_of
from memory.services.tenancy.notes import clean_note
from memory.types import Access, ListFilter, Scope

MAX_REASON_CHARS = 500
_BATCH = 5_000


@dataclass(frozen=True, slots=True)
class JobFilter:
    """Filters a listing of jobs; None is all. `cursor` is the `next_cursor` of the page before."""

    namespace: str | None = None
    kind: str | None = None
    state: JobState | None = None
    cursor: uuid.UUID | None = None
    limit: int = 50


def list_jobs(access: Access, *, wanted: JobFilter) -> tuple[list[dict[str, Any]], uuid.UUID | None]:
    """Lists the newest jobs that the caller reaches, with the next page's cursor; the system's need all namespaces.

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
    """Returns a job as clients see it."""
    return _to_dict(job, Namespace.objects.filter(pk=job.namespace_id).first())


def find(access: Access, *, job_id: uuid.UUID) -> Job:
    """Returns a job that the caller reaches. Raises NotFound."""
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
        job.queued_at = job.due_at = now
        job.reason = ""
        job.started_at = job.heartbeat_at = job.finished_at = job.done = job.total = None
        try:
            with transaction.atomic():
                job.save()
        except IntegrityError:
            raise Conflict(
                "The same is queued, running or failed in another job: see to that one.", detail={"kind": job.kind}
            ) from None
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
        job.state = JobState.DISCARDED
        job.reason = reason
        job.finished_at = now
        job.save()
        details = {"before": former, "reason": reason}
        _record(access, AuditEvent.JOB_DISCARD, job, details, now=now, request_id=request_id)
    return job


def forget(*, now: datetime) -> int:
    """Deletes jobs that ended well or were discarded a week ago; returns how many. Failed ones stay.

    The notes of django-q2 about tasks that ran into their time limit are deleted as well.
    """
    oldest = now - timedelta(days=settings.MEMOS_JOBS_KEEP_DAYS)
    Failure.objects.filter(stopped__lt=oldest).delete()
    old = Job.objects.across_namespaces().filter(state__in=OVER, finished_at__lt=oldest)
    deleted = 0
    while part := old.filter(pk__in=list(old.values_list("pk", flat=True)[:_BATCH])).delete()[0]:
        deleted += part
    return deleted


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
