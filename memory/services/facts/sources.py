"""Finds the memories that facts, preferences and replies rest on, and has these follow them."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterable

from memory.enums import LinkKind
from memory.models import Memory, MemoryLink
from memory.services.jobs import queue


def ask_to_follow(memories: Iterable[Memory]) -> None:
    """Have the facts, preferences and replies that rest on changed memories follow them.

    A changed memory is away, is back or says something else now. To be called in the transaction that changes the
    memories. Memories on which nothing rests queue no job.
    """
    changed: dict[int, dict[uuid.UUID, str]] = {}
    for memory in memories:
        changed.setdefault(memory.namespace_id, {})[memory.pk] = memory.session
    for namespace_id, sessions in sorted(changed.items()):
        links = MemoryLink.objects.filter(
            namespace_id=namespace_id, other_id__in=list(sessions), kind=LinkKind.DERIVED_FROM
        )
        for session in sorted({sessions[turn] for turn in links.order_by().values_list("other_id", flat=True)}):
            queue.enqueue(queue.FOLLOW_SOURCES, namespace_id, session)


def sources_of(namespace_ids: Collection[int], fact_ids: Collection[uuid.UUID]) -> dict[uuid.UUID, list[uuid.UUID]]:
    """Return the turns that each of the facts rests on, oldest first; facts without sources are left out."""
    found: dict[uuid.UUID, list[uuid.UUID]] = {}
    if fact_ids:
        links = MemoryLink.objects.filter(
            namespace_id__in=set(namespace_ids), memory_id__in=list(fact_ids), kind=LinkKind.DERIVED_FROM
        )
        for fact, source in links.order_by("other_id").values_list("memory_id", "other_id"):
            found.setdefault(fact, []).append(source)
    return found
