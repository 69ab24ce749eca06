"""Hands work to the background. A job is a row of the same database: it is queued or rolled back with the change."""

from __future__ import annotations

from collections.abc import Collection

from django_q.models import Failure, OrmQ
from django_q.tasks import async_task

CONDENSE = "memory.tasks.condense_session"
EMBED_PENDING = "memory.tasks.embed_pending"
EVALUATE = "memory.tasks.evaluate"
ERASE = "memory.tasks.erase"


def enqueue(task: str, *arguments: int | str, seconds: int | None = None) -> str:
    """Queues `task` (a dotted path in memory.tasks) with ids as arguments; returns the job's id.

    It may take `seconds`, or MEMOS_JOB_TIMEOUT_SECONDS. One that may take longer than MEMOS_JOB_RETRY_SECONDS is given
    to a second worker meanwhile: it must see that the first is at it.
    """
    options = {} if seconds is None else {"timeout": seconds}
    return str(async_task(task, *arguments, q_options=options))


def waiting_for_sessions(namespace_id: int, sessions: Collection[str]) -> list[int]:
    """Keys of the queued jobs (OrmQ) that are about one of the namespace's `sessions`."""
    queued = ((row.pk, row.task) for row in OrmQ.objects.all())
    return [key for key, job in queued if _names(job.get("func"), job.get("args"), namespace_id, sessions)]


def failed_for_sessions(namespace_id: int, sessions: Collection[str]) -> list[str]:
    """Ids of the failed jobs (Failure) that are about one of the namespace's `sessions`: their errors may quote it."""
    failed = Failure.objects.filter(func=CONDENSE).values_list("pk", "func", "args")
    return [key for key, func, arguments in failed if _names(func, arguments, namespace_id, sessions)]


def _names(func: str | None, arguments: tuple | None, namespace_id: int, sessions: Collection[str]) -> bool:
    if func != CONDENSE or not arguments:
        return False
    return bool(arguments[0] == namespace_id and arguments[1] in sessions)
