"""Keeps the search index in step with memories whose state or text changes: postings, vector flags and counts.

Every function changes rows only and belongs inside the transaction that locks the memories.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from django.db import connection
from django.db.models import QuerySet, Sum

from memory.enums import MemoryState
from memory.models import (
    DocumentChunk,
    EmbeddingModel,
    EntityWatermark,
    Memory,
    NamespaceStat,
    RetiredStatement,
    Session,
)
from memory.models.sql import vector_array
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
    with connection.cursor() as cursor:
        cursor.execute(
            """
            INSERT INTO memory_posting (namespace_id, term, memory_id, frequency, length)
            SELECT * FROM unnest(%s::bigint[], %s::text[], %s::uuid[], %s::int[], %s::int[])
            """,
            [list(column) for column in zip(*rows, strict=True)],
        )


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
        # The key is (namespace_id, term, memory_id), so a memory's postings are found by naming its terms.
        rows = [(term, memory.pk) for memory in own for term in memory.terms]
        if not rows:
            continue
        with connection.cursor() as cursor:
            cursor.execute(
                """
                DELETE FROM memory_posting p USING unnest(%s::text[], %s::uuid[]) AS gone (term, memory_id)
                WHERE p.namespace_id = %s AND p.term = gone.term AND p.memory_id = gone.memory_id
                """,
                [*(list(column) for column in zip(*rows, strict=True)), namespace_id],
            )


def mark_searchable(memories: Sequence[Memory], *, searchable: bool) -> None:
    """Says of the memories' vectors, under every model, whether search may return them; their entities follow."""
    for namespace_id, own in _by_namespace(memories):
        ids = [memory.pk for memory in own]
        _mark_entities(namespace_id, ids, active=searchable)
        with connection.cursor() as cursor:
            cursor.execute(
                """
                UPDATE memory_memoryvector v SET searchable = %s FROM unnest(%s::uuid[]) AS m (memory_id)
                WHERE v.namespace_id = %s AND v.memory_id = m.memory_id
                """,
                [searchable, ids, namespace_id],
            )


def _by_namespace(memories: Sequence[Memory]) -> list[tuple[int, list[Memory]]]:
    """The memories of each namespace: a statement is about one, which it names."""
    found: dict[int, list[Memory]] = {}
    for memory in memories:
        found.setdefault(memory.namespace_id, []).append(memory)
    return sorted(found.items())


def _mark_entities(namespace_id: int, memory_ids: list[uuid.UUID], *, active: bool) -> None:
    """Says whether the memories' mentions and relations count; those that count again are read again soon."""
    with connection.cursor() as cursor:
        for table in ("memory_entitymention", "memory_entityrelation"):
            cursor.execute(
                f"""
                UPDATE {table} e SET active = %s FROM unnest(%s::uuid[]) AS m (memory_id)
                WHERE e.namespace_id = %s AND e.memory_id = m.memory_id
                """,  # noqa: S608 - the two names above
                [active, memory_ids, namespace_id],
            )
        if active:
            cursor.execute(
                "INSERT INTO memory_entitypending (namespace_id, memory_id) "
                "SELECT %s, * FROM unnest(%s::uuid[]) ON CONFLICT DO NOTHING",
                [namespace_id, memory_ids],
            )


def forget_entities(memory: Memory) -> None:
    """Removes what was read in a memory whose text is another now; it is read again soon."""
    place: list[Any] = [memory.namespace_id, memory.pk]
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM memory_entityrelation WHERE namespace_id = %s AND memory_id = %s", place)
        cursor.execute("DELETE FROM memory_entitymention WHERE namespace_id = %s AND memory_id = %s", place)
        cursor.execute(
            "INSERT INTO memory_entitypending (namespace_id, memory_id) VALUES (%s, %s) ON CONFLICT DO NOTHING", place
        )


def replace_vectors(memory: Memory, embedded: Embedded | None, *, searchable: bool) -> None:
    """Leaves the memory with the vectors of its present text only; with none at all when there are none yet.

    Sets `embedded`, in the row too.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            "DELETE FROM memory_memoryvector WHERE namespace_id = %s AND memory_id = %s",
            [memory.namespace_id, memory.pk],
        )
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
    owners = [memories[memory] for memory, _ in embedded.places]
    with connection.cursor() as cursor:
        cursor.execute(
            """
            INSERT INTO memory_memoryvector (namespace_id, model_id, memory_id, passage, embedding, searchable)
            SELECT namespace_id, %s, memory_id, passage, embedding::halfvec, %s
            FROM unnest(%s::bigint[], %s::uuid[], %s::smallint[], %s::text[])
                 AS v (namespace_id, memory_id, passage, embedding)
            """,
            [
                embedded.model_id,
                searchable,
                [owner.namespace_id for owner in owners],
                [owner.pk for owner in owners],
                [passage for _, passage in embedded.places],
                vector_array(embedded.vectors),
            ],
        )


# What hangs on a memory goes with it: postings and counts here, vectors, versions and chunk rows by their foreign keys.
# `keys` is materialized so that a posting is found by its whole key, not among all of its term (measured: 1,400 chunks
# with 170,000 postings in 1 s instead of 40).
_REMOVE = """
WITH gone AS (
    {delete} RETURNING m.id, m.state, m.terms, m.length
), keys AS MATERIALIZED (
    SELECT g.id, t.term FROM gone g, unnest(g.terms) AS t (term)
), postings AS (
    DELETE FROM memory_posting p USING keys k
    WHERE p.namespace_id = %(namespace_id)s AND p.term = k.term AND p.memory_id = k.id
), stats AS (
    INSERT INTO memory_namespacestat AS n (namespace_id, shard, memories, terms)
    SELECT %(namespace_id)s, 0, -count(*), -coalesce(sum(length), 0) FROM gone WHERE state = %(active)s
    HAVING count(*) > 0
    ON CONFLICT (namespace_id, shard) DO UPDATE
        SET memories = n.memories + EXCLUDED.memories, terms = n.terms + EXCLUDED.terms
)
SELECT count(*) FROM gone
"""
_REMOVE_SESSION = _REMOVE.format(
    delete="DELETE FROM memory_memory m WHERE m.namespace_id = %(namespace_id)s AND m.session = %(session)s"
)
_REMOVE_CHUNKS = _REMOVE.format(
    delete="""DELETE FROM memory_memory m USING memory_documentchunk c
    WHERE c.namespace_id = %(namespace_id)s AND c.document_key = ANY(%(documents)s::uuid[])
      AND m.namespace_id = c.namespace_id AND m.id = c.memory_id"""
)

_REMOVE_MEMORIES = _REMOVE.format(
    delete="DELETE FROM memory_memory m WHERE m.namespace_id = %(namespace_id)s AND m.id = ANY(%(memory_ids)s::uuid[])"
)


def remove_session(scope: Scope, *, session: str) -> int:
    """Deletes the session's memories with all that hangs on them; returns how many. Counts stay exact.

    In the caller's transaction. Raises Conflict when one of them is under a legal hold.
    """
    memories = Memory.objects.in_scope(scope).in_session(session)
    removed = _remove(_REMOVE_SESSION, scope, memories, session=session)
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
    return _remove(_REMOVE_CHUNKS, scope, memories, documents=list(documents))


def remove_memories(scope: Scope, *, memory_ids: Sequence[uuid.UUID]) -> int:
    """Deletes memories by their ids, as `remove_session` does."""
    memories = Memory.objects.in_scope(scope).filter(pk__in=memory_ids)
    return _remove(_REMOVE_MEMORIES, scope, memories, memory_ids=list(memory_ids))


def _remove(statement: str, scope: Scope, memories: QuerySet[Memory], **what: str | list[uuid.UUID]) -> int:
    """Runs `statement`, which deletes `memories`."""
    holds.lock_free(scope.namespace_id, memories)
    parameters: dict[str, Any] = {"namespace_id": scope.namespace_id, "active": MemoryState.ACTIVE.value, **what}
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return int(cursor.fetchone()[0])


def change_counts(changes: Mapping[int, tuple[int, int]]) -> None:
    """Adds (memories, terms) to each namespace's counts; negative numbers take away."""
    # One shard may fall below zero: the sum over the shards is the truth. Key order keeps writers from deadlocks.
    rows = [(namespace_id, *changes[namespace_id]) for namespace_id in sorted(changes)]
    with connection.cursor() as cursor:
        cursor.execute(
            """
            INSERT INTO memory_namespacestat AS n (namespace_id, shard, memories, terms)
            SELECT c.namespace_id, pg_backend_pid() %% %s, c.memories, c.terms
            FROM unnest(%s::bigint[], %s::bigint[], %s::bigint[]) AS c (namespace_id, memories, terms)
            ON CONFLICT (namespace_id, shard) DO UPDATE
                SET memories = n.memories + EXCLUDED.memories, terms = n.terms + EXCLUDED.terms
            """,
            [NamespaceStat.SHARDS, *(list(column) for column in zip(*rows, strict=True))],
        )


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
