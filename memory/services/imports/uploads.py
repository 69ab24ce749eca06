"""Receives files too large for one request: announced, sent in parts, and used by an import or a load.

The parts are stored in the database only once: the job that uses the file reads them there, and deletes them at its
end.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Count, QuerySet, Sum

from memory.errors import Conflict, InvalidInput, NotFound
from memory.models import Namespace, Upload, UploadPart
from memory.models.large_values import add_part
from memory.services.imports.disk import check_database
from memory.services.imports.source import UnreadableImport, clean
from memory.services.tenancy.empty_namespace import lock_to_remove, remove_if_empty, was_made_for_file
from memory.services.tenancy.namespaces import lock_namespace
from memory.types import Access, Scope

# The size of a part: at 150 KB a second it arrives within the time of a request.
PART_BYTES = 4 * 1024**2
# The most unused files of one sender in a namespace; together they may have MEMOS_MAX_UPLOAD_BYTES.
MAX_OPEN = 5
# The limit for a whole namespace, with all senders and files in use, as a multiple of that of one sender.
SENDERS = 4
KEEP = timedelta(hours=24)
# The most missing parts that are listed.
SHOWN_MISSING = 1_000
MAX_NAME_CHARS = 200
_SLICE_BYTES = 1024**2
_SLICES = PART_BYTES // _SLICE_BYTES


def start_upload(
    scope: Scope, *, name: str, size: int, sha256: str = "", replaces: bool = False, now: datetime
) -> Upload:
    """Announce a file of `size` bytes, whose parts follow. `sha256` (hex): the expected digest of the file.

    With `replaces`, the caller's unused uploads in the namespace are deleted. Raises InvalidInput for more than
    MEMOS_MAX_UPLOAD_BYTES, or if no request can carry a part, Conflict when the caller or the namespace has too many
    files or bytes, NoRoom, NamespaceGone.
    """
    return _start(lambda: scope, name=name, size=size, sha256=sha256, replaces=replaces, now=now)


def start_upload_into_new(
    make_scope: Callable[[], Scope], *, name: str, size: int, sha256: str = "", now: datetime
) -> Upload:
    """Announce a file for a new namespace, which is created (`make_scope`) with the upload. See `start_upload`.

    The namespace is removed with the upload, or with an import or load that fails, unless something else was stored or
    announced in it.
    """
    return _start(make_scope, name=name, size=size, sha256=sha256, is_new=True, now=now)


def _start(
    find_scope: Callable[[], Scope],
    *,
    name: str,
    size: int,
    sha256: str,
    replaces: bool = False,
    is_new: bool = False,
    now: datetime,
) -> Upload:
    most = settings.MEMOS_MAX_UPLOAD_BYTES
    if size > most:
        raise InvalidInput(
            f"The file has {size} bytes; {most} are the limit (MEMOS_MAX_UPLOAD_BYTES). The commands import_memories "
            "and load_cube have none.",
            detail={"field": "bytes"},
        )
    if settings.MEMOS_MAX_BODY_BYTES < PART_BYTES:
        raise InvalidInput(
            f"A part has {PART_BYTES} bytes, and this server takes {settings.MEMOS_MAX_BODY_BYTES} a request: raise "
            "MEMOS_MAX_BODY_BYTES, or use the commands import_memories and load_cube."
        )
    check_database(size)
    with transaction.atomic():
        scope = find_scope()
        lock_namespace(scope)
        made = is_new or was_made_for_file(scope.namespace_id)
        if replaces:
            for row in Upload.objects.in_scope(scope).filter(actor=scope.actor, used_by=None).select_for_update():
                _delete(row)
        _check_room(scope, size)
        return Upload.objects.create(
            namespace_id=scope.namespace_id,
            name=clean(Path(name.replace("\\", "/")).name)[:MAX_NAME_CHARS],
            size=size,
            digest=sha256,
            actor=scope.actor,
            created_at=now,
            made_namespace=made,
        )


def find_upload(access: Access, *, upload_id: uuid.UUID) -> Upload:
    """Return an upload of the caller in a namespace that it reaches. Raises NotFound."""
    row = Upload.objects.reachable_by(access).filter(id=upload_id, actor=access.actor).first()
    if row is None:
        raise _not_found(upload_id)
    return row


def store_part(access: Access, *, upload_id: uuid.UUID, number: int, read: Callable[[int], bytes]) -> Upload:
    """Store part `number`, counted from 0, of PART_BYTES each except the last; a part that is sent again is replaced.

    `read` returns as many of its bytes as requested, b"" at the end.

    Raises NotFound, Conflict for an upload in use, InvalidInput for a part of another length, NoRoom.
    """
    row = find_upload(access, upload_id=upload_id)
    parts = count_parts(row)
    if number >= parts:
        raise InvalidInput(
            f"The file has {row.size} bytes, so its parts are 0 to {parts - 1}, of {PART_BYTES} bytes each.",
            detail={"field": "number"},
        )
    wanted = min(PART_BYTES, row.size - number * PART_BYTES)
    check_database(wanted)
    with transaction.atomic():
        _lock_unused(Upload.objects.reachable_by(access).filter(id=upload_id, actor=access.actor), upload_id)
        first, arrived = number * _SLICES, 0
        own = UploadPart.objects.filter(namespace_id=row.namespace_id, upload_id=row.id)
        own.filter(number__gte=first, number__lt=first + _SLICES).delete()
        while data := _read_slice(read):
            arrived += len(data)
            if arrived > wanted:
                break
            add_part(UploadPart, namespace_id=row.namespace_id, upload_id=row.id, number=first, data=data)
            first += 1
        if arrived != wanted:
            has = f"more than {wanted}" if arrived > wanted else str(arrived)
            raise InvalidInput(f"Part {number} has {wanted} bytes; {has} came. Send it again.")
    return row


def delete_upload(access: Access, *, upload_id: uuid.UUID) -> None:
    """Delete an unused upload, and a namespace that was created for it, if that is empty.

    Raises NotFound, Conflict.
    """
    own = Upload.objects.reachable_by(access).filter(id=upload_id, actor=access.actor)
    with transaction.atomic(), _takes_namespace_away(find_upload(access, upload_id=upload_id)):
        _delete(_lock_unused(own, upload_id))


def find_whole(scope: Scope, upload_id: uuid.UUID) -> Upload:
    """Return a complete, unused upload of the caller in the scope's namespace.

    Raises NotFound, Conflict.
    """
    own = Upload.objects.in_scope(scope).filter(id=upload_id, actor=scope.actor)
    row = own.first()
    if row is None:
        raise _not_found(upload_id)
    _refuse_used(row)
    if missing := list_missing(row):
        raise Conflict(
            f"The upload lacks {len(missing)} of its {count_parts(row)} parts: send them first.",
            detail={"field": "upload", "missing": missing[:SHOWN_MISSING]},
        )
    return row


def use(row: Upload, *, by: uuid.UUID) -> None:
    """Assign the file to the import or cube's file `by`. Inside the caller's transaction. Raises NotFound, Conflict."""
    stored = _lock_unused(Upload.objects.filter(namespace_id=row.namespace_id, id=row.id), row.id)
    stored.used_by = by
    stored.save(update_fields=["used_by"])


def read_slices(row: Upload) -> Iterator[bytes]:
    """Yield all bytes of an upload, in order. Raises UnreadableImport at the end when their digest is not the announced
    one."""
    digest = hashlib.sha256()
    for data in _list_slices(row.namespace_id, row.id):
        digest.update(data)
        yield data
    if row.digest and digest.hexdigest() != row.digest:
        raise UnreadableImport(
            "The file that arrived has another SHA-256 than was announced: it was changed while it was sent, or parts "
            "of two files were mixed. Upload it again."
        )


def read_used(namespace_id: int, *, by: uuid.UUID) -> Iterator[bytes]:
    """Yield all bytes of the upload that `by` uses, in order; nothing if there is none, or an erasure has deleted it.

    Raises as `read_slices`: a part may have been sent again after the file was checked.
    """
    for row in Upload.objects.filter(namespace_id=namespace_id, used_by=by):
        yield from read_slices(row)


def end_use(namespace_id: int, *, by: uuid.UUID) -> None:
    """Delete the upload that `by` used. Inside the caller's transaction."""
    for row in Upload.objects.filter(namespace_id=namespace_id, used_by=by):
        _delete(row)


def forget(*, now: datetime) -> int:
    """Delete uploads that were not used within KEEP, and namespaces that were created for these; return how many."""
    deleted = 0
    for row in Upload.objects.across_namespaces().filter(used_by=None, created_at__lt=now - KEEP):
        with transaction.atomic(), _takes_namespace_away(row):
            if Upload.objects.filter(namespace_id=row.namespace_id, id=row.id, used_by=None).select_for_update():
                _delete(row)
                deleted += 1
    return deleted


def count_parts(row: Upload) -> int:
    """Return the number of parts of the file."""
    return -(-row.size // PART_BYTES)


def list_missing(row: Upload) -> list[int]:
    """Return the numbers of the missing parts."""
    own = UploadPart.objects.filter(namespace_id=row.namespace_id, upload_id=row.id)
    here = {number // _SLICES for number in own.values_list("number", flat=True)}
    return [number for number in range(count_parts(row)) if number not in here]


def to_dict(row: Upload) -> dict[str, Any]:
    """Return an upload's progress as clients see it."""
    missing = list_missing(row)
    name = Namespace.objects.filter(pk=row.namespace_id).values_list("name", flat=True).first()
    return {
        "id": str(row.id),
        "namespace": name or "",
        "name": row.name,
        "bytes": row.size,
        "sha256": row.digest or None,
        "part_bytes": PART_BYTES,
        "parts": count_parts(row),
        "arrived": count_parts(row) - len(missing),
        "missing": missing[:SHOWN_MISSING],
        "used_by": str(row.used_by) if row.used_by else None,
        "created_at": row.created_at.isoformat(),
        "expires_at": (row.created_at + KEEP).isoformat(),
    }


def _check_room(scope: Scope, size: int) -> None:
    """Raise Conflict if `size` more bytes are too many for the caller, or for the namespace."""
    most, goes = settings.MEMOS_MAX_UPLOAD_BYTES, f"go by themselves after {KEEP // timedelta(hours=1)} hours"
    there = Upload.objects.in_scope(scope)
    own = there.filter(actor=scope.actor, used_by=None)
    files, taken = _add_up(own)
    if files >= MAX_OPEN or taken + size > most:
        raise Conflict(
            f"Your uploads to {scope.namespace!r} that nothing has used yet have {taken} bytes, of {most} and at most "
            f"{MAX_OPEN} files: import or load one of them, or delete it. They {goes}.",
            detail={"open": [str(row.id) for row in own.order_by("id")]},
        )
    files, taken = _add_up(there)
    if files >= SENDERS * MAX_OPEN or taken + size > SENDERS * most:
        senders = [
            {"actor": actor, "files": count, "bytes": bytes_}
            for actor, count, bytes_ in there.values_list("actor").annotate(Count("id"), Sum("size")).order_by("actor")
        ]
        whose = ", ".join(f"{one['actor']} {one['files']} with {one['bytes']} bytes" for one in senders)
        raise Conflict(
            f"The uploads to {scope.namespace!r} have {taken} bytes, of {SENDERS * most} and at most "
            f"{SENDERS * MAX_OPEN} files: {whose}. Wait until one of them is imported or loaded, or have its sender "
            f"delete it; those that nothing uses {goes}.",
            detail={"open": [str(row.id) for row in own.order_by("id")], "senders": senders},
        )


def _add_up(rows: QuerySet[Upload]) -> tuple[int, int]:
    """Return the number of files and of bytes."""
    found = rows.aggregate(files=Count("id"), bytes=Sum("size"))
    return found["files"], found["bytes"] or 0


def _read_slice(read: Callable[[int], bytes]) -> bytes:
    """Read _SLICE_BYTES, fewer only at the end: a part must not have more slices than its numbers."""
    data = b""
    while len(data) < _SLICE_BYTES and (more := read(_SLICE_BYTES - len(data))):
        data += more
    return data


def _list_slices(namespace_id: int, upload_id: uuid.UUID) -> Iterator[bytes]:
    slices = UploadPart.objects.filter(namespace_id=namespace_id, upload_id=upload_id).order_by("number")
    for data in slices.values_list("data", flat=True).iterator(chunk_size=2):
        yield bytes(data)


def _lock_unused(rows: Any, upload_id: uuid.UUID) -> Upload:
    row = rows.select_for_update().first()
    if row is None:
        raise _not_found(upload_id)
    _refuse_used(row)
    return row


def _refuse_used(row: Upload) -> None:
    if row.used_by is not None:
        raise Conflict(
            f"The upload is used already, by {row.used_by}: upload the file again for another import or load.",
            detail={"field": "upload", "used_by": str(row.used_by)},
        )


@contextmanager
def _takes_namespace_away(row: Upload) -> Iterator[None]:
    """Wrap the deletion of the upload: a namespace that was created for it is removed too, if it is empty then."""
    may_be_empty = row.made_namespace and lock_to_remove(row.namespace_id)
    yield
    if may_be_empty:
        remove_if_empty(row.namespace_id)


def _delete(row: Upload) -> None:
    UploadPart.objects.filter(namespace_id=row.namespace_id, upload_id=row.id).delete()
    Upload.objects.filter(namespace_id=row.namespace_id, id=row.id).delete()


def _not_found(upload_id: uuid.UUID) -> NotFound:
    hours = KEEP // timedelta(hours=1)
    return NotFound(
        f"There is no upload {upload_id} of this key, or no longer: one that nothing uses goes after {hours} hours, "
        "or with an erasure.",
        detail={"field": "upload"},
    )
