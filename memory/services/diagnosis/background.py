"""The worker, its queue, the jobs that failed and the schedules."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta

from django.conf import settings
from django_q.models import Failure, OrmQ, Schedule

from memory.services import stats
from memory.services.diagnosis.finding import FAIL, OK, START_WORKER, WARN, Finding, first_line

RECENT = timedelta(days=1)


def worker() -> Finding:
    heartbeat = stats.worker_heartbeat()
    if heartbeat == stats.ALIVE:
        return Finding(OK, "worker", "alive")
    return Finding(WARN, "worker", f"{heartbeat}: summaries and delayed embeddings wait", START_WORKER)


def queue(*, now: datetime) -> Finding:
    patience = timedelta(seconds=2 * settings.MEMOS_JOB_RETRY_SECONDS)
    overdue = OrmQ.objects.filter(lock__lt=now - patience).count()
    if overdue:
        what = f"{overdue} jobs wait for more than {patience.total_seconds():.0f} s"
        return Finding(WARN, "queue", what, f"no worker, or too few (MEMOS_JOB_WORKERS); {START_WORKER}")
    return Finding(OK, "queue", f"{OrmQ.objects.count()} jobs, none overdue")


def failures(*, now: datetime) -> Finding:
    failed = Failure.objects.order_by("-started")
    recent = failed.filter(started__gt=now - RECENT)
    last = recent.first()
    if last is None:
        return Finding(OK, "failed jobs", f"none within a day ({failed.count()} earlier)")
    what = f"{recent.count()} within a day, the last: {last.func}: {first_line(last.result)}"
    return Finding(WARN, "failed jobs", what, "repair what it names; the rows are at /admin/django_q/failure/")


def schedules(*, wanted: Collection[str]) -> Finding:
    missing = sorted(set(wanted) - set(Schedule.objects.filter(name__in=wanted).values_list("name", flat=True)))
    if missing:
        return Finding(FAIL, "schedules", f"missing: {', '.join(missing)}", "manage.py bootstrap")
    return Finding(OK, "schedules", f"{len(set(wanted))} present")
