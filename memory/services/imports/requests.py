"""Accepts files to import: checks them, stores them for the job that imports them, reports progress, and cancels
them."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet

from memory import audit
from memory.enums import AuditEvent, GateDecision, ImportFormat, ImportState, JobState
from memory.errors import Conflict, NotFound
from memory.models import ImportPart, Job, MemoryImport, Namespace, Upload
from memory.models.large_values import add_part
from memory.models.paging import narrow, page_of
from memory.services.imports import uploads
from memory.services.imports.detect import recognise
from memory.services.imports.disk import write_file
from memory.services.imports.source import clean
from memory.services.imports.survey import preview
from memory.services.jobs import queue
from memory.services.tenancy.empty_namespace import lock_to_remove, remove_if_empty, was_made_for_file
from memory.services.tenancy.idempotency import make_once
from memory.services.tenancy.namespaces import lock_namespace
from memory.spool import open_folder
from memory.types import Access, Idempotency, ListFilter, Scope

# The time limit of a job in seconds; after half of it, the import goes on in another job.
JOB_SECONDS = 600
# The most unfinished imports of a namespace, because their files lie in the database.
MAX_OPEN = 10
PREVIEW_SECONDS = 10.0
_PART_BYTES = 1024 * 1024
_MAX_NAME_CHARS = 200


@dataclass(frozen=True, slots=True)
class ImportUpload:
    """A file as it was sent, in `chunks`, or as the upload `upload_id`.

    `format`: None detects it from the content. `speaker`: the name of the user who speaks.
    """

    name: str = ""
    chunks: Iterable[bytes] = ()
    format: ImportFormat | None = None
    speaker: str = ""
    upload_id: uuid.UUID | None = None


def preview_import(scope: Scope, upload: ImportUpload, *, now: datetime) -> dict[str, Any]:
    """Return the content of the file and what would become of it, in the form of `to_dict`. Stores nothing.

    Raises InvalidInput; NotFound and Conflict for an unusable upload.
    """
    upload, arrived = _find_upload(scope, upload)
    with _spool(upload, arrived) as path:
        recognised = recognise(path, format=upload.format)
        seconds = min(PREVIEW_SECONDS, settings.MEMOS_REQUEST_SECONDS / 2)
        survey = preview(scope, recognised, speaker=upload.speaker, seconds=seconds)
        size = path.stat().st_size
    row = _new_import(scope, upload, format=recognised.format, size=size, now=now)
    for name, value in survey.to_dict().items():
        setattr(row, name, value)
    row.present = survey.present
    return {
        **to_dict(row, namespace=scope.namespace, state=ImportState.PREVIEW),
        "id": None,
        "gate": {**dict.fromkeys(GateDecision.values, 0), **survey.gate},
        "judged": survey.judged,
        "complete": survey.complete,
    }


def start_import(
    scope: Scope, upload: ImportUpload, *, now: datetime, idempotency: Idempotency | None = None
) -> MemoryImport:
    """Store the file, and queue the job that imports it.

    Raises InvalidInput for a file that is refused, Conflict while MAX_OPEN other imports of the namespace are
    unfinished, IdempotencyConflict, NotFound if a repeated request's import is no longer known, and NotFound and
    Conflict for an unusable upload.
    """
    make = partial(_start_import, lambda: scope, upload, now=now)
    return _make_once(make, actor=scope.actor, idempotency=idempotency, now=now)


def start_import_into_new(
    make_scope: Callable[[], Scope],
    upload: ImportUpload,
    *,
    actor: str,
    now: datetime,
    idempotency: Idempotency | None = None,
) -> MemoryImport:
    """Start the import of a sent file into a new namespace. See `start_import`.

    The namespace is created (`make_scope`) with the import, and removed again when the import ends without result:
    refused, failed or cancelled.
    """
    make = partial(_start_import, make_scope, upload, is_new=True, now=now)
    return _make_once(make, actor=actor, idempotency=idempotency, now=now)


def _make_once(
    make: Callable[[], MemoryImport], *, actor: str, idempotency: Idempotency | None, now: datetime
) -> MemoryImport:
    def find(import_id: uuid.UUID) -> MemoryImport:
        # Search all namespaces, because its own may be gone again.
        row = MemoryImport.objects.across_namespaces().filter(id=import_id, actor=actor).first()
        if row is None:
            raise _not_found(import_id)
        return row

    return make_once(idempotency, make=make, identify=lambda made: made.id, find=find, now=now)


def _start_import(
    find_scope: Callable[[], Scope], upload: ImportUpload, *, is_new: bool = False, now: datetime
) -> MemoryImport:
    arrived = None
    if upload.upload_id is not None:
        upload, arrived = _find_upload(find_scope(), upload)
    with _spool(upload, arrived) as path:
        recognised = recognise(path, format=upload.format)
        size = path.stat().st_size
        with transaction.atomic():
            scope = find_scope()
            lock_namespace(scope)
            _check_room(scope)
            row = _new_import(scope, upload, format=recognised.format, size=size, now=now)
            if is_new or was_made_for_file(scope.namespace_id):
                row.made_namespace = scope.namespace
            _keep_file(scope, row, path, arrived, now=now)
    return row


def _keep_file(scope: Scope, row: MemoryImport, path: Path, arrived: Upload | None, *, now: datetime) -> None:
    row.save(force_insert=True)
    if arrived is not None:
        uploads.use(arrived, by=row.id)
    else:
        _store_parts(row, path)
    details = {"format": row.format, "bytes": row.size}
    audit.record(scope, AuditEvent.IMPORT_START, subject=str(row.id), details=details, now=now)
    queue.enqueue(queue.IMPORT, scope.namespace_id, str(row.id), seconds=JOB_SECONDS)


def _store_parts(row: MemoryImport, path: Path) -> None:
    with path.open("rb") as stream:
        number = 0
        while data := stream.read(_PART_BYTES):
            add_part(ImportPart, namespace_id=row.namespace_id, import_id=row.id, number=number, data=data)
            number += 1


def find_import(access: Access, *, import_id: uuid.UUID) -> MemoryImport:
    """Return an import of a namespace that the caller reaches. Raises NotFound."""
    row = MemoryImport.objects.reachable_by(access).filter(id=import_id).first()
    if row is None:
        raise _not_found(import_id)
    return row


def list_imports(
    access: Access, *, wanted: ListFilter, cursor: uuid.UUID | None
) -> tuple[list[dict[str, Any]], uuid.UUID | None]:
    """Return the imports, newest first, from `cursor` on, and the cursor of the next page. Raises NotFound."""
    rows = narrow(MemoryImport.objects.reachable_by(access), access, wanted)
    if cursor is not None:
        rows = rows.filter(id__lte=cursor)
    page, following = page_of(rows, wanted.limit)
    names = dict(Namespace.objects.filter(pk__in={row.namespace_id for row in page}).values_list("pk", "name"))
    return [
        to_dict(row, namespace=names.get(row.namespace_id) or row.made_namespace) for row in page
    ], following.id if following else None


def cancel_import(access: Access, *, import_id: uuid.UUID, now: datetime) -> MemoryImport:
    """Cancel an unfinished import; turns imported so far stay. Raises NotFound, and Conflict for a finished import."""
    with transaction.atomic():
        row = MemoryImport.objects.reachable_by(access).filter(id=import_id).select_for_update().first()
        if row is None:
            raise _not_found(import_id)
        if row.finished_at is not None:
            state = state_of(row)
            raise Conflict(f"The import is over ({state}): there is nothing to cancel.", detail={"state": state})
        row.cancelled_at = now
        end(row, actor=access.actor, now=now)
    return row


def end(row: MemoryImport, *, actor: str, now: datetime) -> None:
    """Finish the locked import and delete its file. Inside the caller's transaction."""
    row.finished_at = now
    row.save()
    is_refused = bool(row.problem or row.cancelled_at is not None)
    may_be_empty = row.made_namespace and is_refused and lock_to_remove(row.namespace_id)
    _delete_parts(row)
    counts = ("turns", "dealt_with", "new", "present", "gone", "redacted", "quarantined", "rejected", "unreadable")
    audit.record(
        Scope(row.namespace_id, name_of(row), actor, str(row.id)),
        AuditEvent.IMPORT_FINISH,
        subject=str(row.id),
        details={"state": state_of(row), "format": row.format, **{name: getattr(row, name) for name in counts}},
        now=now,
    )
    if may_be_empty:
        remove_if_empty(row.namespace_id)


def forget(*, now: datetime) -> int:
    """Delete imports older than MEMOS_JOBS_KEEP_DAYS, with their files; return how many.

    An unfinished import stays as long as it has a job: a failed job waits for a person.
    """
    oldest = now - timedelta(days=settings.MEMOS_JOBS_KEEP_DAYS)
    deleted = 0
    for row in MemoryImport.objects.across_namespaces().filter(created_at__lt=oldest):
        if row.finished_at is None and _jobs_of(row).exists():
            continue
        with transaction.atomic():
            may_be_empty = row.made_namespace and row.finished_at is None and lock_to_remove(row.namespace_id)
            _delete_parts(row)
            deleted += MemoryImport.objects.filter(namespace_id=row.namespace_id, id=row.id).delete()[0]
            if may_be_empty:
                remove_if_empty(row.namespace_id)
    return deleted


def to_dict(row: MemoryImport, *, namespace: str | None = None, state: str | None = None) -> dict[str, Any]:
    """Return the progress and result of an import as clients see them."""
    moments = ("first_at", "last_at", "created_at", "finished_at")
    plain = (
        "name", "format", "speaker", "conversations", "messages", "turns", "left_out", "parts_left_out", "unreadable",
        "faults", "notes", "dealt_with", "new", "present", "gone", "redacted", "quarantined", "rejected", "degraded",
        "actor",
    )  # fmt: skip
    return {
        "id": str(row.id),
        "namespace": name_of(row) if namespace is None else namespace,
        "state": str(state or state_of(row)),
        "bytes": row.size,
        "problem": row.problem or None,
        **{name: getattr(row, name) for name in plain},
        **{name: moment.isoformat() if (moment := getattr(row, name)) else None for name in moments},
        "gate": None,
        "judged": None,
        "complete": None,
    }


def state_of(row: MemoryImport) -> str:
    """Return the state of the import: by its row if it is finished, else by its newest job."""
    if row.cancelled_at is not None:
        return ImportState.CANCELLED.value
    if row.finished_at is not None:
        return ImportState.FAILED.value if row.problem else ImportState.DONE.value
    state = _jobs_of(row).values_list("state", flat=True).first() or JobState.DISCARDED
    # A job that ended before the import was finished has queued the next one.
    return ImportState.RUNNING.value if state == JobState.DONE else str(state)


def name_of(row: MemoryImport) -> str:
    """Return the name of the import's namespace, even if it was created for the import and is gone again."""
    found = Namespace.objects.filter(pk=row.namespace_id).values_list("name", flat=True).first()
    return str(found or row.made_namespace)


def _delete_parts(row: MemoryImport) -> None:
    ImportPart.objects.filter(namespace_id=row.namespace_id, import_id=row.id).delete()
    uploads.end_use(row.namespace_id, by=row.id)


def _check_room(scope: Scope) -> None:
    waiting = MemoryImport.objects.in_scope(scope).filter(finished_at=None).count()
    if waiting >= MAX_OPEN:
        raise Conflict(
            f"{waiting} imports of {scope.namespace!r} are not over yet: wait for one of them, or cancel it.",
            detail={"open": waiting},
        )


def _new_import(scope: Scope, upload: ImportUpload, *, format: ImportFormat, size: int, now: datetime) -> MemoryImport:
    name = clean(Path(upload.name.replace("\\", "/")).name)[:_MAX_NAME_CHARS]
    return MemoryImport(
        namespace_id=scope.namespace_id,
        name=name,
        format=format.value,
        speaker=upload.speaker,
        size=size,
        actor=scope.actor,
        created_at=now,
    )


def _find_upload(scope: Scope, upload: ImportUpload) -> tuple[ImportUpload, Upload | None]:
    """Return the file with the name and bytes of the upload that it came as, if any. Raises NotFound, Conflict."""
    if upload.upload_id is None:
        return upload, None
    arrived = uploads.find_whole(scope, upload.upload_id)
    return replace(upload, name=arrived.name, chunks=uploads.read_slices(arrived)), arrived


@contextmanager
def _spool(upload: ImportUpload, arrived: Upload | None) -> Iterator[Path]:
    """Write the file to disk while it is read; yield its path, which keeps only the suffix of the sender's name."""
    suffix = Path(upload.name).suffix.lower()
    with open_folder() as folder:
        path = folder / f"file{suffix if suffix in ('.zip', '.json', '.jsonl', '.html') else '.txt'}"
        write_file(path, upload.chunks, size=arrived.size if arrived else 0)
        yield path


def _jobs_of(row: MemoryImport) -> QuerySet[Job]:
    """Return the jobs of the import, newest first."""
    arguments = [row.namespace_id, str(row.id)]
    jobs = Job.objects.filter(namespace_id=row.namespace_id, kind=queue.IMPORT.name, arguments=arguments)
    return jobs.order_by("-id")


def _not_found(import_id: uuid.UUID) -> NotFound:
    return NotFound(f"There is no import {import_id} that this key reaches.", detail={"field": "id"})
