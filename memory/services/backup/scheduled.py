"""Makes scheduled backups: decides when one is due, makes it, and reports failures."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from django.conf import settings

from memory.enums import JobState
from memory.models import Job, UpkeepMark
from memory.models.job import OPEN
from memory.postgresql import reach
from memory.postgresql.reach import NO_NAMESPACE
from memory.services.backup.create import make, prune
from memory.services.jobs import queue

log = logging.getLogger("memos.backup")

MARK = "backup"
# The pause before another backup is queued after one that failed in all its attempts.
ASKED_AGAIN = timedelta(hours=1)
# A backup is overdue when it is later than its period by this share of it, and by an hour.
_LATE_SHARE = 0.25


@dataclass(frozen=True, slots=True)
class State:
    """The state of scheduled backups. `last_at`: the last one made; `failed`: why the one after it failed, or ''."""

    last_at: datetime | None
    failed: str
    overdue: bool


def back_up(*, actor: str, now: datetime) -> int:
    """Make a backup as configured and prune the folder; return its bytes. Raises as `make`."""
    folder = Path(settings.MEMOS_BACKUP_DIR)
    made = make(folder, key=settings.MEMOS_BACKUP_KEY, verified=settings.MEMOS_BACKUP_VERIFY, actor=actor, now=now)
    UpkeepMark.objects.update_or_create(name=MARK, defaults={"trusted_at": now})
    gone = prune(folder, keep=settings.MEMOS_BACKUP_KEEP, keep_days=settings.MEMOS_BACKUP_KEEP_DAYS or None, now=now)
    log.info("backup made", extra={"file": made.path.name, "bytes": made.size, "deleted": len(gone)})
    return made.size


def request_due(*, now: datetime) -> bool:
    """Queue a backup when the last is older than MEMOS_BACKUP_HOURS; return False if none is due, one waits, or one
    just failed."""
    if not settings.MEMOS_BACKUP_DIR:
        return False
    last_at = _last_at()
    if last_at is not None and now - last_at < timedelta(hours=settings.MEMOS_BACKUP_HOURS):
        return False
    asked = _open_job()
    if asked is not None and (asked.state in OPEN or now - asked.queued_at < ASKED_AGAIN):
        return False
    queue.enqueue(queue.BACK_UP, seconds=settings.MEMOS_BACKUP_TIMEOUT_SECONDS)
    return True


def state(*, now: datetime) -> State:
    """Return the state of the scheduled backups."""
    last_at, job = _last_at(), _open_job()
    failed = f"{job.error_type}: {job.error}" if job and job.error_type else ""
    if job and last_at is not None and job.queued_at < last_at:
        failed = ""
    period = timedelta(hours=settings.MEMOS_BACKUP_HOURS)
    late = last_at is not None and now - last_at > (1 + _LATE_SHARE) * period + ASKED_AGAIN
    return State(last_at, failed, late)


def _last_at() -> datetime | None:
    return UpkeepMark.objects.filter(name=MARK).values_list("trusted_at", flat=True).first()


def _open_job() -> Job | None:
    """Return the newest backup job that waits, runs or has failed."""
    states = [*OPEN, JobState.FAILED]
    with reach.within(NO_NAMESPACE):
        return Job.objects.filter(namespace_id=0, kind=queue.BACK_UP.name, state__in=states).order_by("-id").first()
