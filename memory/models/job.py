"""Background jobs: the request, the progress and the last error of each. This table is the queue."""

from __future__ import annotations

from datetime import datetime
from typing import Self

from django.db import models
from django.db.models.functions import Now
from django.utils import timezone

from memory.enums import JobPriority, JobState
from memory.models.keys import new_id
from memory.models.scoped import ScopedQuerySet, ScopedRow

OPEN = (JobState.QUEUED, JobState.RUNNING)
OVER = (JobState.DONE, JobState.DISCARDED)


class JobQuerySet(ScopedQuerySet["Job"]):
    def unfinished(self) -> Self:
        """Selects the jobs that wait or run."""
        return self.filter(state__in=OPEN)

    def due(self, priority: JobPriority, *, now: datetime) -> Self:
        """Selects the jobs that a worker may begin, by namespace: they wait, or their worker has been lost."""
        rows = self.across_namespaces().unfinished().filter(priority=priority, due_at__lte=now)
        return rows.order_by("namespace_id", "due_at")

    def failed(self) -> Self:
        """Selects the jobs that were given up, and are kept until someone replays or discards them."""
        return self.filter(state=JobState.FAILED)


class Job(ScopedRow):
    """Represents a piece of background work, which a worker of its priority takes.

    `arguments` are ids and names, never memory text, so a failed job can be run again as it was requested. `due_at` is
    when a worker may begin it. While it runs, each heartbeat moves `heartbeat_at`, and `due_at` to when the job counts
    as lost. `attempts` tells one run of it from the next, and each run that began counts.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    namespace_id = models.BigIntegerField(default=0, help_text="0: the job is of no namespace")
    kind = models.CharField(max_length=64, help_text="A function of one of the modules named `tasks`")
    arguments = models.JSONField(default=list)
    schedule = models.CharField(max_length=100, blank=True, default="", help_text="Of a run by the clock: its name")
    once = models.BooleanField(default=False, help_text="No second one of the same arguments while it is open")
    seconds = models.IntegerField(null=True, blank=True, help_text="What it may take; empty: the server's setting")
    priority = models.SmallIntegerField(
        choices=JobPriority.choices,
        default=JobPriority.NORMAL,
        db_default=JobPriority.NORMAL,
        help_text="Who waits for it: a person, nobody, or nobody for hours",
    )
    state = models.CharField(max_length=10, choices=JobState.choices, default=JobState.QUEUED)
    attempts = models.IntegerField(default=0)
    done = models.BigIntegerField(null=True, blank=True, help_text="Of `total`, as far as the task knows")
    total = models.BigIntegerField(null=True, blank=True)
    again = models.BooleanField(default=False, help_text="It was asked for again while it ran: it runs once more")
    error_type = models.CharField(max_length=100, blank=True, default="")
    error = models.CharField(max_length=300, blank=True, default="", help_text="First line of the last error")
    reason = models.CharField(max_length=500, blank=True, default="", help_text="Why it was discarded")
    traceparent = models.CharField(max_length=55, blank=True, default="", db_default="", help_text="Who asked for it")
    queued_at = models.DateTimeField(default=timezone.now)
    due_at = models.DateTimeField(default=timezone.now, db_default=Now(), help_text="When a worker may begin it")
    started_at = models.DateTimeField(null=True, blank=True, help_text="Beginning of the last attempt")
    heartbeat_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    objects = JobQuerySet.as_manager()

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["namespace_id", "kind", "arguments"],
                condition=models.Q(once=True, state__in=OPEN),
                name="job_open_once",
            ),
            models.UniqueConstraint(
                fields=["namespace_id", "schedule"],
                condition=~models.Q(schedule="") & models.Q(state__in=[*OPEN, JobState.FAILED]),
                name="job_of_schedule_once",
            ),
        ]
        indexes = [
            models.Index(fields=["namespace_id", "-id"], name="job_recent"),
            # Workers look for due jobs.
            models.Index(
                fields=["priority", "namespace_id", "due_at"], condition=models.Q(state__in=OPEN), name="job_due"
            ),
            # The few rows that people and the doctor look for.
            models.Index(
                fields=["state", "id"], condition=models.Q(state__in=[*OPEN, JobState.FAILED]), name="job_unfinished"
            ),
            # Open jobs by namespace and priority, oldest first.
            models.Index(
                fields=["namespace_id", "priority", "queued_at"],
                condition=models.Q(state__in=OPEN),
                name="job_open_by_priority",
            ),
            models.Index(fields=["finished_at"], condition=models.Q(state__in=OVER), name="job_over"),
            models.Index(
                fields=["namespace_id", "schedule", "-started_at"],
                condition=~models.Q(schedule=""),
                name="job_runs_of_schedule",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.id}"
