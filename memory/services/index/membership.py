"""Takes memories out of the search index and puts them back; their own rows do not change.

All functions only change rows, and must be called inside the transaction that locks the memories.
"""

from __future__ import annotations

from collections.abc import Sequence

from memory.models import Memory
from memory.services.index import entries
from memory.services.index.entries import Indexed
from memory.services.index.searchable_text import searchable_texts
from memory.services.jobs import queue


def take_out(memories: Sequence[Memory]) -> None:
    """Takes active memories out of search."""
    entries.delete_postings(memories)
    entries.mark_searchable(memories, searchable=False)
    entries.change_counts(entries.counts_of(((memory.namespace_id, memory.length) for memory in memories), sign=-1))


def bring_back(memories: Sequence[Memory]) -> None:
    """Puts memories that are active again back into search, with the terms that the current analyser finds."""
    names, texts = entries.names_of(memories), searchable_texts(memories)
    indexed = [Indexed.of(memory, text=texts[memory.pk], names=names.get(memory.pk, ())) for memory in memories]
    entries.insert_postings(indexed)
    entries.mark_searchable(memories, searchable=True)
    _keep_new_terms(memories, indexed)
    entries.change_counts(entries.counts_of((entry.namespace_id, entry.length) for entry in indexed))
    namespace_ids = {memory.namespace_id for memory in memories}
    rows = Memory.objects.filter(namespace_id__in=namespace_ids, pk__in=[memory.pk for memory in memories])
    if rows.filter(embedded=False).exists():
        queue.enqueue(queue.EMBED_PENDING)


def _keep_new_terms(memories: Sequence[Memory], indexed: Sequence[Indexed]) -> None:
    """Stores the terms of memories that an earlier version of the analyser had indexed differently."""
    differing = []
    for memory, entry in zip(memories, indexed, strict=True):
        if memory.length != entry.length or set(memory.terms) != entry.frequencies.keys():
            memory.terms, memory.length = list(entry.frequencies), entry.length
            differing.append(memory)
    namespace_ids = {memory.namespace_id for memory in differing}
    Memory.objects.filter(namespace_id__in=namespace_ids).bulk_update(differing, ["terms", "length"])
