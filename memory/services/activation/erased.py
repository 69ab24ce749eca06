"""Removes activation caches that contain erased memories, because a file contains their texts as much as their rows do.

The file is deleted before the row, and the row before the receipt is finished. While only another machine has the
folder, or a worker uses the cache, the erasure waits.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import datetime

from memory.enums import DropReason
from memory.models import ActivationCache
from memory.models.queries.erasure import list_held_caches
from memory.services.activation import caches
from memory.services.activation.build import enqueue_build
from memory.stores.activation_folder import open_folder
from memory.types import Scope


@dataclass(frozen=True, slots=True)
class ErasedCaches:
    """The result: `dropped` caches are gone, files and rows; `waits`: what the others wait for, or ''."""

    dropped: int
    waits: str


def list_held(scope: Scope, *, erasure_id: uuid.UUID, whole: bool, asked_at: datetime) -> list[uuid.UUID]:
    """Return the caches that contain a memory of the erasure; if it is `whole`, all of the namespace up to
    `asked_at`."""
    return list_held_caches(scope.namespace_id, erasure_id, whole_namespace=whole, asked_at=asked_at)


def drop_held(scope: Scope, *, erasure_id: uuid.UUID, whole: bool, asked_at: datetime, now: datetime) -> ErasedCaches:
    """Remove these caches; their prefixes are built again without the memories. Raises Conflict, OSError."""
    held = list_held(scope, erasure_id=erasure_id, whole=whole, asked_at=asked_at)
    rows = list(ActivationCache.objects.in_scope(scope).filter(pk__in=held))
    if not rows:
        return ErasedCaches(0, "")
    caches.mark_stale(rows, DropReason.ERASED)
    folder = open_folder()
    dropped, waits = 0, ""
    for row in rows:
        if folder is None or folder.id != row.folder_id:
            waits = (
                f"An activation cache lies in the folder {row.folder_id}, which this machine does not have: a worker "
                "with that MEMOS_ACTIVATION_DIR goes on (lost: `manage.py abandon_activation`)."
            )
            continue
        reason = caches.remove(row, folder, scope=scope, now=now)
        waits = reason or waits
        if not reason:
            dropped += 1
        if not reason and row.reason != DropReason.ASKED:
            enqueue_build(row.namespace_id, row.engine, row.form, row.model)
    return ErasedCaches(dropped, waits)


def forget_folder(folder_id: uuid.UUID) -> int:
    """Delete the rows of a folder that is gone for good because its disk was destroyed; return how many.

    Erasures that wait for it continue: the caller is responsible that no file is left.
    """
    return ActivationCache.objects.across_namespaces().filter(folder_id=folder_id).delete()[0]
