"""Builds a cache: first the row that names its memories, then the file; then the row is marked as ready.

No event meanwhile leaves an unknown file behind: a memory that changes marks the row (by a trigger), an erasure finds
it by its memories, and a killed build leaves a row whose lock is free. The second check of the prefix finds an erasure
that ended before the row existed.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import IntegrityError, transaction

from memory.enums import ActivationEngine, ActivationState, DropReason, PromptForm
from memory.errors import Conflict
from memory.models import ActivationCache
from memory.models.keys import new_id
from memory.models.locks import Lock, try_lock
from memory.postgresql import reach
from memory.services.activation import caches
from memory.services.activation.engines import BUILD_SECONDS, Engine, choose_engine
from memory.services.activation.prefix import CurrentPrefix, render_prefix
from memory.services.jobs import queue, runner
from memory.stores.activation_folder import CacheFolder, name_file
from memory.types import Scope

log = logging.getLogger("memos.activation")

Clock = Callable[[], datetime]
# The time besides computing: hashing the model, waiting for a slot, writing.
_MORE_SECONDS = 300
_STEPS = 3


@dataclass(frozen=True, slots=True)
class _CacheOrder:
    """The cache to build: its engine `by`, the name of the `model` in caches, and its folder."""

    scope: Scope
    engine: ActivationEngine
    form: PromptForm
    model: str
    by: Engine
    folder: CacheFolder
    clock: Clock

    def render(self) -> CurrentPrefix:
        return render_prefix(self.scope, self.form, now=self.clock())


def request_build(
    scope: Scope, *, engine: ActivationEngine, form: PromptForm, model: str, now: datetime
) -> dict[str, Any]:
    """Queue a job that computes the namespace's prefix, unless it is cached; it is built again whenever it becomes
    stale.

    Raises Conflict if nothing is configured or the prefix is empty, InvalidInput for a model without such caches.
    """
    caches.require_folder()
    label, _ = choose_engine(engine, model, namespace_id=scope.namespace_id)
    prefix = render_prefix(scope, form, now=now)
    if not prefix.text:
        raise Conflict(
            f"{scope.namespace!r} has no prefix: pin the memories that every question is to be told "
            "(POST /v1/memories/{id}/pin), or register a prompt or tools for it."
        )
    job = enqueue_build(scope.namespace_id, engine, form, label)
    return {
        "job_id": job,
        "engine": engine.value,
        "form": form.value,
        "model": label,
        "prefix_sha256": prefix.sha256,
        "prefix_tokens": prefix.tokens,
        "memory_ids": [str(identity) for identity in prefix.memory_ids],
    }


def enqueue_build(namespace_id: int, engine: str, form: str, model: str) -> str:
    """Queue the job, once for all callers; return its id."""
    seconds = BUILD_SECONDS + _MORE_SECONDS
    return queue.enqueue(queue.BUILD_ACTIVATION, namespace_id, str(engine), str(form), model, seconds=seconds)


def build(scope: Scope, *, engine: ActivationEngine, form: PromptForm, model: str, clock: Clock) -> uuid.UUID | None:
    """Build the cache of the present prefix; return its id, or None if it exists, there is no prefix (any more), or the
    cube has no activation memory (any more).

    Raises Conflict, LLMUnavailable and its subclasses, OSError; then there is neither row nor file.
    """
    if not caches.is_on(scope.namespace_id):
        return None
    folder = caches.require_folder()
    label, by = choose_engine(engine, model, namespace_id=scope.namespace_id)
    order = _CacheOrder(scope, engine, form, label, by, folder, clock)
    prefix = order.render()
    if not prefix.text:
        return None
    runner.report(0, _STEPS)
    row = _new_row(order, prefix)
    with try_lock(Lock.ACTIVATION, row.pk):
        if not _insert(row):
            return None
        try:
            built = _write(order, row, prefix)
        except BaseException:
            _undo(row, folder)
            raise
    if not built:
        _remove(row, folder)
        return None
    _make_room(folder, row, now=clock())
    runner.report(_STEPS, _STEPS)
    return row.pk


def _write(order: _CacheOrder, row: ActivationCache, prefix: CurrentPrefix) -> bool:
    """Write the file and mark the row; return whether both were done, which is not so if the prefix, or a memory in it,
    changed meanwhile."""
    mine = ActivationCache.objects.filter(namespace_id=row.namespace_id, pk=row.pk)
    if order.render().sha256 != prefix.sha256:
        mine.filter(state=ActivationState.BUILDING).update(state=ActivationState.STALE, reason=DropReason.PREFIX)
        return False
    mine.update(written_at=order.clock())
    runner.report(1, _STEPS)
    written = order.by.write(prefix.text, order.form, order.folder, row.file)
    if order.by.model_sha256 != row.model_sha256:
        raise Conflict(f"{row.model} was exchanged for another while its cache was built: build it again.")
    if written.bytes > settings.MEMOS_ACTIVATION_BYTES:
        raise Conflict(
            f"The cache takes {written.bytes} bytes, and all may take {settings.MEMOS_ACTIVATION_BYTES}: raise "
            "MEMOS_ACTIVATION_BYTES, or pin fewer memories.",
            detail={"setting": "MEMOS_ACTIVATION_BYTES", "bytes": written.bytes},
        )
    runner.report(2, _STEPS)
    row.state = ActivationState.READY
    row.tokens, row.bytes, row.build_ms = written.tokens, written.bytes, written.build_ms
    row.written_at = order.clock()
    columns = ("state", "tokens", "bytes", "build_ms", "written_at")
    with transaction.atomic():
        done = mine.filter(state=ActivationState.BUILDING).update(**{name: getattr(row, name) for name in columns})
        if done:
            caches.record_build(order.scope, row, now=order.clock())
    return bool(done)


def _new_row(order: _CacheOrder, prefix: CurrentPrefix) -> ActivationCache:
    identity, model_sha256 = new_id(), order.by.model_sha256
    return ActivationCache(
        id=identity,
        namespace_id=order.scope.namespace_id,
        engine=order.engine,
        model=order.model,
        model_sha256=model_sha256,
        form=order.form,
        prefix_sha256=prefix.sha256,
        memory_ids=list(prefix.memory_ids),
        folder_id=order.folder.id,
        file=name_file(
            model_sha256=model_sha256, prefix_sha256=prefix.sha256, cache_id=identity, ending=order.by.ending
        ),
        actor=order.scope.actor,
        created_at=order.clock(),
    )


def _insert(row: ActivationCache) -> bool:
    """Store the row; return False if there is one of the same model and prefix, which may be another worker's."""
    try:
        with transaction.atomic():
            row.save(force_insert=True)
    except IntegrityError:
        return False
    return True


def _undo(row: ActivationCache, folder: CacheFolder) -> None:
    """Remove a failed build: the file, then the row. If the file cannot be deleted, the upkeep does it later."""
    folder.delete(row.file)
    ActivationCache.objects.filter(namespace_id=row.namespace_id, pk=row.pk).delete()


def _remove(row: ActivationCache, folder: CacheFolder) -> None:
    """Remove a cache that became stale while it was built. Its row may be gone by now, but its file must be deleted
    anyway."""
    folder.delete(row.file)
    mine = ActivationCache.objects.filter(namespace_id=row.namespace_id, pk=row.pk)
    left = mine.first()
    if left is None:
        return
    mine.delete()
    log.warning("an activation cache went stale while it was built", extra={"cache": str(row.pk), "why": left.reason})
    if left.reason != DropReason.ASKED:
        enqueue_build(row.namespace_id, row.engine, row.form, row.model)


def _make_room(folder: CacheFolder, row: ActivationCache, *, now: datetime) -> None:
    """Remove the least recently used caches, of any namespace, until the rest fits."""
    with reach.across_namespaces():
        for one in caches.list_over_budget(folder, keep=[row.pk]):
            caches.mark_stale([one], DropReason.BUDGET)
            one.refresh_from_db()
            caches.remove(one, folder, scope=caches.scope_of(one), now=now)
