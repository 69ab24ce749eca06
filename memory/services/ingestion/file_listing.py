"""Lists the files that were given as documents, as clients see them: their progress and results."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any

from django.db.models import QuerySet

from memory.enums import FileState, JobState
from memory.errors import NotFound
from memory.models import Document, DocumentFile, DocumentFilePart, Job, Namespace
from memory.models.paging import narrow, page_of
from memory.services.jobs import queue
from memory.types import Access, ListFilter, Scope


def find_file(access: Access, *, file_id: uuid.UUID) -> DocumentFile:
    """Return a file of a namespace that the caller reaches. Raises NotFound."""
    row = DocumentFile.objects.reachable_by(access).filter(id=file_id).first()
    if row is None:
        raise NotFound(f"There is no file {file_id} that this key reaches.", detail={"field": "id"})
    return row


def list_files(
    access: Access, *, wanted: ListFilter, document_id: str | None = None, cursor: uuid.UUID | None
) -> tuple[list[dict[str, Any]], uuid.UUID | None]:
    """Return the files, newest first, from `cursor` on, and the cursor of the next page. Raises NotFound."""
    rows = narrow(DocumentFile.objects.reachable_by(access), access, wanted)
    if document_id is not None:
        rows = rows.filter(document_id=document_id)
    if cursor is not None:
        rows = rows.filter(id__lte=cursor)
    page, following = page_of(rows, wanted.limit)
    return _to_dicts(page), following.id if following else None


def to_dict(row: DocumentFile) -> dict[str, Any]:
    """Return a file's progress and result as clients see them."""
    return _to_dicts([row])[0]


def file_in_force(scope: Scope, document: Document) -> DocumentFile | None:
    """Return the file that the document's present version was read from, if any."""
    rows = DocumentFile.objects.in_scope(scope).filter(document_key=document.id, document_version=document.version)
    return rows.first()


def is_in_force(row: DocumentFile) -> bool:
    """Return whether the present version of a document was read from the file."""
    if row.document_key is None or row.document_version is None:
        return False
    documents = Document.objects.filter(namespace_id=row.namespace_id, id=row.document_key)
    return documents.filter(version=row.document_version).exists()


def name_of(row: DocumentFile) -> str:
    """Return the name of the file's namespace."""
    return Namespace.objects.filter(pk=row.namespace_id).values_list("name", flat=True).first() or ""


def parts_of(row: DocumentFile) -> QuerySet[DocumentFilePart]:
    """Return the stored parts of the file in order."""
    return DocumentFilePart.objects.filter(namespace_id=row.namespace_id, file_id=row.id).order_by("number")


def jobs_of(row: DocumentFile) -> QuerySet[Job]:
    """Return the jobs of the file, newest first."""
    arguments = [row.namespace_id, str(row.id)]
    jobs = Job.objects.filter(namespace_id=row.namespace_id, kind=queue.READ_FILE.name, arguments=arguments)
    return jobs.order_by("-id")


def _to_dicts(rows: Sequence[DocumentFile]) -> list[dict[str, Any]]:
    """Return the files as clients see them; each other table is read once for all of them."""
    namespaces = {row.namespace_id for row in rows}
    ids = [row.id for row in rows]
    names = dict(Namespace.objects.filter(pk__in=namespaces).values_list("pk", "name"))
    parts = DocumentFilePart.objects.filter(namespace_id__in=namespaces, file_id__in=ids, number=0)
    kept = set(parts.values_list("file_id", flat=True))
    arguments = [[row.namespace_id, str(row.id)] for row in rows if row.finished_at is None]
    jobs = Job.objects.filter(namespace_id__in=namespaces, kind=queue.READ_FILE.name, arguments__in=arguments)
    newest = {job.arguments[1]: job for job in jobs.order_by("id")} if arguments else {}
    return [
        _to_dict(row, names.get(row.namespace_id, ""), newest.get(str(row.id)), has_original=row.id in kept)
        for row in rows
    ]


def _to_dict(row: DocumentFile, namespace: str, job: Job | None, *, has_original: bool) -> dict[str, Any]:
    plain = (
        "document_id", "document_version", "name", "type", "title", "source", "metadata", "keep_original", "parser",
        "pages", "tables", "characters", "chunks", "seconds", "peak_bytes", "verdict", "reasons", "degraded", "refusal",
        "problem", "notes", "actor",
    )  # fmt: skip
    moments = ("occurred_at", "created_at", "asked_at", "finished_at")
    return {
        "id": str(row.id),
        "namespace": namespace,
        "state": _state_of(row, job),
        "percent": _percent_of(row, job),
        "bytes": row.size,
        "session_id": row.session or None,
        "quarantine_id": str(row.quarantine_id) if row.quarantine_id else None,
        "has_original": has_original,
        **{name: getattr(row, name) for name in plain},
        **{name: moment.isoformat() if (moment := getattr(row, name)) else None for name in moments},
    }


def _state_of(row: DocumentFile, job: Job | None) -> str:
    if row.finished_at is not None:
        return FileState.REFUSED.value if row.refusal else FileState.DONE.value
    if job is None:
        return FileState.DISCARDED.value
    # The job has ended, and the end of the file is about to be written.
    return FileState.RUNNING.value if job.state == JobState.DONE else str(job.state)


def _percent_of(row: DocumentFile, job: Job | None) -> int:
    if row.finished_at is not None:
        return 100
    if job is None or not job.total:
        return 0
    return min(99, 100 * (job.done or 0) // job.total)
