"""Queues background jobs. A job is a row of the same database: it is queued or rolled back with the change."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import orjson
from django.conf import settings
from django.db import connection, transaction
from django.utils import timezone
from django_q.brokers import Broker
from django_q.models import Failure, OrmQ
from django_q.tasks import async_task

from memory import tracing
from memory.enums import JobPriority, JobState
from memory.models.keys import new_id
from memory.models.sql import fetch
from memory.postgresql import reach
from memory.services.jobs.lanes import key_of


@dataclass(frozen=True, slots=True)
class Kind:
    """Names a function of memory.tasks, or of another module by its whole path.

    `of_namespace`: the first argument is the id of the namespace that the job belongs to; if False, the job belongs to
    the system. `once`: while a job with the same arguments waits, no second one is queued; a running one is run once
    more when it has ended, for requests made meanwhile. `priority`: the workers that take it; bulk for jobs that may
    take minutes. `asks_model`: where language models are enabled the job waits for one, and is bulk for that reason.
    """

    name: str
    of_namespace: bool = True
    once: bool = True
    priority: JobPriority = JobPriority.NORMAL
    asks_model: bool = False


CONDENSE = Kind("condense_session", asks_model=True)
EMBED_PENDING = Kind("embed_pending", of_namespace=False)
EVALUATE = Kind("evaluate", priority=JobPriority.BULK)
ERASE = Kind("erase", priority=JobPriority.INTERACTIVE)
SETTLE = Kind("settle_memory")
PROJECT = Kind("project_memories")
RENEW_SUMMARY = Kind("renew_summary", asks_model=True)
BACK_UP = Kind("back_up", of_namespace=False, priority=JobPriority.BULK)
EXTRACT = Kind("extract_facts", asks_model=True)
HELP_SETTLING = Kind("help_settling", of_namespace=False)
FOLLOW_SOURCES = Kind("follow_sources")
READ_PREFERENCES = Kind("read_preferences", asks_model=True)
GROW_TREE = Kind("grow_tree")
READ_FILE = Kind("read_document_file", priority=JobPriority.BULK)
CHANGE_MEMORIES = Kind("change_memories", priority=JobPriority.BULK)
IMPORT = Kind("import_memories", priority=JobPriority.BULK)
BUILD_ACTIVATION = Kind("build_activation", priority=JobPriority.BULK)
EXPORT_TRAINING = Kind("export_training", priority=JobPriority.BULK)
TRAIN_ADAPTER = Kind("train_adapter", priority=JobPriority.BULK)
DUMP_CUBE = Kind("dump_cube", priority=JobPriority.BULK)
LOAD_CUBE = Kind("load_cube", priority=JobPriority.BULK)
# The second argument of these is the name of a session.
OF_SESSION = (CONDENSE, RENEW_SUMMARY, EXTRACT, READ_PREFERENCES, FOLLOW_SOURCES)

# A request made while the job runs marks its row. The mark waits for the requesting transaction, and so does the end of
# the job: the request is either seen by the run or leads to another.
_LOCK = """
SELECT id FROM memory_job
WHERE namespace_id = %(namespace_id)s AND kind = %(kind)s AND arguments = ANY(%(arguments)s::text[]::jsonb[])
  AND once AND state IN ('queued', 'running')
ORDER BY id FOR UPDATE
"""
_ASK = """
INSERT INTO memory_job (id, namespace_id, kind, arguments, schedule, once, seconds, priority, state, attempts, again,
                        error_type, error, reason, queued_at)
SELECT asked.id, %(namespace_id)s, %(kind)s, asked.arguments::jsonb, '', %(once)s, %(seconds)s, %(priority)s, 'queued',
       0, false, '', '', '', %(now)s
FROM unnest(%(ids)s::uuid[], %(arguments)s::text[]) AS asked (id, arguments)
ON CONFLICT (namespace_id, kind, arguments) WHERE once AND state IN ('queued', 'running')
DO UPDATE SET again = memory_job.state = 'running'
RETURNING id, arguments::text, state, queue_message_id
"""
_NOTE_MESSAGES = """
UPDATE memory_job SET queue_message_id = sent.message_id
FROM unnest(%(ids)s::uuid[], %(message_ids)s::bigint[]) AS sent (id, message_id)
WHERE namespace_id = %(namespace_id)s AND memory_job.id = sent.id
"""


class _Messages(Broker):
    """Collects the messages that django-q would send one by one."""

    def __init__(self, list_key: str) -> None:
        super().__init__(list_key)
        self.payloads: list[str] = []

    def enqueue(self, task: str) -> int:
        self.payloads.append(task)
        return 0


def enqueue(kind: Kind, *arguments: int | str, seconds: int | None = None) -> str:
    """Queues a job of `kind` with ids and names as arguments; returns its id, or the id of the same job already queued.

    The job may take `seconds`, or MEMOS_JOB_TIMEOUT_SECONDS. The queue uses the machine's clock, which its workers use,
    not the time of the change that queues the job.
    """
    [job_id] = enqueue_each(kind, [arguments], seconds=seconds)
    return job_id


def enqueue_each(kind: Kind, every: Sequence[Sequence[int | str]], *, seconds: int | None = None) -> list[str]:
    """Queues jobs as `enqueue` does, with each of these arguments, which differ; all are of one namespace if
    the kind is.
    """
    priority = JobPriority.BULK if kind.asks_model and settings.MEMOS_LLM_ENABLED else kind.priority
    namespace_id = int(every[0][0]) if kind.of_namespace else 0
    new = {orjson.dumps(arguments): new_id() for arguments in every}
    with reach.within(namespace_id), transaction.atomic(savepoint=False):
        parameters = {
            "ids": list(new.values()),
            "namespace_id": namespace_id,
            "kind": kind.name,
            "arguments": [arguments.decode() for arguments in new],
            "once": kind.once,
            "seconds": seconds,
            "priority": priority,
            "now": timezone.now(),
        }
        if len(new) > 1:
            # Locks rows in the order of other code that locks several of them: an erasure, which deletes jobs.
            fetch(_LOCK, parameters, prepared=False)
        asked = fetch(_ASK, parameters, prepared=False)
        jobs = {}
        unsent: list[tuple[UUID, Sequence[int | str]]] = []
        for job_id, text, state, queue_message_id in asked:
            arguments = orjson.loads(text)
            place = orjson.dumps(arguments)
            jobs[place] = str(job_id)
            is_lost = state == JobState.QUEUED and not OrmQ.objects.filter(pk=queue_message_id).exists()
            if job_id == new[place] or is_lost:
                unsent.append((job_id, arguments))
        if unsent:
            send_each(unsent, namespace_id=namespace_id, kind=kind.name, seconds=seconds, priority=priority)
    return [jobs[place] for place in new]


def send_each(
    jobs: Sequence[tuple[UUID, Sequence[int | str]]],
    *,
    namespace_id: int,
    kind: str,
    seconds: int | None,
    priority: JobPriority,
    due: datetime | None = None,
) -> None:
    """Puts jobs (id and arguments) of a namespace into django-q's queue, for a worker to take now or when `due`."""
    broker = _Messages(key_of(priority, namespace_id))
    options = {"broker": broker} if seconds is None else {"broker": broker, "timeout": seconds}
    asked_by = {"traceparent": asking} if (asking := tracing.traceparent()) else {}
    for job_id, arguments in jobs:
        async_task(_path(kind), *arguments, job=(namespace_id, str(job_id)), **asked_by, q_options=dict(options))
    lock = due or timezone.now()
    messages = OrmQ.objects.bulk_create(
        OrmQ(key=broker.list_key, payload=payload, lock=lock) for payload in broker.payloads
    )
    parameters: dict[str, Any] = {
        "ids": [job_id for job_id, _ in jobs],
        "message_ids": [message.pk for message in messages],
        "namespace_id": namespace_id,
    }
    with connection.cursor() as cursor:
        cursor.execute(_NOTE_MESSAGES, parameters)


def waiting_for_sessions(namespace_id: int, sessions: Collection[str]) -> list[int]:
    """Lists the keys of the queue messages (OrmQ) of jobs for one of the namespace's `sessions`."""
    queued = ((row.pk, row.task) for row in OrmQ.objects.all())
    return [key for key, job in queued if _names(job.get("func"), job.get("args"), namespace_id, sessions)]


def list_failed_for_sessions(namespace_id: int, sessions: Collection[str]) -> list[str]:
    """Lists the ids of django-q's records of failed messages (Failure) about one of the namespace's `sessions`."""
    functions = [_path(kind.name) for kind in OF_SESSION]
    failed = Failure.objects.filter(func__in=functions).values_list("pk", "func", "args")
    return [key for key, func, arguments in failed if _names(func, arguments, namespace_id, sessions)]


def _names(func: str | None, arguments: tuple | None, namespace_id: int, sessions: Collection[str]) -> bool:
    if func not in [_path(kind.name) for kind in OF_SESSION] or not arguments:
        return False
    return bool(arguments[0] == namespace_id and arguments[1] in sessions)


def _path(kind: str) -> str:
    return kind if "." in kind else f"memory.tasks.{kind}"
