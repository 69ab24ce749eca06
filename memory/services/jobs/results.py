"""What a job was about, and the rows that came of it, as far as its arguments name them."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import datetime

from memory.enums import MemoryKind
from memory.models import AuditLog, Condensation, DocumentFile, Erasure, EvaluationRun, Job, Memory, MemoryLink

LISTED = 20
# Jobs that read something in a session's turns, and the kind of memory that it is.
_READ_IN_TURNS = {"extract_facts": MemoryKind.FACT, "read_preferences": MemoryKind.PREFERENCE}


@dataclass(frozen=True, slots=True)
class JobResult:
    """A row. `kind`: condensation, evaluation, erasure, link, fact, file; `what` says which, `session` where."""

    """A row. `kind`: condensation, evaluation, erasure, link, fact, preference; `what` says which, `session` where."""

    kind: str
    id: str
    what: str
    at: datetime
    session: str = ""


def arguments(job: Job) -> list[str]:
    """What it was asked for, without the namespace that it belongs to."""
    own = job.arguments[1:] if job.namespace_id and job.arguments[:1] == [job.namespace_id] else job.arguments
    return [str(one) for one in own]


def results(job: Job) -> list[JobResult]:
    """The rows that the last attempt made: versions of a summary, links of a memory, the run or erasure itself."""
    own = arguments(job)
    if not own or job.started_at is None:
        return []
    if job.kind == "condense_session":
        made = Condensation.objects.filter(
            namespace_id=job.namespace_id, session=own[0], created_at__gte=job.started_at
        )
        if job.finished_at is not None:
            made = made.filter(created_at__lte=job.finished_at)
        return [
            JobResult("condensation", str(row.pk), f"#{row.number}", row.created_at, row.session)
            for row in made.defer("condensed_text").order_by("number")[:LISTED]
        ]
    if kind := _READ_IN_TURNS.get(job.kind):
        facts = Memory.objects.filter(namespace_id=job.namespace_id, created_at__gte=job.started_at)
        facts = facts.in_session(own[0]).of_kind(kind)
        if job.finished_at is not None:
            facts = facts.filter(created_at__lte=job.finished_at)
        return [
            JobResult(kind.value, str(pk), str(-turn), at, own[0])
            for pk, turn, at in facts.order_by("-turn").values_list("pk", "turn", "created_at")[:LISTED]
        ]
    identity = _uuid(own[0])
    if identity is None:
        return []
    if job.kind == "evaluate":
        runs = EvaluationRun.objects.filter(namespace_id=job.namespace_id, pk=identity)
        return [JobResult("evaluation", str(run.pk), str(run.status), run.created_at) for run in runs]
    if job.kind == "erase":
        erasures = Erasure.objects.filter(namespace_id=job.namespace_id, id=identity)
        return [JobResult("erasure", str(one.id), str(one.status), one.created_at) for one in erasures]
    if job.kind == "read_document_file":
        files = DocumentFile.objects.filter(namespace_id=job.namespace_id, id=identity)
        return [JobResult("file", str(one.id), one.refusal or one.type, one.created_at, one.session) for one in files]
    if job.kind == "settle_memory":
        links = MemoryLink.objects.filter(namespace_id=job.namespace_id, memory_id=identity)
        return [
            JobResult("link", str(link.other_id), str(link.kind), link.created_at)
            for link in links.order_by("-created_at")[:LISTED]
        ]
    return []


def list_changes(job: Job) -> list[AuditLog]:
    """What people did to it: replays and discards, the newest first."""
    rows = AuditLog.objects.filter(namespace_id=job.namespace_id, subject=str(job.pk))
    return list(rows.filter(event_type__in=("JOB_REPLAY", "JOB_DISCARD")).order_by("-pk")[:LISTED])


def _uuid(text: str) -> uuid.UUID | None:
    try:
        return uuid.UUID(text)
    except ValueError:
        return None
