"""Hands work to the background. A job is a row of the same database: it is queued or rolled back with the change."""

from __future__ import annotations

from django_q.tasks import async_task

CONDENSE = "memory.tasks.condense_session"
EMBED_PENDING = "memory.tasks.embed_pending"


def enqueue(task: str, *arguments: int | str) -> str:
    """Queues `task` (a dotted path in memory.tasks) with ids as arguments; returns the job's id."""
    return str(async_task(task, *arguments))
