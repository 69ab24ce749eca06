"""Finds, lists and removes activation caches. The file is deleted first, then the row that names it."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import transaction

from memory import audit
from memory.enums import ActivationState, AuditEvent, CubeKind, DropReason
from memory.errors import Conflict, NotFound
from memory.models import ActivationCache, Cube, Namespace
from memory.models.locks import Lock, try_lock
from memory.models.paging import narrow, page_of
from memory.stores.activation_folder import CacheFolder, open_folder
from memory.types import Access, ListFilter, Scope

WORKER = "worker"
# An engine finishes writing a file within this time, even if its caller was killed.
WRITING = timedelta(seconds=120)
OPEN = (ActivationState.BUILDING, ActivationState.READY)


def require_folder() -> CacheFolder:
    """Return the folder of this machine. Raises Conflict, which explains how to set one up."""
    folder = open_folder()
    if folder is None:
        raise Conflict(
            "No folder for activation caches is set up: set MEMOS_ACTIVATION_DIR, start llama.cpp's server with "
            "--slots --slot-save-path and the same folder, and restart.",
            detail={"setting": "MEMOS_ACTIVATION_DIR"},
        )
    return folder


def is_on(namespace_id: int) -> bool:
    """Return whether the namespace is a cube with activation memory."""
    return Cube.objects.filter(namespace_id=namespace_id, kinds__contains=[CubeKind.ACTIVATION]).exists()


def list_caches(
    access: Access, *, wanted: ListFilter, cursor: uuid.UUID | None
) -> tuple[list[ActivationCache], uuid.UUID | None]:
    """Return the caches that the caller reaches, newest first, from `cursor` on, and the cursor of the next page.

    Raises NotFound for a namespace that it does not reach.
    """
    rows = narrow(ActivationCache.objects.reachable_by(access), access, wanted)
    if cursor is not None:
        rows = rows.filter(pk__lte=cursor)
    page, following = page_of(rows, wanted.limit)
    return page, following.pk if following else None


def find_cache(scope: Scope, *, cache_id: uuid.UUID) -> ActivationCache:
    """Return a cache of the namespace. Raises NotFound."""
    row = ActivationCache.objects.in_scope(scope).filter(pk=cache_id).first()
    if row is None:
        raise NotFound(f"There is no activation cache {cache_id} in {scope.namespace!r}.", detail={"field": "cache_id"})
    return row


def drop_cache(scope: Scope, *, cache_id: uuid.UUID, now: datetime) -> dict[str, Any]:
    """Remove a cache for good, without building it again; return its former state. Idempotent until it is gone.

    Its file is deleted at once if this machine has the folder, else within a minute. Raises NotFound.
    """
    row = find_cache(scope, cache_id=cache_id)
    mark_stale([row], DropReason.ASKED)
    row.refresh_from_db()
    said = to_dict(row)
    folder = open_folder()
    if folder is not None and folder.id == row.folder_id:
        remove(row, folder, scope=scope, now=now)
    return said


def mark_stale(rows: Iterable[ActivationCache], reason: DropReason) -> None:
    """Mark caches as unusable. The first reason stays, unless the new one is a caller's request or an erasure."""
    for row in rows:
        mine = ActivationCache.objects.filter(namespace_id=row.namespace_id, pk=row.pk)
        if reason not in {DropReason.ASKED, DropReason.ERASED}:
            mine = mine.filter(state__in=OPEN)
        mine.update(state=ActivationState.STALE, reason=reason)


def remove(row: ActivationCache, folder: CacheFolder, *, scope: Scope, now: datetime) -> str:
    """Delete a stale cache's file, then its row; return why that has to wait, or ''. Raises OSError.

    A worker that builds it has its lock, and removes it itself when it sees the new state.
    """
    with try_lock(Lock.ACTIVATION, row.pk) as mine:
        if not mine:
            return "A worker is building an activation cache of it."
        if is_being_written(row, now=now):
            return "An activation cache of it was being written when its build broke off; it is looked for again soon."
        folder.delete(row.file)
        with transaction.atomic():
            deleted = ActivationCache.objects.filter(namespace_id=row.namespace_id, pk=row.pk).delete()[0]
            if deleted:
                details = {**_name(row), "why": str(row.reason), "bytes": row.bytes}
                audit.record(scope, AuditEvent.ACTIVATION_DROP, subject=str(row.pk), details=details, now=now)
    return ""


def is_being_written(row: ActivationCache, *, now: datetime) -> bool:
    """Return whether an engine may still be writing the file although its caller is gone."""
    return row.bytes == 0 and row.written_at is not None and row.written_at > now - WRITING


def scope_of(row: ActivationCache) -> Scope:
    """Return the scope of a cache's namespace, with the worker as the actor."""
    name = Namespace.objects.filter(pk=row.namespace_id).values_list("name", flat=True).first() or ""
    return Scope(row.namespace_id, name, WORKER)


def count_bytes(folder: CacheFolder) -> int:
    """Return the size of the folder's files, of all namespaces."""
    rows = ActivationCache.objects.across_namespaces().filter(folder_id=folder.id)
    return sum(rows.values_list("bytes", flat=True))


def list_over_budget(folder: CacheFolder, *, keep: Sequence[uuid.UUID] = ()) -> list[ActivationCache]:
    """Return the least recently used caches of all namespaces that have to make room, but none of `keep`."""
    over = count_bytes(folder) - settings.MEMOS_ACTIVATION_BYTES
    rows = list(ActivationCache.objects.across_namespaces().ready().filter(folder_id=folder.id).exclude(pk__in=keep))
    chosen = []
    for row in sorted(rows, key=lambda one: one.used_at or one.written_at or one.created_at):
        if over <= 0:
            break
        chosen.append(row)
        over -= row.bytes
    return chosen


def record_build(scope: Scope, row: ActivationCache, *, now: datetime) -> None:
    """Record in the audit log that a cache was built."""
    details = {**_name(row), "tokens": row.tokens, "bytes": row.bytes, "memories": len(row.memory_ids)}
    audit.record(scope, AuditEvent.ACTIVATION_BUILD, subject=str(row.pk), details=details, now=now)


def to_dict(row: ActivationCache) -> dict[str, Any]:
    """Return a cache as clients see it."""
    plain = (
        "engine",
        "model",
        "form",
        "prefix_sha256",
        "state",
        "file",
        "bytes",
        "tokens",
        "build_ms",
        "uses",
        "actor",
    )
    moments = ("created_at", "written_at", "used_at")
    return {
        "id": str(row.pk),
        **{name: getattr(row, name) for name in plain},
        "reason": row.reason or None,
        "folder_id": str(row.folder_id),
        "memory_ids": [str(identity) for identity in row.memory_ids],
        **{name: moment.isoformat() if (moment := getattr(row, name)) else None for name in moments},
    }


def _name(row: ActivationCache) -> dict[str, Any]:
    return {"engine": row.engine, "model": row.model, "form": row.form, "prefix_sha256": row.prefix_sha256}
