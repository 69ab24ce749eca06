"""Hands work to the background. A job is a row of the same database: it is queued or rolled back with the change."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import orjson
from django.db import transaction
from django.utils import timezone
from django_q.brokers.orm import ORM
from django_q.models import Failure, OrmQ
from django_q.tasks import async_task

from memory import tracing
from memory.enums import JobState
from memory.models import Job
from memory.models.keys import new_id
from memory.models.sql import fetch
from memory.postgresql import reach


@dataclass(frozen=True, slots=True)
class Kind:
    """A function of memory.tasks, or of another module by its whole path.

    `of_namespace`: its first argument is the id of the namespace that the job belongs to; without, the job is the
    system's. `once`: while a job with the same arguments waits no second one is queued; one that runs is run once more
    when it has ended, for what was asked for meanwhile.
    """

    name: str
    of_namespace: bool = True
    once: bool = True


CONDENSE = Kind("condense_session")
EMBED_PENDING = Kind("embed_pending", of_namespace=False)
EVALUATE = Kind("evaluate")
ERASE = Kind("erase")
SETTLE = Kind("settle_memory")
PROJECT = Kind("project_memories")
RENEW_SUMMARY = Kind("renew_summary")
BACK_UP = Kind("back_up", of_namespace=False)
EXTRACT = Kind("extract_facts")
FOLLOW_SOURCES = Kind("follow_sources")
CHANGE_MEMORIES = Kind("change_memories")
IMPORT = Kind("import_memories")
DUMP_CUBE = Kind("dump_cube")
LOAD_CUBE = Kind("load_cube")
# Their second argument is the name of a session.
OF_SESSION = (CONDENSE, RENEW_SUMMARY, EXTRACT, FOLLOW_SOURCES)

# Who asks while the job runs marks its row. The mark waits for the asker's transaction, and so does the end of the job:
# what was asked for is either seen by the run or leads to another.
_ASK = """
INSERT INTO memory_job (id, namespace_id, kind, arguments, schedule, once, seconds, state, attempts, again, error_type,
                        error, reason, queued_at)
VALUES (%(id)s, %(namespace_id)s, %(kind)s, %(arguments)s::jsonb, '', %(once)s, %(seconds)s, 'queued', 0, false, '',
        '', '', %(now)s)
ON CONFLICT (namespace_id, kind, arguments) WHERE once AND state IN ('queued', 'running')
DO UPDATE SET again = memory_job.state = 'running'
RETURNING id, state, queue_message_id
"""


def enqueue(kind: Kind, *arguments: int | str, seconds: int | None = None) -> str:
    """Queues a job of `kind` with ids and names as arguments; returns its id, or that of the one there is already.

    It may take `seconds`, or MEMOS_JOB_TIMEOUT_SECONDS. The moments of the queue are the machine's, which its workers
    go by, not those of the change that asks.
    """
    new = new_id()
    namespace_id = int(arguments[0]) if kind.of_namespace else 0
    with reach.within(namespace_id), transaction.atomic(savepoint=False):
        [(job_id, state, queue_message_id)] = fetch(
            _ASK,
            {
                "id": new,
                "namespace_id": namespace_id,
                "kind": kind.name,
                "arguments": orjson.dumps(arguments).decode(),
                "once": kind.once,
                "seconds": seconds,
                "now": timezone.now(),
            },
            prepared=False,
        )
        waits = state == JobState.QUEUED
        if job_id == new or (waits and not OrmQ.objects.filter(pk=queue_message_id).exists()):
            send(job_id, namespace_id=namespace_id, kind=kind.name, arguments=arguments, seconds=seconds)
    return str(job_id)


def send(
    job_id: UUID,
    *,
    namespace_id: int,
    kind: str,
    arguments: Sequence[int | str],
    seconds: int | None,
    due: datetime | None = None,
) -> None:
    """Puts a job into django-q's queue, for a worker to take now or when it is `due`."""
    broker = _Broker()
    options = {"broker": broker} if seconds is None else {"broker": broker, "timeout": seconds}
    asked_by = {"traceparent": asking} if (asking := tracing.traceparent()) else {}
    async_task(_path(kind), *arguments, job=(namespace_id, str(job_id)), **asked_by, q_options=options)
    if due is not None:
        OrmQ.objects.filter(pk=broker.message_id).update(lock=due)
    Job.objects.filter(namespace_id=namespace_id, pk=job_id).update(queue_message_id=broker.message_id)


def waiting_for_sessions(namespace_id: int, sessions: Collection[str]) -> list[int]:
    """Keys of the queue messages (OrmQ) of jobs that are about one of the namespace's `sessions`."""
    queued = ((row.pk, row.task) for row in OrmQ.objects.all())
    return [key for key, job in queued if _names(job.get("func"), job.get("args"), namespace_id, sessions)]


def list_failed_for_sessions(namespace_id: int, sessions: Collection[str]) -> list[str]:
    """Ids of django-q's notes of failed messages (Failure) about one of the namespace's `sessions`."""
    functions = [_path(kind.name) for kind in OF_SESSION]
    failed = Failure.objects.filter(func__in=functions).values_list("pk", "func", "args")
    return [key for key, func, arguments in failed if _names(func, arguments, namespace_id, sessions)]


def _names(func: str | None, arguments: tuple | None, namespace_id: int, sessions: Collection[str]) -> bool:
    if func not in [_path(kind.name) for kind in OF_SESSION] or not arguments:
        return False
    return bool(arguments[0] == namespace_id and arguments[1] in sessions)


def _path(kind: str) -> str:
    return kind if "." in kind else f"memory.tasks.{kind}"


class _Broker(ORM):
    """django-q's queue in PostgreSQL; `message_id` is that of the message that it was given last."""

    message_id = 0

    def enqueue(self, task: str) -> int:
        self.message_id = int(super().enqueue(task))
        return self.message_id
