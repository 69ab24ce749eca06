"""What of a memory search looks at: what holds, without statements that only say that something is over and have been
carried out. Those are found by the name of what is over, and read with the rest of their memory."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from uuid import UUID

from memory.models import HOLDS_ON, Memory, RetiredStatement
from memory.models.memory import spans_of
from memory.text.utterances import live_text

Span = tuple[int, int]


def spans_out_of_search(namespace_ids: Collection[int], memory_ids: Collection[UUID]) -> dict[UUID, list[Span]]:
    """The statements, [start, end) in characters, that left search and hold; of the memories that have any."""
    rows = RetiredStatement.objects.filter(
        namespace_id__in=set(namespace_ids), memory_id__in=list(memory_ids), withdrawn_at=None, valid_to=HOLDS_ON
    )
    found: dict[UUID, list[Span]] = {}
    for memory_id, start, end in rows.values_list("memory_id", "start", "end"):
        found.setdefault(memory_id, []).append((start, end))
    return found


def searchable_texts(memories: Sequence[Memory]) -> dict[UUID, str]:
    """What each of the memories is searched by."""
    unsearched = list_unsearched_spans(memories)
    return {one.pk: live_text(one.text, unsearched[one.pk]) for one in memories}


def searchable_text(memory: Memory) -> str:
    """What the memory is searched by."""
    return searchable_texts([memory])[memory.pk]


def list_unsearched_spans(memories: Sequence[Memory]) -> dict[UUID, list[Span]]:
    """The statements of each of the memories, [start, end) in characters, that are out of search, whether they hold or
    not."""
    held = spans_out_of_search({one.namespace_id for one in memories}, [one.pk for one in memories])
    return {one.pk: [*spans_of(one.retired_spans), *held.get(one.pk, ())] for one in memories}
