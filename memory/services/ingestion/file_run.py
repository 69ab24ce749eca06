"""Reads a file that was given as a document, and stores its text.

The result is written in the transaction that stores the document: an interrupted run starts again from the beginning,
and nothing is changed twice.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path, PurePosixPath

from django.conf import settings
from django.db import transaction

from memory import audit
from memory.enums import AuditEvent, DocumentFormat, FileRefusal, GateDecision
from memory.errors import Conflict, InvalidInput
from memory.kinds import SESSION_PREFIX
from memory.models import Document, DocumentFile, DocumentFilePart, ErasedSession, Erasure
from memory.parsers.process import ParsedFile, ParserLimits, parse
from memory.parsers.refusal import FileRefused
from memory.services.ingestion.documents import put_document
from memory.services.ingestion.file_listing import file_in_force, is_in_force, name_of, parts_of
from memory.services.ingestion.files import spool
from memory.services.jobs import runner
from memory.types import NewDocument, Scope, StoredDocument

# The limits of reading a file: address space, CPU time of all threads, wall-clock time, and pages or slides.
_MEMORY_MB, _CPU_SECONDS, _SECONDS, _PAGES = 1_024, 30, 60, 2_000
# The limit of documents sent as JSON.
MAX_TEXT_CHARS = 1_000_000
_MAX_TITLE_CHARS = 300
_MAX_PROBLEM_CHARS = 500
# The steps of the progress: the bytes are on disk, they are read, the document is stored.
_STEPS = 3
_ERASED = "An erasure has taken the file, or a part of its document, away: give it again if it may be kept."
_OUTDATED = "A newer version of the document came before this file was read: the newer one stays."


class FileStopped(Exception):
    """The file is gone, or another worker has finished it: the document of this run must not be stored."""


def carry_out(*, namespace_id: int, file_id: uuid.UUID, now: Callable[[], datetime]) -> bool:
    """Read the file and store its text as a document; return whether it did. A finished file stays as it is."""
    row = DocumentFile.objects.filter(namespace_id=namespace_id, id=file_id).first()
    if row is None or row.finished_at is not None:
        return False
    scope = Scope(row.namespace_id, name_of(row), row.actor, str(row.id))
    parsed: ParsedFile | None = None
    try:
        runner.report(0, _STEPS)
        with _bytes_of(row) as path:
            runner.report(1, _STEPS)
            parsed = parse(path, row.name, limits_in_force())
        runner.report(2, _STEPS)
        stored = _store(scope, row, parsed, now=now())
    except FileStopped:
        return False
    except FileRefused as refusal:
        known = refusal.reason in FileRefusal.values
        reason = FileRefusal(refusal.reason) if known else FileRefusal.CRASHED
        return _refuse(scope, row, reason, refusal.says, parsed, now=now())
    except (InvalidInput, Conflict) as refusal:
        return _refuse(scope, row, FileRefusal.REFUSED, refusal.message, parsed, now=now())
    return stored.accepted


def limits_in_force() -> ParserLimits:
    """Return the limits of reading a file."""
    return ParserLimits(
        memory=_MEMORY_MB * 1024**2,
        cpu_seconds=_CPU_SECONDS,
        seconds=_SECONDS,
        max_pages=_PAGES,
        max_chars=MAX_TEXT_CHARS,
        ocr_folder=settings.MEMOS_OCR_FOLDER,
        ocr_languages=[one.strip() for one in settings.MEMOS_OCR_LANGUAGES.split(",") if one.strip()],
    )


def _store(scope: Scope, row: DocumentFile, parsed: ParsedFile, *, now: datetime) -> StoredDocument:
    document = NewDocument(
        text=parsed.text,
        document_id=row.document_id,
        title=(row.title or parsed.title or PurePosixPath(row.name).stem)[:_MAX_TITLE_CHARS],
        source=row.source,
        format=(DocumentFormat.MARKDOWN if parsed.markdown else DocumentFormat.TEXT).value,
        session=row.session,
        metadata=row.metadata,
        occurred_at=row.occurred_at,
    )

    def check() -> None:
        _refuse_overtaken(scope, row)

    def write_down(stored: StoredDocument) -> None:
        own = _lock(row)
        if stored.accepted:
            found = Document.objects.in_scope(scope).get(document_id=stored.document_id)
            own.document_key, own.document_version = found.id, stored.version
        own.quarantine_id = uuid.UUID(stored.quarantine_id) if stored.quarantine_id else None
        own.verdict, own.reasons, own.degraded = stored.verdict, stored.reasons, stored.degraded
        own.chunks, own.characters = stored.chunks, stored.characters
        if not stored.accepted:
            own.refusal = FileRefusal.GATE.value
            own.problem = _say_kept_out(stored)[:_MAX_PROBLEM_CHARS]
        _end(scope, own, parsed, now=now)

    return put_document(scope, document=document, now=now, before=check, beside=write_down)


def _refuse(
    scope: Scope, row: DocumentFile, reason: FileRefusal, says: str, parsed: ParsedFile | None, *, now: datetime
) -> bool:
    """Finish the file with the reason; the version in force stays."""
    with transaction.atomic():
        try:
            own = _lock(row)
        except FileStopped:
            return False
        own.refusal, own.problem = reason.value, says[:_MAX_PROBLEM_CHARS]
        _end(scope, own, parsed, now=now)
    return False


def _end(scope: Scope, own: DocumentFile, parsed: ParsedFile | None, *, now: datetime) -> None:
    """Finish the locked file. Its bytes are deleted, unless the original of a document in force is to be kept."""
    own.finished_at = now
    if parsed is not None:
        own.parser, own.pages, own.tables = parsed.parser, parsed.pages, parsed.tables
        own.seconds, own.peak_bytes, own.notes = parsed.seconds, parsed.peak, list(parsed.notes)
    own.save()
    if own.refusal == FileRefusal.ERASED or not (own.keep_original and is_in_force(own)):
        DocumentFilePart.objects.filter(namespace_id=own.namespace_id, file_id=own.id).delete()
    counts = ("pages", "tables", "characters", "chunks", "seconds", "refusal")
    details = {name: value for name in counts if (value := getattr(own, name)) not in (None, "")}
    audit.record(
        scope,
        AuditEvent.DOCUMENT_FILE_FINISH,
        session=own.session,
        subject=own.document_id,
        details={"document_id": own.document_id, "type": own.type, "parser": own.parser, **details},
        now=now,
    )


def _refuse_overtaken(scope: Scope, own: DocumentFile) -> None:
    """Raise FileRefused when a newer version of the document came, or (a part of) it was erased, since the file was
    given.

    Locks the document, which is always locked before its files.
    """
    named = Document.objects.in_scope(scope).filter(document_id=own.document_id)
    document = named.select_for_update().first()
    if document is None:
        if own.document_key is not None:
            raise FileStopped
        return
    in_force = file_in_force(scope, document)
    if (in_force.asked_at if in_force else document.updated_at) > own.asked_at:
        raise FileRefused(FileRefusal.OUTDATED.value, _OUTDATED)
    touched = ErasedSession.objects.in_scope(scope).filter(session=f"{SESSION_PREFIX}{document.id}", first_turn__lt=0)
    since = Erasure.objects.in_scope(scope).filter(id__in=touched.values("erasure_id"), created_at__gte=own.asked_at)
    if since.exists():
        raise FileRefused(FileRefusal.ERASED.value, _ERASED)


def _lock(row: DocumentFile) -> DocumentFile:
    own = DocumentFile.objects.filter(namespace_id=row.namespace_id, id=row.id).select_for_update().first()
    if own is None or own.finished_at is not None or own.asked_at != row.asked_at:
        raise FileStopped
    return own


def _say_kept_out(stored: StoredDocument) -> str:
    rules = "; ".join(f"{reason['rule']}: {reason['says']}" for reason in stored.reasons)
    if stored.verdict == GateDecision.QUARANTINE:
        return f"The gate keeps it in the quarantine ({rules}): GET /v1/quarantine/{stored.quarantine_id}."
    return f"The gate does not let it in ({rules})."


@contextmanager
def _bytes_of(row: DocumentFile) -> Iterator[Path]:
    """Write the file to disk while it is read; yield its path. Raises FileRefused when the file was erased."""
    with spool(bytes(data) for data in parts_of(row).values_list("data", flat=True).iterator(chunk_size=8)) as (
        path,
        _,
    ):
        if path.stat().st_size != row.size:
            raise FileRefused(FileRefusal.ERASED.value, _ERASED)
        yield path
