"""Queues background jobs. A job is a row of the same database: it is queued or rolled back with the change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import orjson
from django.conf import settings
from django.db import transaction
from django.utils import timezone

from memory import tracing
from memory.enums import JobPriority
from memory.models.keys import new_id
from memory.models.queries import jobs as queries
from memory.postgresql import reach


@dataclass(frozen=True, slots=True)
class Kind:
    """Names a function of a module called `tasks` below `memory`, or of another module by its whole path.

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
    namespace_id = int(every[0][0]) if kind.of_namespace else 0
    new = {orjson.dumps(arguments): new_id() for arguments in every}
    with reach.within(namespace_id), transaction.atomic(savepoint=False):
        queued = queries.insert_jobs(
            namespace_id,
            kind.name,
            [(identity, arguments.decode()) for arguments, identity in new.items()],
            once=kind.once,
            seconds=seconds,
            priority=JobPriority.BULK if kind.asks_model and settings.MEMOS_LLM_ENABLED else kind.priority,
            traceparent=tracing.traceparent(),
            now=timezone.now(),
        )
        jobs = {orjson.dumps(orjson.loads(arguments)): str(pk) for pk, arguments in queued}
    return [jobs[arguments] for arguments in new]
