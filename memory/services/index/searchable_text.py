"""Computes the part of a memory's text that search reads.

It leaves out retired statements, and announcements that have been carried out ("I no longer …"). These are found by the
names in the statements that they end, and returned with the rest of their memory.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from uuid import UUID

from memory.models import HOLDS_ON, Memory, RetiredStatement
from memory.models.memory import spans_of
from memory.text.utterances import live_text

Span = tuple[int, int]


def spans_out_of_search(namespace_ids: Collection[int], memory_ids: Collection[UUID]) -> dict[UUID, list[Span]]:
    """Returns by memory the spans [start, end), in characters, of statements that left search but still hold."""
    rows = RetiredStatement.objects.filter(
        namespace_id__in=set(namespace_ids), memory_id__in=list(memory_ids), withdrawn_at=None, valid_to=HOLDS_ON
    )
    found: dict[UUID, list[Span]] = {}
    for memory_id, start, end in rows.values_list("memory_id", "start", "end"):
        found.setdefault(memory_id, []).append((start, end))
    return found


def searchable_texts(memories: Sequence[Memory]) -> dict[UUID, str]:
    """Returns the searchable text of each memory, by id."""
    unsearched = list_unsearched_spans(memories)
    return {one.pk: live_text(one.text, unsearched[one.pk]) for one in memories}


def searchable_text(memory: Memory) -> str:
    """Returns the searchable text of a memory."""
    return searchable_texts([memory])[memory.pk]


def list_unsearched_spans(memories: Sequence[Memory]) -> dict[UUID, list[Span]]:
    """Returns for each memory the spans [start, end), in characters, of all statements that are out of search."""
    held = spans_out_of_search({one.namespace_id for one in memories}, [one.pk for one in memories])
    return {one.pk: [*spans_of(one.retired_spans), *held.get(one.pk, ())] for one in memories}
