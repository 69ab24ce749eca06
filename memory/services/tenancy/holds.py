"""Enforces legal holds: a memory under one is not deleted, not archived, and its content does not change.

A memory is under a hold by itself (`exemptions.exempt`) or by its namespace's policy (`legal_hold`). Code that deletes,
archives or rewrites memories asks here, inside its transaction and with the memories' rows locked. Placing a hold locks
them too, so a hold is either seen, or placed on memories that are gone. `tests/contracts/test_holds.py` finds code that
does not ask.

A hold permits changes that take nothing away and can be undone: superseding and the retiring of statements (they leave
search, but the text stays and `memories.reinstate` brings it back), restoring, pins, opinions, importance, the
review list, new vectors and index terms, links, entities (a merge renames those, never a memory), and context packs and
summaries as long as the policy itself does not hold the namespace.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Sequence

from django.db.models import QuerySet

from memory.errors import Conflict
from memory.models import Memory, MemoryUpkeep, Namespace
from memory.services.tenancy.policy import lock_policy

# The fields that make up a memory's content.
SAID = frozenset({"text", "metadata", "speaker", "occurred_at"})
_NAMED = 100


def on_namespace(namespace_id: int) -> bool:
    """Return whether the policy holds the namespace, which cannot change until the caller's transaction ends."""
    return lock_policy(namespace_id).legal_hold


def under_hold(namespace_id: int, memory_ids: Sequence[uuid.UUID]) -> Collection[uuid.UUID]:
    """Return the memories that are under a legal hold: by themselves, or by their namespace's policy."""
    return memory_ids if on_namespace(namespace_id) else _list_own_holds(namespace_id, memory_ids)


def refuse(namespace_id: int, memory_ids: Sequence[uuid.UUID]) -> None:
    """Raise Conflict when one of the memories, locked by the caller, is under a legal hold."""
    refuse_namespace(namespace_id)
    if held := _list_own_holds(namespace_id, memory_ids):
        raise Conflict(
            f"{len(held)} of these memories are under a legal hold, {held[0]} among them, and nothing was changed. "
            "Leave them out, or lift the hold: POST /v1/policy/exemptions with `legal_hold` false.",
            detail={"hold": "memory", "memory_ids": [str(identity) for identity in held[:_NAMED]]},
        )


def refuse_namespace(namespace_id: int) -> None:
    """Raise Conflict when the policy holds the namespace."""
    if on_namespace(namespace_id):
        name = Namespace.objects.values_list("name", flat=True).get(pk=namespace_id)
        raise Conflict(
            f"The namespace {name!r} is under a legal hold, all its memories are, and nothing was changed. To lift it, "
            "set `legal_hold` to false in its policy: PUT /v1/policy.",
            detail={"hold": "namespace", "namespace": name},
        )


def lock_free(namespace_id: int, memories: QuerySet[Memory]) -> None:
    """Lock memories of the namespace in the order of their ids. Raises Conflict when one is under a legal hold."""
    rows = memories.order_by("pk").select_for_update(of=("self",))
    refuse(namespace_id, list(rows.values_list("pk", flat=True)))


def _list_own_holds(namespace_id: int, memory_ids: Sequence[uuid.UUID]) -> list[uuid.UUID]:
    rows = MemoryUpkeep.objects.filter(namespace_id=namespace_id, memory_id__in=memory_ids, legal_hold=True)
    return list(rows.order_by("memory_id").values_list("memory_id", flat=True))
