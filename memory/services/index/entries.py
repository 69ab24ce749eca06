"""Keeps the search index in step with memories whose state or text changes: postings, vector flags and counts.

Every function changes rows only and belongs inside the transaction that locks the memories.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Self

from django.db.models import Sum

from memory.models import (
    DocumentChunk,
    EmbeddingModel,
    EntityMention,
    EntityPending,
    EntityRelation,
    EntityWatermark,
    Memory,
    MemoryVector,
    NamespaceStat,
    RetiredStatement,
    Session,
)
from memory.models.arrays import vector_array
from memory.models.queries import index as queries
from memory.models.queries.index import change_counts
from memory.services.index.embedding import Embedded, text_to_embed
from memory.services.index.insert import MAX_FREQUENCY
from memory.services.tenancy import holds
from memory.text.analysis import terms
from memory.types import Scope


@dataclass(frozen=True, slots=True)
class Indexed:
    """A memory's place in the index and its terms, as the analyser of today finds them."""

    namespace_id: int
    memory_id: uuid.UUID
    frequencies: Counter[str]
    length: int

    @classmethod
    def of(cls, memory: Memory, *, text: str, names: Collection[str] = ()) -> Self:
        """Analyses `text` as what `memory` says; `names` are terms by which it is found besides. No I/O."""
        found = Counter(terms(text_to_embed(text, memory.speaker, memory.context)))
        found |= Counter(names)
        return cls(memory.namespace_id, memory.pk, found, found.total())


def insert_postings(entries: Sequence[Indexed]) -> None:
    """Writes the postings of memories that have none."""
    rows = [
        (entry.namespace_id, term, entry.memory_id, min(count, MAX_FREQUENCY), entry.length)
        for entry in entries
        for term, count in entry.frequencies.items()
    ]
    if not rows:
        return
    queries.insert_postings(rows)


def names_of(memories: Sequence[Memory]) -> dict[uuid.UUID, set[str]]:
    """The terms by which memories are found besides what they say, by memory."""
    rows = RetiredStatement.objects.filter(
        namespace_id__in={memory.namespace_id for memory in memories},
        memory_id__in=[memory.pk for memory in memories],
        withdrawn_at=None,
    ).exclude(names=[])
    found: dict[uuid.UUID, set[str]] = {}
    for memory_id, names in rows.values_list("memory_id", "names"):
        found.setdefault(memory_id, set()).update(names)
    return found


def index_anew(memory: Memory, entry: Indexed) -> None:
    """Gives an active memory other postings, in the index, in the counts and in the row's columns (which it sets)."""
    delete_postings([memory])
    insert_postings([entry])
    change_counts({memory.namespace_id: (0, entry.length - memory.length)})
    memory.terms, memory.length = list(entry.frequencies), entry.length


def delete_postings(memories: Sequence[Memory]) -> None:
    """Removes the postings of `memories`, which must still carry the `terms` that the postings were made of."""
    for namespace_id, own in _by_namespace(memories):
        rows = [(term, memory.pk) for memory in own for term in memory.terms]
        if rows:
            queries.delete_postings(namespace_id, rows)


def mark_searchable(memories: Sequence[Memory], *, searchable: bool) -> None:
    """Says of the memories' vectors, under every model, whether search may return them; their entities follow."""
    for namespace_id, own in _by_namespace(memories):
        ids = [memory.pk for memory in own]
        _mark_entities(namespace_id, ids, active=searchable)
        MemoryVector.objects.filter(namespace_id=namespace_id, memory_id__in=ids).update(searchable=searchable)


def _by_namespace(memories: Sequence[Memory]) -> list[tuple[int, list[Memory]]]:
    """The memories of each namespace: a statement is about one, which it names."""
    found: dict[int, list[Memory]] = {}
    for memory in memories:
        found.setdefault(memory.namespace_id, []).append(memory)
    return sorted(found.items())


def _mark_entities(namespace_id: int, memory_ids: list[uuid.UUID], *, active: bool) -> None:
    """Says whether the memories' mentions and relations count; those that count again are read again soon."""
    for model in (EntityMention, EntityRelation):
        model.objects.filter(namespace_id=namespace_id, memory_id__in=memory_ids).update(active=active)
    if active:
        _read_entities_again(namespace_id, memory_ids)


def _read_entities_again(namespace_id: int, memory_ids: Sequence[uuid.UUID]) -> None:
    rows = [EntityPending(namespace_id=namespace_id, memory_id=memory_id) for memory_id in memory_ids]
    EntityPending.objects.bulk_create(rows, ignore_conflicts=True)


def forget_entities(memory: Memory) -> None:
    """Removes what was read in a memory whose text is another now; it is read again soon."""
    for model in (EntityRelation, EntityMention):
        model.objects.filter(namespace_id=memory.namespace_id, memory_id=memory.pk).delete()
    _read_entities_again(memory.namespace_id, [memory.pk])


def replace_vectors(memory: Memory, embedded: Embedded | None, *, searchable: bool) -> None:
    """Leaves the memory with the vectors of its present text only; with none at all when there are none yet.

    Sets `embedded`, in the row too.
    """
    MemoryVector.objects.filter(namespace_id=memory.namespace_id, memory_id=memory.pk).delete()
    if embedded is not None:
        insert_vectors([memory], embedded, searchable=searchable)
    made = embedded is not None and EmbeddingModel.objects.in_use(embedded.model_id)
    if memory.embedded != made:
        memory.embedded = made
        Memory.objects.filter(namespace_id=memory.namespace_id, pk=memory.pk).update(embedded=made)


def insert_vectors(memories: Sequence[Memory], embedded: Embedded, *, searchable: bool) -> None:
    """Writes the vectors of memories that have none; `embedded` holds them in the memories' order.

    Whether their rows say so is the caller's.
    """
    rows = [(memories[memory].namespace_id, memories[memory].pk, passage) for memory, passage in embedded.places]
    queries.insert_vectors(rows, vector_array(embedded.vectors), model_id=embedded.model_id, searchable=searchable)


def remove_session(scope: Scope, *, session: str) -> int:
    """Deletes the session's memories with all that hangs on them; returns how many. Counts stay exact.

    In the caller's transaction. Raises Conflict when one of them is under a legal hold.
    """
    memories = Memory.objects.in_scope(scope).in_session(session)
    holds.lock_free(scope.namespace_id, memories)
    removed = queries.remove_session(scope.namespace_id, session)
    # Its turns begin at 1 again.
    EntityWatermark.objects.in_scope(scope).filter(session=session).delete()
    Session.objects.in_scope(scope).filter(name=session).update(
        settled_turn=0, extracted_turn=0, preference_turn=0, skipped_turn=None
    )
    return removed


def remove_chunks(scope: Scope, *, documents: Sequence[uuid.UUID]) -> int:
    """Deletes the chunks of the documents (by their own ids), as `remove_session` does."""
    chunks = DocumentChunk.objects.in_scope(scope).filter(document_key__in=documents)
    memories = Memory.objects.in_scope(scope).filter(pk__in=chunks.values("memory_id"))
    holds.lock_free(scope.namespace_id, memories)
    return queries.remove_chunks(scope.namespace_id, documents)


def remove_memories(scope: Scope, *, memory_ids: Sequence[uuid.UUID]) -> int:
    """Deletes memories by their ids, as `remove_session` does."""
    memories = Memory.objects.in_scope(scope).filter(pk__in=memory_ids)
    holds.lock_free(scope.namespace_id, memories)
    return queries.remove_memories(scope.namespace_id, memory_ids)


def counts_of(entries: Iterable[tuple[int, int]], *, sign: int = 1) -> dict[int, tuple[int, int]]:
    """What memories, given as (namespace_id, length), add to the counts of their namespaces (`sign=-1`: take away)."""
    changes: dict[int, tuple[int, int]] = {}
    for namespace_id, length in entries:
        memories, total = changes.get(namespace_id, (0, 0))
        changes[namespace_id] = (memories + sign, total + sign * length)
    return changes


def count_searchable(namespace_id: int) -> int:
    """Memories that retrieval may return, from the counters that their writers keep."""
    return NamespaceStat.objects.filter(namespace_id=namespace_id).aggregate(n=Sum("memories"))["n"] or 0
