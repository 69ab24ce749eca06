"""Accepts files as documents: checks them, stores them for the job that reads them, has originals read again, and
deletes old ones."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, OuterRef

from memory import audit
from memory.enums import AuditEvent, FileRefusal, FileType, JobState
from memory.errors import Conflict, FileTooLarge, InvalidInput, NotFound, ParserUnavailable
from memory.models import Document, DocumentFile, DocumentFilePart, QuarantinedItem
from memory.models.large_values import add_part
from memory.models.locks import Lock, lock_in_transaction
from memory.parsers import detect, office, sheets
from memory.parsers.refusal import FileRefused
from memory.services.ingestion.admission import refuse_document_fields
from memory.services.ingestion.file_listing import file_in_force, is_in_force, jobs_of, parts_of
from memory.services.jobs import queue
from memory.services.tenancy.idempotency import make_once
from memory.services.tenancy.namespaces import lock_namespace
from memory.spool import open_folder
from memory.types import Idempotency, Scope

# The time limit of a job in seconds: reading, the gate, storing.
JOB_SECONDS = 600
# The kinds of files that are read, in words.
ALLOWED = detect.ALLOWED
# The most unfinished files of a namespace, because they lie in the database.
MAX_OPEN = 100
_PART_BYTES = 1024 * 1024
_MAX_NAME_CHARS = 200
_MAX_TITLE_CHARS = 300
_OPTIONS = ("document_id", "title", "source", "session", "metadata", "occurred_at", "keep_original")


@dataclass(frozen=True, slots=True)
class FileUpload:
    """A file as it was sent, in `chunks`, with the values for its document.

    Without a `document_id`, the id follows from the content; without a `title`, the title is that in the file, or its
    name. `keep_original`: keep the file, so that it can be read again.
    """

    name: str
    chunks: Iterable[bytes]
    document_id: str = ""
    title: str = ""
    source: str = ""
    session: str = ""
    metadata: dict[str, Any] = field(default_factory=dict)
    occurred_at: datetime | None = None
    keep_original: bool = False


def start_file(
    scope: Scope,
    upload: FileUpload,
    *,
    now: datetime,
    enqueue: bool = True,
    idempotency: Idempotency | None = None,
) -> DocumentFile:
    """Store the file and queue the job that reads it. Without `enqueue` the caller reads it.

    The same file with the same options is not stored again if it waits already, or if its document is in force.

    Raises FileTooLarge, InvalidInput for a kind of file that cannot be read, ParserUnavailable, Conflict while MAX_OPEN
    others of the namespace wait, NamespaceGone, IdempotencyConflict, and NotFound if a repeated request's file is no
    longer known.
    """
    with spool(upload.chunks, most=settings.MEMOS_FILE_MAX_BYTES) as (path, digest):
        kind = _detect(path, upload.name)
        row = _new_row(scope, upload, kind=kind, digest=digest, size=path.stat().st_size, now=now)
        refuse_document_fields(
            scope,
            ids={"session_id": row.session, "document_id": upload.document_id},
            fields={"title": row.title, "source": row.source, "metadata": row.metadata},
        )
        return make_once(
            idempotency,
            make=partial(_keep_file, scope, row, path, now=now, enqueue=enqueue),
            identify=lambda made: made.id,
            find=partial(_find_own, scope),
            now=now,
        )


def _find_own(scope: Scope, file_id: uuid.UUID) -> DocumentFile:
    row = DocumentFile.objects.in_scope(scope).filter(id=file_id).first()
    if row is None:
        raise NotFound(
            "The file that this Idempotency-Key gave is no longer known, nor its document: send a new key to give it "
            "again.",
            detail={"header": "Idempotency-Key"},
        )
    return row


def _keep_file(scope: Scope, row: DocumentFile, path: Path, *, now: datetime, enqueue: bool) -> DocumentFile:
    with transaction.atomic():
        lock_namespace(scope)
        lock_in_transaction(Lock.DOCUMENT_FILES, scope.namespace_id)
        if (same := _find_same(scope, row)) is not None:
            return same
        _check_room(scope)
        row.save(force_insert=True)
        _keep_bytes(row, path)
        _record_start(scope, row, now=now)
        if enqueue:
            queue.enqueue(queue.READ_FILE, scope.namespace_id, str(row.id), seconds=JOB_SECONDS)
    return row


def _record_start(scope: Scope, row: DocumentFile, *, now: datetime, **more: bool) -> None:
    audit.record(
        scope,
        AuditEvent.DOCUMENT_FILE_START,
        session=row.session,
        subject=row.document_id,
        details={"document_id": row.document_id, "type": row.type, "bytes": row.size, **more},
        now=now,
    )


def reparse_document(scope: Scope, *, document_id: str, now: datetime) -> DocumentFile:
    """Have the original of a document read again by the present parser.

    Raises NotFound, Conflict when its original was not kept or it is being read, and ParserUnavailable.
    """
    with transaction.atomic():
        document = Document.objects.in_scope(scope).filter(document_id=document_id).select_for_update().first()
        if document is None:
            raise NotFound(
                f"There is no document {document_id!r} in the namespace {scope.namespace!r}.",
                detail={"field": "document_id"},
            )
        row = file_in_force(scope, document)
        if row is None or not parts_of(row).exists():
            raise Conflict(
                "The original of this version is not there: give the file again, with keep_original=true if it is to "
                "be read anew later.",
                detail={"field": "document_id"},
            )
        row = DocumentFile.objects.in_scope(scope).select_for_update().get(id=row.id)
        if row.finished_at is None:
            raise Conflict("The document's file is being read already.", detail={"file_id": str(row.id)})
        _require_parser(row.type)
        row.asked_at, row.finished_at, row.refusal, row.problem = now, None, "", ""
        row.save()
        _record_start(scope, row, now=now, again=True)
        queue.enqueue(queue.READ_FILE, scope.namespace_id, str(row.id), seconds=JOB_SECONDS)
    return row


def forget(*, now: datetime) -> int:
    """Delete files older than MEMOS_JOBS_KEEP_DAYS, except those of documents in force; return how many.

    An unfinished file stays as long as it has a job: a failed job waits for a person.
    """
    oldest = now - timedelta(days=settings.MEMOS_JOBS_KEEP_DAYS)
    in_force = Document.objects.filter(
        namespace_id=OuterRef("namespace_id"), id=OuterRef("document_key"), version=OuterRef("document_version")
    )
    old = DocumentFile.objects.across_namespaces().filter(~Exists(in_force), asked_at__lt=oldest)
    deleted = 0
    for row in old.only("id", "namespace_id", "finished_at"):
        if row.finished_at is None and jobs_of(row).exists():
            continue
        deleted += DocumentFile.objects.filter(namespace_id=row.namespace_id, id=row.id).delete()[0]
    return deleted


@contextmanager
def spool(chunks: Iterable[bytes], *, most: int | None = None) -> Iterator[tuple[Path, Any]]:
    """Write the bytes to disk while they are needed; yield the path and their SHA-256.

    Raises FileTooLarge at the first byte beyond `most`.
    """
    digest, size = hashlib.sha256(), 0
    with open_folder() as folder:
        path = folder / "given"
        with path.open("wb") as stream:
            for chunk in chunks:
                size += len(chunk)
                if most is not None and size > most:
                    raise FileTooLarge(
                        f"The file has more than {most} bytes, three quarters of MEMOS_MAX_BODY_BYTES: send it in "
                        "parts, or raise the limit.",
                        detail={"field": "file"},
                    )
                digest.update(chunk)
                stream.write(chunk)
        yield path, digest


def _detect(path: Path, name: str) -> FileType:
    try:
        kind = FileType(detect.detect(path, name))
    except FileRefused as refusal:
        raise InvalidInput(refusal.says, detail={"field": "file", "reason": refusal.reason}) from None
    _require_parser(kind)
    return kind


def _require_parser(kind: str) -> None:
    parser = sheets if kind == detect.XLSX else office
    if kind in detect.NEEDS_PARSER and not parser.is_installed():
        raise ParserUnavailable(office.MISSING, detail={"field": "file", "reason": FileRefusal.PARSER_MISSING.value})
    if kind == FileType.IMAGE and not settings.MEMOS_OCR_FOLDER:
        raise ParserUnavailable(office.NO_OCR, detail={"field": "file", "reason": FileRefusal.OCR_MISSING.value})


def _new_row(scope: Scope, upload: FileUpload, *, kind: str, digest: Any, size: int, now: datetime) -> DocumentFile:
    name = "".join(sign for sign in Path(upload.name.replace("\\", "/")).name if sign.isprintable())
    content_key = audit.hash_words(scope, "file", digest.hexdigest())
    return DocumentFile(
        namespace_id=scope.namespace_id,
        document_id=upload.document_id or f"file-{content_key[:32]}",
        name=name[-_MAX_NAME_CHARS:],
        type=kind,
        size=size,
        content_key=content_key,
        title=upload.title[:_MAX_TITLE_CHARS],
        source=upload.source,
        session=upload.session,
        metadata=upload.metadata,
        occurred_at=upload.occurred_at,
        keep_original=upload.keep_original,
        actor=scope.actor,
        created_at=now,
        asked_at=now,
    )


def _find_same(scope: Scope, row: DocumentFile) -> DocumentFile | None:
    """Return the newest file of the document, if it is the same with the same options and has not been overtaken."""
    rows = DocumentFile.objects.in_scope(scope).filter(document_id=row.document_id)
    newest = rows.order_by("-asked_at").first()
    if newest is None or newest.content_key != row.content_key:
        return None
    if any(getattr(newest, name) != getattr(row, name) for name in _OPTIONS):
        return None
    if newest.finished_at is None:
        return newest if jobs_of(newest).exclude(state__in=[JobState.FAILED, JobState.DISCARDED]).exists() else None
    if newest.quarantine_id is not None:
        item = QuarantinedItem.objects.in_scope(scope).pending().filter(pk=newest.quarantine_id)
        return newest if item.exists() or is_in_force(newest) else None
    return newest if is_in_force(newest) else None


def _check_room(scope: Scope) -> None:
    waiting = DocumentFile.objects.in_scope(scope).filter(finished_at=None).count()
    if waiting >= MAX_OPEN:
        raise Conflict(
            f"{waiting} files of {scope.namespace!r} wait to be read: give more when some of them are done.",
            detail={"open": waiting},
        )


def _keep_bytes(row: DocumentFile, path: Path) -> None:
    with path.open("rb") as stream:
        number = 0
        while data := stream.read(_PART_BYTES):
            add_part(DocumentFilePart, namespace_id=row.namespace_id, file_id=row.id, number=number, data=data)
            number += 1
