"""Queues the comparison of memories that say something else now, are away, or are back."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterable

from memory.enums import LinkKind
from memory.models import Memory, MemoryLink, RetiredStatement
from memory.services.jobs import queue
from memory.services.memories.retire import ACTOR

# The number of memories that one job compares.
AT_ONCE = 50


def ask_of_authors(namespace_id: int, memory_ids: Collection[uuid.UUID]) -> int:
    """Queue the comparison of those of the memories that retired, superseded or linked others; return how many.

    Call it inside the transaction that archives or deletes them, once they are locked or gone.
    """
    newer = sorted(_authors(namespace_id, memory_ids))
    ask(namespace_id, newer)
    return len(newer)


def ask(namespace_id: int, memory_ids: Iterable[uuid.UUID]) -> None:
    """Queue the comparison of the memories with those before and after them."""
    wanted = [str(identity) for identity in memory_ids]
    for start in range(0, len(wanted), AT_ONCE):
        queue.enqueue(queue.SETTLE, namespace_id, *wanted[start : start + AT_ONCE])


def _authors(namespace_id: int, memory_ids: Collection[uuid.UUID]) -> set[uuid.UUID]:
    """Return those of the memories that retired, superseded or linked something."""
    named = list(memory_ids)
    statements = RetiredStatement.objects.filter(namespace_id=namespace_id, by__in=named, withdrawn_at=None)
    superseded = Memory.objects.filter(namespace_id=namespace_id, superseded_by__in=named)
    links = MemoryLink.objects.filter(
        namespace_id=namespace_id, memory_id__in=named, kind=LinkKind.SUPERSEDES, actor=ACTOR
    )
    return {
        *statements.values_list("by", flat=True),
        *(one for one in superseded.values_list("superseded_by", flat=True) if one is not None),
        *links.values_list("memory_id", flat=True),
    }
