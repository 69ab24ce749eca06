"""Finds the facts and replies that were derived from memories while these were being erased."""

from __future__ import annotations

import uuid
from collections.abc import Sequence

from memory.models import ErasedMemory
from memory.models.queries import erasure as queries
from memory.services.erasure.holder import Erased
from memory.services.tenancy import holds


def read_preferences_again(erased: Erased) -> None:
    """Queue the reading of turns that state, in other words, a preference that is being erased.

    Runs before the memories are cleared, in a transaction that has locked none of them: readers lock sessions first.
    """
    queries.read_preferences_again(erased.scope.namespace_id, erased.id)


def take_down(erased: Erased, memory_ids: Sequence[uuid.UUID]) -> None:
    """Add these memories and their sessions to the erasure. Inside a transaction."""
    rows = [
        ErasedMemory(namespace_id=erased.scope.namespace_id, erasure_id=erased.id, memory_id=identity)
        for identity in memory_ids
    ]
    ErasedMemory.objects.bulk_create(rows, ignore_conflicts=True)
    queries.name_sessions(erased.scope.namespace_id, erased.id, memory_ids)


def take_down_late(erased: Erased, memory_ids: Sequence[uuid.UUID]) -> list[uuid.UUID]:
    """Add the facts and replies that rest on these memories and are not named yet, and all that rest on them in turn;
    return their ids, locked. Leaves out memories under a legal hold, and facts that another memory states
    independently.

    Writers of facts lock their sources: facts stored before the erasure has the lock are seen here, and later writers
    find their sources gone. Inside the transaction that deletes the memories.
    """
    late: list[uuid.UUID] = []
    found = _take_down_resting(erased, memory_ids)
    while found:
        late += found
        found = _take_down_resting(erased, found)
    return late


def _take_down_resting(erased: Erased, memory_ids: Sequence[uuid.UUID]) -> list[uuid.UUID]:
    namespace_id = erased.scope.namespace_id
    resting = queries.lock_resting(namespace_id, memory_ids)
    held = set(holds.under_hold(namespace_id, resting)) if resting else set()
    free = [identity for identity in resting if identity not in held]
    if not free:
        return []
    found = queries.list_unsupported(namespace_id, erased.id, free)
    take_down(erased, found)
    return found
