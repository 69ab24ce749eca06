"""Finds the rows that came of a job, as far as its arguments name them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from memory.enums import MemoryKind
from memory.models import AuditLog, Condensation, DocumentFile, Erasure, EvaluationRun, Job, Memory, MemoryLink

LISTED = 20
# Jobs that read something in a session's turns, and the kind of memory that it is.
_READ_IN_TURNS = {"extract_facts": MemoryKind.FACT, "read_preferences": MemoryKind.PREFERENCE}


@dataclass(frozen=True, slots=True)
class JobResult:
    """A row. `kind`: condensation, evaluation, erasure, link, fact, preference, file; `what` says which, `session`
    where."""

    kind: str
    id: str
    what: str
    at: datetime
    session: str = ""


# Jobs whose first argument is the id of a row: its model, the column of the id, and how the row is shown.
_NAMED: dict[str, tuple[Any, str, Callable[[Any], JobResult]]] = {
    "evaluate": (
        EvaluationRun,
        "pk",
        lambda run: JobResult("evaluation", str(run.pk), str(run.status), run.created_at),
    ),
    "erase": (Erasure, "id", lambda row: JobResult("erasure", str(row.id), str(row.status), row.created_at)),
    "read_document_file": (
        DocumentFile,
        "id",
        lambda row: JobResult("file", str(row.id), row.refusal or row.type, row.created_at, row.session),
    ),
    "settle_memory": (
        MemoryLink,
        "memory_id",
        lambda link: JobResult("link", str(link.other_id), str(link.kind), link.created_at),
    ),
}


def arguments(job: Job) -> list[str]:
    """Returns the arguments of a job, without the namespace that it belongs to."""
    own = job.arguments[1:] if job.namespace_id and job.arguments[:1] == [job.namespace_id] else job.arguments
    return [str(argument) for argument in own]


def results(job: Job) -> list[JobResult]:
    """Lists the rows that the last attempt made: versions of a summary, links of a memory, the run itself."""
    own = arguments(job)
    if not own or job.started_at is None:
        return []
    made = {"namespace_id": job.namespace_id, "created_at__gte": job.started_at}
    if job.finished_at is not None:
        made["created_at__lte"] = job.finished_at
    if job.kind == "condense_session":
        versions = Condensation.objects.filter(session=own[0], **made).defer("condensed_text").order_by("number")
        return [
            JobResult("condensation", str(row.pk), f"#{row.number}", row.created_at, row.session)
            for row in versions[:LISTED]
        ]
    if kind := _READ_IN_TURNS.get(job.kind):
        read = Memory.objects.filter(**made).in_session(own[0]).of_kind(kind).order_by("-turn")
        rows = read.values_list("pk", "turn", "created_at")[:LISTED]
        return [JobResult(kind.value, str(pk), str(-turn), at, own[0]) for pk, turn, at in rows]
    try:
        model, column, show = _NAMED[job.kind]
        named = model.objects.filter(**{"namespace_id": job.namespace_id, column: UUID(own[0])})
    except (KeyError, ValueError):
        return []
    return [show(row) for row in named.order_by("-created_at")[:LISTED]]


def list_changes(job: Job) -> list[AuditLog]:
    """Lists what people did to a job: replays and discards, the newest first."""
    rows = AuditLog.objects.filter(namespace_id=job.namespace_id, subject=str(job.pk))
    return list(rows.filter(event_type__in=("JOB_REPLAY", "JOB_DISCARD")).order_by("-pk")[:LISTED])
