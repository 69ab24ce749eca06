"""Carries out jobs as django-q2's workers do, but in the test's process."""

from __future__ import annotations

import pydoc
from typing import Any

from django.db.models import QuerySet
from django.utils import timezone
from django_q.brokers.orm import ORM
from django_q.models import OrmQ
from django_q.signing import SignedPackage

from memory.enums import JobPriority, JobState
from memory.models import Job
from memory.postgresql import reach
from memory.services.jobs import runner
from memory.services.jobs.registry import find_task


def queued_jobs() -> QuerySet[Job]:
    """Return the waiting jobs."""
    return Job.objects.across_namespaces().filter(state=JobState.QUEUED)


def work_off() -> int:
    """Run all due jobs, by priority, until none is left; return the number of jobs and runs."""
    count, clock = 0, ORM("memos")
    while True:
        with reach.across_namespaces():
            due = [priority for priority in JobPriority if Job.objects.due(priority, now=timezone.now()).exists()]
        runs = (clock.dequeue() or []) if clock.queue_size() else []
        if not due and not runs:
            return count
        for priority in due:
            runner.work(priority)
        for message_id, payload in runs:
            task = SignedPackage.loads(payload)
            pydoc.locate(task["func"])(*task["args"], **task["kwargs"])
            clock.acknowledge(message_id)
        count += len(due) + len(runs)


def make_due() -> None:
    """Make every waiting job due now."""
    queued_jobs().update(due_at=timezone.now())
    OrmQ.objects.update(lock=timezone.now())


def run_job(job: Job) -> None:
    """Run the next job."""
    job.refresh_from_db()
    runner._run(runner._begin(job, timezone.now()))


def run_task(kind: str, *arguments: Any) -> Any:
    """Call a task as a plain function, without a job."""
    return find_task(kind)(*arguments, now=timezone.now())
