"""Removes outdated activation caches and rebuilds wanted ones. Any machine with the folder may do it."""

from __future__ import annotations

import logging
from collections.abc import Collection
from datetime import datetime

from memory.enums import ActivationState, DropReason, PromptForm
from memory.models import ActivationCache
from memory.models.locks import Lock, try_lock
from memory.services.activation import caches
from memory.services.activation.build import enqueue_build
from memory.services.activation.caches import WRITING
from memory.services.activation.prefix import render_prefix
from memory.stores.activation_folder import CacheFolder, open_folder

log = logging.getLogger("memos.activation")

# Caches removed for these reasons are built again for the present prefix, unlike ones that a caller dropped or the
# budget had no room for.
_BUILT_AGAIN = (DropReason.MEMORY, DropReason.ERASED, DropReason.PREFIX, DropReason.LOST, DropReason.INTERRUPTED)


def keep_up(*, now: datetime) -> int:
    """Remove stale caches with their files, and files without a row; return how many caches. Idempotent.

    Raises Conflict for an unusable folder, OSError.
    """
    folder = open_folder()
    if folder is None:
        return 0
    rows = list(ActivationCache.objects.across_namespaces().filter(folder_id=folder.id))
    _mark(rows, folder, now=now)
    caches.mark_stale(caches.list_over_budget(folder), DropReason.BUDGET)
    stale = ActivationCache.objects.across_namespaces().filter(folder_id=folder.id, state=ActivationState.STALE)
    gone = sum(_take_away(row, folder, now=now) for row in stale)
    _delete_unknown(folder)
    return gone


def _mark(rows: Collection[ActivationCache], folder: CacheFolder, *, now: datetime) -> None:
    """Mark caches for events without a trigger: an expired memory, another prompt, a missing file, a killed build."""
    current: dict[tuple[int, str], str] = {}
    on = {namespace_id: caches.is_on(namespace_id) for namespace_id in {row.namespace_id for row in rows}}
    for row in rows:
        if not on[row.namespace_id]:
            caches.mark_stale([row], DropReason.ASKED)
            continue
        if row.state == ActivationState.BUILDING:
            if row.created_at < now - WRITING and _is_left_alone(row):
                caches.mark_stale([row], DropReason.INTERRUPTED)
            continue
        if row.state != ActivationState.READY:
            continue
        place = row.namespace_id, row.form
        if place not in current:
            current[place] = render_prefix(caches.scope_of(row), PromptForm(row.form), now=now).sha256
        if current[place] != row.prefix_sha256:
            caches.mark_stale([row], DropReason.PREFIX)
        elif folder.size_of(row.file) != row.bytes:
            caches.mark_stale([row], DropReason.LOST)


def _is_left_alone(row: ActivationCache) -> bool:
    with try_lock(Lock.ACTIVATION, row.pk) as mine:
        return mine


def _take_away(row: ActivationCache, folder: CacheFolder, *, now: datetime) -> bool:
    if waits := caches.remove(row, folder, scope=caches.scope_of(row), now=now):
        log.info("an activation cache stays a while", extra={"cache": str(row.pk), "reason": waits})
        return False
    if row.reason in _BUILT_AGAIN:
        enqueue_build(row.namespace_id, row.engine, row.form, row.model)
    return True


def _delete_unknown(folder: CacheFolder) -> None:
    """Delete files without a row. A row is stored before its file, so a file listed before its row is looked up has
    one, or never will."""
    files = dict(folder.list_files())
    if not files:
        return
    rows = ActivationCache.objects.across_namespaces().filter(pk__in=files.values())
    known = set(rows.values_list("pk", flat=True))
    for name, identity in files.items():
        if identity not in known:
            folder.delete(name)
            log.warning("a file of an activation cache that nobody knows was deleted", extra={"cache": str(identity)})
