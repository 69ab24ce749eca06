"""Keeps the search index in step with memories whose state or text changes: postings, vector flags and counts.

All functions only change rows, and must be called inside the transaction that locks the memories.
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
    """Holds a memory's key and its terms, as the current analyser finds them."""

    namespace_id: int
    memory_id: uuid.UUID
    frequencies: Counter[str]
    length: int

    @classmethod
    def of(cls, memory: Memory, *, text: str, names: Collection[str] = ()) -> Self:
        """Analyses `text` as the text of `memory`; `names` are further terms by which it is found. No I/O."""
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
    """Returns by memory the terms by which it is found although they are not in its searchable text."""
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
    """Replaces the postings of an active memory, and updates the counts.

    It sets `terms` and `length` of the object, which the caller has to save.
    """
    delete_postings([memory])
    insert_postings([entry])
    change_counts({memory.namespace_id: (0, entry.length - memory.length)})
    memory.terms, memory.length = list(entry.frequencies), entry.length


def delete_postings(memories: Sequence[Memory]) -> None:
    """Deletes the postings of `memories`, which must still have the `terms` that the postings were made of."""
    for namespace_id, own in _by_namespace(memories):
        rows = [(term, memory.pk) for memory in own for term in memory.terms]
        if rows:
            queries.delete_postings(namespace_id, rows)


def mark_searchable(memories: Sequence[Memory], *, searchable: bool) -> None:
    """Sets whether search may return the memories' vectors, under all models, and whether their entities count."""
    for namespace_id, own in _by_namespace(memories):
        ids = [memory.pk for memory in own]
        _mark_entities(namespace_id, ids, active=searchable)
        MemoryVector.objects.filter(namespace_id=namespace_id, memory_id__in=ids).update(searchable=searchable)


def _by_namespace(memories: Sequence[Memory]) -> list[tuple[int, list[Memory]]]:
    """Groups memories by namespace, because each statement must name one."""
    found: dict[int, list[Memory]] = {}
    for memory in memories:
        found.setdefault(memory.namespace_id, []).append(memory)
    return sorted(found.items())


def _mark_entities(namespace_id: int, memory_ids: list[uuid.UUID], *, active: bool) -> None:
    """Sets whether the memories' mentions and relations count; reactivated memories are queued to be read again."""
    for model in (EntityMention, EntityRelation):
        model.objects.filter(namespace_id=namespace_id, memory_id__in=memory_ids).update(active=active)
    if active:
        _read_entities_again(namespace_id, memory_ids)


def _read_entities_again(namespace_id: int, memory_ids: Sequence[uuid.UUID]) -> None:
    rows = [EntityPending(namespace_id=namespace_id, memory_id=memory_id) for memory_id in memory_ids]
    EntityPending.objects.bulk_create(rows, ignore_conflicts=True)


def forget_entities(memory: Memory) -> None:
    """Deletes the mentions and relations of a memory whose text has changed, and queues it to be read again."""
    for model in (EntityRelation, EntityMention):
        model.objects.filter(namespace_id=memory.namespace_id, memory_id=memory.pk).delete()
    _read_entities_again(memory.namespace_id, [memory.pk])


def replace_vectors(memory: Memory, embedded: Embedded | None, *, searchable: bool) -> None:
    """Replaces the vectors of a memory by those of its current text, or by none if there are none yet.

    Sets `embedded` of the object and of the row.
    """
    MemoryVector.objects.filter(namespace_id=memory.namespace_id, memory_id=memory.pk).delete()
    if embedded is not None:
        insert_vectors([memory], embedded, searchable=searchable)
    made = embedded is not None and EmbeddingModel.objects.in_use(embedded.model_id)
    if memory.embedded != made:
        memory.embedded = made
        Memory.objects.filter(namespace_id=memory.namespace_id, pk=memory.pk).update(embedded=made)


def insert_vectors(memories: Sequence[Memory], embedded: Embedded, *, searchable: bool) -> None:
    """Writes the vectors of memories that have none; `embedded` has them in the memories' order.

    The caller must set `embedded` of the rows.
    """
    rows = [(memories[memory].namespace_id, memories[memory].pk, passage) for memory, passage in embedded.places]
    queries.insert_vectors(rows, vector_array(embedded.vectors), model_id=embedded.model_id, searchable=searchable)


def remove_session(scope: Scope, *, session: str) -> int:
    """Deletes the memories of a session with everything that depends on them; returns their number.

    It runs in the caller's transaction, and keeps the counts exact. Raises Conflict if one is under a legal hold.
    """
    memories = Memory.objects.in_scope(scope).in_session(session)
    holds.lock_free(scope.namespace_id, memories)
    removed = queries.remove_session(scope.namespace_id, session)
    # The turns of the session begin at 1 again.
    EntityWatermark.objects.in_scope(scope).filter(session=session).delete()
    Session.objects.in_scope(scope).filter(name=session).update(
        settled_turn=0, extracted_turn=0, preference_turn=0, skipped_turn=None
    )
    return removed


def remove_chunks(scope: Scope, *, documents: Sequence[uuid.UUID]) -> int:
    """Deletes the chunks of documents (by the documents' ids), as `remove_session` does."""
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
    """Sums by namespace what memories, given as (namespace_id, length), add to its counts (`sign=-1`: subtract)."""
    changes: dict[int, tuple[int, int]] = {}
    for namespace_id, length in entries:
        memories, total = changes.get(namespace_id, (0, 0))
        changes[namespace_id] = (memories + sign, total + sign * length)
    return changes


def count_searchable(namespace_id: int) -> int:
    """Returns the number of memories that retrieval may return, from the counters."""
    return NamespaceStat.objects.filter(namespace_id=namespace_id).aggregate(n=Sum("memories"))["n"] or 0
