"""Checks the worker, its queue, the failed jobs and the schedules."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from memory.models import Job
from memory.services.diagnosis.finding import FAIL, OK, START_WORKER, WARN, Finding
from memory.services.jobs.schedules import LATE_PERIODS, schedule_states
from memory.services.jobs.waiting import describe_overdue
from memory.services.monitoring import stats
from memory.services.webhooks.log import count_webhooks
from memory.types import system_access


def worker() -> Finding:
    heartbeat = stats.worker_heartbeat()
    if heartbeat == stats.ALIVE:
        return Finding(OK, "worker", "alive")
    return Finding(WARN, "worker", f"{heartbeat}: summaries and delayed embeddings wait", START_WORKER)


def queue(*, now: datetime) -> Finding:
    """Check that the jobs of each priority are begun in time."""
    if overdue := describe_overdue(now=now):
        fix = f"no worker, or too few (MEMOS_JOB_WORKERS, of bulk ones MEMOS_JOB_LONG_WORKERS); {START_WORKER}"
        return Finding(WARN, "queue", overdue, fix)
    return Finding(OK, "queue", f"{Job.objects.across_namespaces().unfinished().count()} jobs, none overdue")


def failures() -> Finding:
    failed = Job.objects.across_namespaces().failed()
    last = failed.order_by("-finished_at").first()
    if last is None:
        return Finding(OK, "failed jobs", "none")
    what = f"{failed.count()} kept, the last: {last.kind}: {last.error_type}: {last.error}"
    fix = "repair what it names; `manage.py jobs list --state failed`, then `jobs replay ID` or `jobs discard ID`"
    return Finding(WARN, "failed jobs", what, fix)


def webhooks() -> Finding:
    """Check that webhook receivers accept their deliveries."""
    counts = count_webhooks(system_access("doctor"))
    if not counts.disabled and not counts.failing:
        return Finding(OK, "webhooks", f"{counts.waiting} deliveries wait, none is failing")
    what = f"{counts.disabled} disabled after failures, {counts.failing} failing, {counts.waiting} deliveries wait"
    fix = "the console's page Webhooks says why; repair the receiver, enable the webhook, replay what failed"
    return Finding(WARN, "webhooks", what, fix)


def schedules(*, wanted: Collection[str], now: datetime) -> Finding:
    """Check that every schedule exists, runs on time and does not fail repeatedly."""
    states = [state for state in schedule_states(now=now) if state.name in wanted]
    missing = sorted(set(wanted) - {state.name for state in states})
    if missing:
        return Finding(FAIL, "schedules", f"missing: {', '.join(missing)}", "manage.py bootstrap")
    failing = [
        f"{state.name} has failed {state.failures} times in a row ({': '.join(state.error or ('unknown',))})"
        for state in states
        if state.keeps_failing()
    ]
    if failing:
        return Finding(FAIL, "schedules", "; ".join(failing), "repair what it names; the next run goes on from there")
    ahead = [state.name for state in states if state.is_ahead(now)]
    if ahead:
        what = f"due only when the clock has caught up, for it has gone back: {', '.join(ahead)}"
        return Finding(WARN, "schedules", what, "manage.py bootstrap; the next job mends it as well")
    late = [state.name for state in states if state.is_late(now)]
    if late:
        what = f"more than {LATE_PERIODS} periods late: {', '.join(late)}"
        return Finding(
            WARN, "schedules", what, f"no worker, or one that is too busy (MEMOS_JOB_WORKERS); {START_WORKER}"
        )
    return Finding(OK, "schedules", f"{len(states)} present, on time")
