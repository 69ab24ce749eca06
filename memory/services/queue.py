"""Hands work to the background. A job is a row of the same database: it is queued or rolled back with the change."""

from __future__ import annotations

from django_q.tasks import async_task

CONDENSE = "memory.tasks.condense_session"
EMBED_PENDING = "memory.tasks.embed_pending"
EVALUATE = "memory.tasks.evaluate"


def enqueue(task: str, *arguments: int | str, seconds: int | None = None) -> str:
    """Queues `task` (a dotted path in memory.tasks) with ids as arguments; returns the job's id.

    It may take `seconds`, or MEMOS_JOB_TIMEOUT_SECONDS. One that may take longer than MEMOS_JOB_RETRY_SECONDS is given
    to a second worker meanwhile: it must see that the first is at it.
    """
    options = {} if seconds is None else {"timeout": seconds}
    return str(async_task(task, *arguments, q_options=options))
