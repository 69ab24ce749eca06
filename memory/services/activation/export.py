"""Gives a cache to a caller that requests it: loaded into a slot, or as a file for a program that runs the model."""

from __future__ import annotations

import uuid
from collections.abc import Generator
from datetime import datetime
from pathlib import Path
from typing import Any

from memory import audit
from memory.enums import ActivationEngine, ActivationState, AuditEvent
from memory.errors import Conflict, LLMBusy
from memory.models import ActivationCache
from memory.services.activation import caches
from memory.services.activation.engines import choose_llama, find_idle_slot
from memory.services.activation.use import load
from memory.types import Scope

_PIECE_BYTES = 1024 * 1024


def load_now(scope: Scope, *, cache_id: uuid.UUID) -> dict[str, Any]:
    """Restore a cache into an idle slot of its model's server; return the slot (`id_slot`), its tokens and
    milliseconds.

    Raises NotFound, Conflict for one that is not ready or not llama.cpp's, LLMUnavailable and its subclasses.
    """
    row = _find_ready(scope, cache_id)
    if row.engine != ActivationEngine.LLAMACPP:
        raise Conflict(
            f"A cache of the engine {row.engine!r} is loaded by the program that runs the model: GET its file.",
            detail={"field": "cache_id"},
        )
    slots = choose_llama(row.model, namespace_id=scope.namespace_id).slots
    slot = find_idle_slot(slots)
    if slot is None:
        raise LLMBusy(f"All slots of {row.model} are at work: try again in a moment.", retry_after=2)
    loaded = load(row, slots, slot)
    return {"id": str(row.pk), "id_slot": loaded.slot, "tokens": loaded.tokens, "load_ms": loaded.load_ms}


def open_file(scope: Scope, *, cache_id: uuid.UUID, now: datetime) -> tuple[ActivationCache, Generator[bytes]]:
    """Return a cache and its file in pieces, the first of them empty; the audit log records the download.

    Raises NotFound, Conflict for one that is not ready, or whose file this machine does not have.
    """
    row = _find_ready(scope, cache_id)
    folder = caches.require_folder()
    if folder.id != row.folder_id or folder.size_of(row.file) != row.bytes:
        raise Conflict("This machine does not have the cache's file: ask one that has the folder, or build it again.")
    details = {"engine": row.engine, "model": row.model, "bytes": row.bytes}
    audit.record(scope, AuditEvent.ACTIVATION_EXPORT, subject=str(row.pk), details=details, now=now)
    return row, _read(folder.path_of(row.file))


def _read(path: Path) -> Generator[bytes]:
    with path.open("rb") as stream:
        yield b""
        while piece := stream.read(_PIECE_BYTES):
            yield piece


def _find_ready(scope: Scope, cache_id: uuid.UUID) -> ActivationCache:
    row = caches.find_cache(scope, cache_id=cache_id)
    if row.state != ActivationState.READY:
        why = f" ({row.get_reason_display()})" if row.reason else ""
        raise Conflict(
            f"The cache is {row.state}{why}: wait until it is ready, or build it again.", detail={"state": row.state}
        )
    return row
