"""Accepts dumps and loads, reports their progress, and cancels, downloads and deletes them. `run` carries them out."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet

from memory import audit
from memory.enums import AuditEvent, CubeFileKind, CubeFileState, CubeSignature, JobState
from memory.errors import Conflict, NotFound
from memory.models import CubeFile, CubeFilePart, IdempotencyRecord, Job, Namespace, Upload
from memory.models.large_values import add_part
from memory.models.paging import narrow, page_of
from memory.services.cube_files import memtensor
from memory.services.cube_files.archive import SUFFIX, open_cube
from memory.services.cube_files.dump import DumpOptions
from memory.services.cube_files.load_options import LoadOptions, check_sender, options_to_dict
from memory.services.imports import uploads
from memory.services.imports.disk import write_file
from memory.services.imports.source import clean
from memory.services.jobs import queue
from memory.services.tenancy import idempotency as answers
from memory.services.tenancy.empty_namespace import MADE, lock_to_remove, remove_if_empty, was_made_for_file
from memory.services.tenancy.namespaces import lock_namespace
from memory.spool import open_folder
from memory.types import Access, Idempotency, ListFilter, Scope

# The time limit of a job in seconds; a load goes on in another job after half of it, but a dump must be made in one.
JOB_SECONDS = 3600
# The most unfinished dumps and loads of a namespace.
MAX_OPEN = 5
# The number of newest dumps of a namespace whose files are kept; readers may request dumps too.
MAX_KEPT = 10
# The time for which a dump's file can be downloaded.
KEEP_HOURS = 24
PIECE_BYTES = 1024 * 1024
_MAX_NAME_CHARS = 200


@dataclass(frozen=True, slots=True)
class CubeUpload:
    """A file as it was sent, in `chunks`, or as the upload `upload_id`."""

    name: str = ""
    chunks: Iterable[bytes] = ()
    upload_id: uuid.UUID | None = None


def start_dump(
    scope: Scope, *, options: DumpOptions, now: datetime, idempotency: Idempotency | None = None
) -> CubeFile:
    """Queue the job that writes the namespace into a file.

    Raises Conflict while MAX_OPEN others are unfinished, NamespaceGone, IdempotencyConflict.
    """
    if idempotency and (record := answers.find_answer(idempotency)):
        return _read_answer(record)
    with transaction.atomic():
        lock_namespace(scope)
        _check_room(scope)
        row = CubeFile(
            namespace_id=scope.namespace_id,
            kind=CubeFileKind.DUMP,
            name=f"{_plain(scope.namespace)}-{now:%Y%m%dT%H%M%SZ}{SUFFIX}",
            options=asdict(options),
            actor=scope.actor,
            created_at=now,
        )
        if idempotency and not _claim(idempotency, row, now=now):
            return _read_answer(answers.find_answer(idempotency))
        row.save(force_insert=True)
        audit.record(scope, AuditEvent.CUBE_DUMP, subject=str(row.id), details=asdict(options), now=now)
        queue.enqueue(queue.DUMP_CUBE, scope.namespace_id, str(row.id), seconds=JOB_SECONDS)
    return row


def start_load(
    scope: Scope,
    upload: CubeUpload,
    *,
    options: LoadOptions,
    dry_run: bool = False,
    now: datetime,
    idempotency: Idempotency | None = None,
) -> CubeFile:
    """Store the file, and queue the job that loads it, or (`dry_run`) reports what a load would do.

    Raises InvalidInput for a file that is refused, Conflict while MAX_OPEN others are unfinished, NamespaceGone,
    IdempotencyConflict, NotFound and Conflict for an unusable upload.
    """
    return _start_load(lambda: scope, upload, options, dry_run=dry_run, idempotency=idempotency, now=now)


def start_load_into_new(
    make_scope: Callable[[], Scope],
    upload: CubeUpload,
    *,
    options: LoadOptions,
    dry_run: bool = False,
    now: datetime,
    idempotency: Idempotency | None = None,
) -> CubeFile:
    """Start a load into a new namespace. See `start_load`.

    The namespace is created (`make_scope`) with the load, and removed again when the load ends without result: refused,
    failed, cancelled or a dry run.
    """
    return _start_load(make_scope, upload, options, dry_run=dry_run, idempotency=idempotency, now=now, is_new=True)


def _start_load(
    find_scope: Callable[[], Scope],
    upload: CubeUpload,
    options: LoadOptions,
    *,
    dry_run: bool,
    idempotency: Idempotency | None,
    now: datetime,
    is_new: bool = False,
) -> CubeFile:
    if idempotency and (record := answers.find_answer(idempotency)):
        return _read_answer(record)
    arrived = None
    if upload.upload_id is not None:
        arrived = uploads.find_whole(find_scope(), upload.upload_id)
        upload = replace(upload, name=arrived.name, chunks=uploads.read_slices(arrived))
    with _spool(upload, arrived) as path:
        manifest, signature = _look_at(path, options)
        with path.open("rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
        with transaction.atomic():
            scope = find_scope()
            lock_namespace(scope)
            _check_room(scope)
            made = is_new or was_made_for_file(scope.namespace_id)
            row = CubeFile(
                namespace_id=scope.namespace_id,
                kind=CubeFileKind.LOAD,
                name=clean(Path(upload.name.replace("\\", "/")).name)[:_MAX_NAME_CHARS],
                options=options_to_dict(options) | ({MADE: scope.namespace} if made else {}),
                dry_run=dry_run,
                size=path.stat().st_size,
                digest=digest,
                manifest=manifest,
                signature=signature,
                actor=scope.actor,
                created_at=now,
            )
            if idempotency and not _claim(idempotency, row, now=now):
                return _read_answer(answers.find_answer(idempotency))
            row.save(force_insert=True)
            if arrived is not None:
                uploads.use(arrived, by=row.id)
            else:
                store_pieces(row, path)
            details = {"bytes": row.size, "sha256": digest, "dry_run": dry_run, "signature": signature}
            audit.record(scope, AuditEvent.CUBE_LOAD, subject=str(row.id), details=details, now=now)
            queue.enqueue(queue.LOAD_CUBE, scope.namespace_id, str(row.id), seconds=JOB_SECONDS)
    return row


def find_file(access: Access, *, file_id: uuid.UUID) -> CubeFile:
    """Return a dump or load of a namespace that the caller reaches. Raises NotFound."""
    row = CubeFile.objects.reachable_by(access).filter(id=file_id).first()
    if row is None:
        raise _not_found(file_id)
    return row


def list_files(
    access: Access, *, wanted: ListFilter, cursor: uuid.UUID | None
) -> tuple[list[dict[str, Any]], uuid.UUID | None]:
    """Return the dumps and loads, newest first, from `cursor` on, and the cursor of the next page. Raises NotFound."""
    rows = narrow(CubeFile.objects.reachable_by(access), access, wanted)
    if cursor is not None:
        rows = rows.filter(id__lte=cursor)
    page, following = page_of(rows, wanted.limit)
    names = dict(Namespace.objects.filter(pk__in={row.namespace_id for row in page}).values_list("pk", "name"))
    return [
        to_dict(row, namespace=names.get(row.namespace_id) or row.options.get(MADE, "")) for row in page
    ], following.id if following else None


def read_file(access: Access, *, file_id: uuid.UUID, now: datetime) -> tuple[CubeFile, Iterator[bytes]]:
    """Return a finished dump and its bytes. Raises NotFound, also when its file was deleted; Conflict when it is not
    finished."""
    row = find_file(access, file_id=file_id)
    if row.kind != CubeFileKind.DUMP or row.finished_at is None or row.problem or row.cancelled_at is not None:
        raise Conflict(
            f"There is nothing to download of it ({row.kind}, {state_of(row)}): a dump that is done has a file.",
            detail={"state": state_of(row)},
        )
    if not is_there(row):
        raise NotFound(
            f"The file of the dump {file_id} is there no longer: it is kept for {KEEP_HOURS} hours, "
            "and an erasure takes it away. Dump the cube again.",
            detail={"field": "id"},
        )
    scope = Scope(row.namespace_id, name_of(row), access.actor, str(row.id))
    audit.record(scope, AuditEvent.CUBE_DOWNLOAD, subject=str(row.id), details={"bytes": row.size}, now=now)
    return row, read_pieces(row)


def cancel_file(access: Access, *, file_id: uuid.UUID, now: datetime) -> CubeFile:
    """Cancel an unfinished dump or load; data loaded so far stay. Raises NotFound, and Conflict if it is finished."""
    with transaction.atomic():
        row = CubeFile.objects.reachable_by(access).filter(id=file_id).select_for_update().first()
        if row is None:
            raise _not_found(file_id)
        if row.finished_at is not None:
            raise Conflict(
                f"It is over ({state_of(row)}): there is nothing to cancel.", detail={"state": state_of(row)}
            )
        row.cancelled_at = now
        end(row, now=now)
    return row


def delete_file(access: Access, *, file_id: uuid.UUID) -> None:
    """Delete the file of a finished dump, and its row. Raises NotFound, and Conflict if it is not finished."""
    with transaction.atomic():
        row = CubeFile.objects.reachable_by(access).filter(id=file_id).select_for_update().first()
        if row is None:
            raise _not_found(file_id)
        if row.finished_at is None:
            raise Conflict(f"It is not over ({state_of(row)}): cancel it first.", detail={"state": state_of(row)})
        _delete(row)


def end(row: CubeFile, *, now: datetime) -> None:
    """Finish a locked dump or load. Deletes the file of a load, and those of dumps beyond the newest MAX_KEPT.

    Inside the caller's transaction.
    """
    row.finished_at = now
    row.save()
    is_refused = bool(row.dry_run or row.problem or row.cancelled_at is not None)
    may_be_empty = MADE in row.options and is_refused and lock_to_remove(row.namespace_id)
    if row.kind == CubeFileKind.LOAD or is_refused:
        _delete_pieces(row)
    if row.kind == CubeFileKind.DUMP:
        dumps = CubeFile.objects.filter(namespace_id=row.namespace_id, kind=CubeFileKind.DUMP).exclude(finished_at=None)
        kept = dumps.order_by("-finished_at", "-id").values_list("id", flat=True)[:MAX_KEPT]
        older = dumps.exclude(id__in=list(kept)).values("id")
        CubeFilePart.objects.filter(namespace_id=row.namespace_id, file_id__in=older).delete()
    else:
        audit.record(
            Scope(row.namespace_id, name_of(row), row.actor, str(row.id)),
            AuditEvent.CUBE_LOAD_FINISH,
            subject=str(row.id),
            details={"state": state_of(row), "dry_run": row.dry_run, "counts": row.counts},
            now=now,
        )
        if may_be_empty:
            remove_if_empty(row.namespace_id)


def forget(*, now: datetime) -> int:
    """Delete dumps' files after KEEP_HOURS, and rows after MEMOS_JOBS_KEEP_DAYS; return how many rows.

    An unfinished one stays as long as it has a job: a failed job waits for a person.
    """
    of_file = now - timedelta(hours=KEEP_HOURS)
    of_row = min(of_file, now - timedelta(days=settings.MEMOS_JOBS_KEEP_DAYS))
    deleted = 0
    for row in CubeFile.objects.across_namespaces().filter(created_at__lt=of_file):
        if row.finished_at is None and jobs_of(row).exists():
            continue
        with transaction.atomic():
            may_be_empty = MADE in row.options and row.finished_at is None and lock_to_remove(row.namespace_id)
            _delete_pieces(row)
            if row.created_at < of_row:
                deleted += CubeFile.objects.filter(namespace_id=row.namespace_id, id=row.id).delete()[0]
            if may_be_empty:
                remove_if_empty(row.namespace_id)
    return deleted


def to_dict(row: CubeFile, *, namespace: str | None = None) -> dict[str, Any]:
    """Return the progress and result of a dump or load as clients see them."""
    done = row.kind == CubeFileKind.DUMP and row.finished_at is not None
    return {
        "id": str(row.id),
        "namespace": name_of(row) if namespace is None else namespace,
        "kind": row.kind,
        "state": state_of(row),
        "name": row.name,
        "bytes": row.size,
        "sha256": row.digest,
        "dry_run": row.dry_run,
        "options": row.options,
        "manifest": row.manifest or None,
        "signature": row.signature or None,
        "done": row.done,
        "total": row.total,
        "counts": row.counts,
        "listed": row.listed,
        "faults": row.faults,
        "problem": row.problem or None,
        "downloadable": done and is_there(row),
        "actor": row.actor,
        "created_at": row.created_at.isoformat(),
        "finished_at": row.finished_at.isoformat() if row.finished_at else None,
    }


def state_of(row: CubeFile) -> str:
    """Return its state: by its row if it is finished, else by its newest job."""
    if row.cancelled_at is not None:
        return CubeFileState.CANCELLED.value
    if row.finished_at is not None:
        return CubeFileState.FAILED.value if row.problem else CubeFileState.DONE.value
    state = jobs_of(row).values_list("state", flat=True).first() or JobState.DISCARDED
    # A job that ended before the load was finished has queued the next one.
    return CubeFileState.RUNNING.value if state == JobState.DONE else str(state)


def name_of(row: CubeFile) -> str:
    """Return the name of its namespace, even if it was created for it and is gone again."""
    found = Namespace.objects.filter(pk=row.namespace_id).values_list("name", flat=True).first()
    return str(found or row.options.get(MADE, ""))


def jobs_of(row: CubeFile) -> QuerySet[Job]:
    """Return its jobs, newest first."""
    kind = queue.DUMP_CUBE if row.kind == CubeFileKind.DUMP else queue.LOAD_CUBE
    jobs = Job.objects.filter(namespace_id=row.namespace_id, kind=kind.name, arguments=[row.namespace_id, str(row.id)])
    return jobs.order_by("-id")


def is_there(row: CubeFile) -> bool:
    """Return whether the file is stored."""
    return CubeFilePart.objects.filter(namespace_id=row.namespace_id, file_id=row.id).exists()


def store_pieces(row: CubeFile, path: Path) -> None:
    """Store the file at `path`. Inside the caller's transaction."""
    with path.open("rb") as stream:
        number = 0
        while data := stream.read(PIECE_BYTES):
            add_part(CubeFilePart, namespace_id=row.namespace_id, file_id=row.id, number=number, data=data)
            number += 1


def read_pieces(row: CubeFile) -> Iterator[bytes]:
    """Yield the bytes of the file, a piece at a time: nothing is locked or held open while a slow client reads."""
    number = 0
    while True:
        found = CubeFilePart.objects.filter(namespace_id=row.namespace_id, file_id=row.id, number=number)
        data = found.values_list("data", flat=True).first()
        if data is None:
            return
        yield bytes(data)
        number += 1


def _claim(idempotency: Idempotency, row: CubeFile, *, now: datetime) -> bool:
    answer = {"id": str(row.id), "namespace_id": row.namespace_id}
    return answers.claim(idempotency, memory_ids=[row.id], answer=answer, now=now)


def _read_answer(record: IdempotencyRecord | None) -> CubeFile:
    assert record is not None
    rows = CubeFile.objects.filter(namespace_id=record.answer["namespace_id"], id=record.answer["id"])
    row = rows.first()
    if row is None:
        raise _not_found(uuid.UUID(record.answer["id"]))
    return row


def _look_at(path: Path, options: LoadOptions) -> tuple[dict[str, Any], str]:
    """Return the manifest of the file as a row stores it, and the verdict on its signature. Raises UnreadableImport."""
    if memtensor.is_folder(path):
        return memtensor.describe(path), CubeSignature.NONE.value
    reader = open_cube(path)
    check_sender(reader, options)
    return asdict(reader.manifest), reader.signature.value


def _check_room(scope: Scope) -> None:
    waiting = CubeFile.objects.in_scope(scope).filter(finished_at=None).count()
    if waiting >= MAX_OPEN:
        raise Conflict(
            f"{waiting} dumps and loads of {scope.namespace!r} are not over yet: wait for one, or cancel it.",
            detail={"open": waiting},
        )


def _delete_pieces(row: CubeFile) -> None:
    CubeFilePart.objects.filter(namespace_id=row.namespace_id, file_id=row.id).delete()
    uploads.end_use(row.namespace_id, by=row.id)


def _delete(row: CubeFile) -> None:
    _delete_pieces(row)
    CubeFile.objects.filter(namespace_id=row.namespace_id, id=row.id).delete()


def _plain(name: str) -> str:
    """Return a namespace's name as part of a file's name."""
    kept = "".join(one if one.isascii() and (one.isalnum() or one in "-_") else "-" for one in name)
    return kept.strip("-")[:80] or "cube"


@contextmanager
def _spool(upload: CubeUpload, arrived: Upload | None) -> Iterator[Path]:
    """Write the file to disk while it is read; yield its path, which does not use the sender's name."""
    with open_folder() as folder:
        path = folder / "cube"
        write_file(path, upload.chunks, size=arrived.size if arrived else 0)
        yield path


def _not_found(file_id: uuid.UUID) -> NotFound:
    return NotFound(f"There is no dump or load {file_id} that this key reaches.", detail={"field": "id"})
