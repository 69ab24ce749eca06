"""SQL that keeps the search index in step with memories: postings, vectors and counters.

The statement that ingests is in `services/index/insert.py`, with the code that prepares its rows.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from psycopg import Connection

from memory.enums import EmbeddingState, MemoryState
from memory.models.namespace import NamespaceStat
from memory.models.sql import change_rows, read_rows

_INSERT_POSTINGS = """
INSERT INTO memory_posting (namespace_id, term, memory_id, frequency, length)
SELECT * FROM unnest(%s::bigint[], %s::text[], %s::uuid[], %s::int[], %s::int[])
"""
# The key is (namespace_id, term, memory_id), so a memory's postings are found by naming its terms.
_DELETE_POSTINGS = """
DELETE FROM memory_posting p USING unnest(%s::text[], %s::uuid[]) AS gone (term, memory_id)
WHERE p.namespace_id = %s AND p.term = gone.term AND p.memory_id = gone.memory_id
"""
_INSERT_VECTORS = """
INSERT INTO memory_memoryvector (namespace_id, model_id, memory_id, passage, embedding, searchable)
SELECT namespace_id, %s, memory_id, passage, embedding::halfvec, %s
FROM unnest(%s::bigint[], %s::uuid[], %s::smallint[], %s::text[])
     AS v (namespace_id, memory_id, passage, embedding)
"""


def insert_postings(rows: Sequence[tuple[int, str, uuid.UUID, int, int]]) -> None:
    """Inserts postings, given as (namespace id, term, memory id, frequency, length)."""
    change_rows(_INSERT_POSTINGS, [list(column) for column in zip(*rows, strict=True)])


def delete_postings(namespace_id: int, rows: Sequence[tuple[str, uuid.UUID]]) -> None:
    """Deletes postings, given as (term, memory id)."""
    change_rows(_DELETE_POSTINGS, [*(list(column) for column in zip(*rows, strict=True)), namespace_id])


def insert_vectors(
    rows: Sequence[tuple[int, uuid.UUID, int]], vectors: str, *, model_id: int, searchable: bool
) -> None:
    """Inserts the vectors of passages, given as (namespace id, memory id, passage); `vectors`: a `vector_array`."""
    columns = [list(column) for column in zip(*rows, strict=True)] or [[], [], []]
    change_rows(_INSERT_VECTORS, [model_id, searchable, *columns, vectors])


# This deletes postings and counts with a memory; foreign keys delete vectors, versions and chunk rows. `keys` is
# materialized so that a posting is found by its whole key and not among all postings of its term (1 s instead of 40 s
# for 1,400 chunks with 170,000 postings).
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


def remove_session(namespace_id: int, session: str) -> int:
    """Deletes the memories of a session with everything that depends on them; returns the number of memories."""
    return _remove(_REMOVE_SESSION, namespace_id, session=session)


def remove_chunks(namespace_id: int, documents: Sequence[uuid.UUID]) -> int:
    """Deletes the chunks of documents (by the documents' ids), as `remove_session` does."""
    return _remove(_REMOVE_CHUNKS, namespace_id, documents=list(documents))


def remove_memories(namespace_id: int, memory_ids: Sequence[uuid.UUID]) -> int:
    """Deletes memories, as `remove_session` does."""
    return _remove(_REMOVE_MEMORIES, namespace_id, memory_ids=list(memory_ids))


def _remove(statement: str, namespace_id: int, **target: Any) -> int:
    parameters = {"namespace_id": namespace_id, "active": MemoryState.ACTIVE.value, **target}
    [(removed,)] = read_rows(statement, parameters)
    return int(removed)


# A single shard may fall below zero; only the sum of the shards is meaningful.
_CHANGE_COUNTS = """
INSERT INTO memory_namespacestat AS n (namespace_id, shard, memories, terms)
SELECT c.namespace_id, pg_backend_pid() %% %s, c.memories, c.terms
FROM unnest(%s::bigint[], %s::bigint[], %s::bigint[]) AS c (namespace_id, memories, terms)
ON CONFLICT (namespace_id, shard) DO UPDATE
    SET memories = n.memories + EXCLUDED.memories, terms = n.terms + EXCLUDED.terms
"""


def change_counts(changes: Mapping[int, tuple[int, int]]) -> None:
    """Adds (memories, terms) to each namespace's counters, in the order of ids, so that writers cannot deadlock."""
    rows = [(namespace_id, *changes[namespace_id]) for namespace_id in sorted(changes)]
    change_rows(_CHANGE_COUNTS, [NamespaceStat.SHARDS, *(list(column) for column in zip(*rows, strict=True))])


# A single statement sees one snapshot, in which rows and counters agree, because writers change both together.
_DIFFERENCES = """
WITH counters AS (
    SELECT namespace_id, sum(memories)::bigint AS memories, sum(terms)::bigint AS terms
    FROM memory_namespacestat WHERE namespace_id = ANY(%(namespace_ids)s) GROUP BY namespace_id
), stored AS (
    SELECT namespace_id, count(*) AS memories, sum(length)::bigint AS terms
    FROM memory_memory WHERE namespace_id = ANY(%(namespace_ids)s) AND state = %(active)s GROUP BY namespace_id
)
SELECT n.name, coalesce(c.memories, 0), coalesce(c.terms, 0), coalesce(s.memories, 0), coalesce(s.terms, 0)
FROM memory_namespace n
LEFT JOIN counters c ON c.namespace_id = n.id
LEFT JOIN stored s ON s.namespace_id = n.id
WHERE n.id = ANY(%(namespace_ids)s)
  AND (coalesce(c.memories, 0), coalesce(c.terms, 0)) <> (coalesce(s.memories, 0), coalesce(s.terms, 0))
ORDER BY n.name
"""


def compare_counters(namespace_ids: Sequence[int]) -> list[tuple[str, int, int, int, int]]:
    """Lists namespaces whose counters are wrong: (name, memories and terms as counted, as stored)."""
    return read_rows(_DIFFERENCES, {"namespace_ids": list(namespace_ids), "active": MemoryState.ACTIVE.value})


# Vectors are only stored for memories that still have the embedded content: they may have been erased, archived or
# edited meanwhile. The memories are locked, in the order of ids like everywhere.
_INSERT_MISSING = """
WITH input AS (
    SELECT * FROM unnest(%s::uuid[], %s::bigint[], %s::bytea[], %s::text[], %s::text[], %s::text[],
                         %s::smallint[], %s::text[])
        AS v (memory_id, namespace_id, content_hash, retired, speaker, context, passage, embedding)
), own AS MATERIALIZED (
    SELECT m.namespace_id, m.id, m.state, m.embedded FROM input i
    JOIN memory_memory m
      ON m.namespace_id = i.namespace_id AND m.id = i.memory_id AND m.content_hash = i.content_hash
     AND m.retired_spans = i.retired::int[] AND m.speaker = i.speaker AND m.context = i.context
    WHERE i.passage = 0
    ORDER BY m.id
    FOR NO KEY UPDATE OF m
), vectors AS (
    INSERT INTO memory_memoryvector (namespace_id, model_id, memory_id, passage, embedding, searchable)
    SELECT o.namespace_id, %s, o.id, i.passage, i.embedding::halfvec, o.state = %s
    FROM own o JOIN input i ON i.namespace_id = o.namespace_id AND i.memory_id = o.id
    ON CONFLICT DO NOTHING
)
UPDATE memory_memory m SET embedded = true FROM own o
WHERE m.namespace_id = o.namespace_id AND m.id = o.id AND NOT o.embedded
  AND EXISTS (SELECT FROM memory_embeddingmodel WHERE id = %s AND state = %s)
"""


def insert_missing_vectors(model_id: int, columns: Sequence[Sequence[Any]], vectors: str) -> None:
    """Inserts vectors of memories that still have the embedded content, and marks these memories as embedded.

    `columns`: memory id, namespace id, content hash, retired spans as an array, speaker, context, and the number of the
    passage. `vectors`: a `vector_array`.
    """
    model = (model_id, MemoryState.ACTIVE, model_id, EmbeddingState.ACTIVE)
    change_rows(_INSERT_MISSING, [*map(list, columns), vectors, *model])


# The rows of the memories still exist, and have the terms.
_CLEAR_POSTINGS = """
WITH keys AS MATERIALIZED (
    SELECT m.id, t.term FROM memory_memory m, unnest(m.terms) AS t (term)
    WHERE m.namespace_id = %(namespace_id)s AND m.id = ANY(%(memory_ids)s::uuid[])
)
DELETE FROM memory_posting p USING keys k
WHERE p.namespace_id = %(namespace_id)s AND p.term = k.term AND p.memory_id = k.id
"""
_COUNT_TERMS = """
INSERT INTO memory_commonterm (namespace_id, term, memories)
SELECT namespace_id, term, count(*) FROM memory_posting WHERE namespace_id = %s
GROUP BY namespace_id, term HAVING count(*) >= %s
"""


def clear_postings(namespace_id: int, memory_ids: Sequence[uuid.UUID]) -> int:
    """Deletes the postings of memories by their whole keys; returns their number."""
    return change_rows(_CLEAR_POSTINGS, {"namespace_id": namespace_id, "memory_ids": list(memory_ids)})


def insert_common_terms(namespace_id: int, *, least: int) -> None:
    """Stores the terms that at least `least` memories of the namespace hold, with the number of these memories."""
    change_rows(_COUNT_TERMS, [namespace_id, least])


# The postings of the rarest term are read backwards by their key (namespace, term, memory), from the newest memory on,
# and the other terms are looked up for each. So the cost depends on the rarest term only, and is limited by the limit.
_MATCHING = """
SELECT found.memory_id
FROM unnest(%(namespace_ids)s::bigint[]) AS n (id)
CROSS JOIN LATERAL (
    SELECT p.memory_id FROM memory_posting p
    WHERE p.namespace_id = n.id AND p.term = %(rarest)s
      AND (SELECT count(*) FROM memory_posting o
           WHERE o.namespace_id = n.id AND o.term = ANY(%(others)s) AND o.memory_id = p.memory_id) = %(other_count)s
    ORDER BY p.memory_id DESC LIMIT %(limit)s
) AS found
ORDER BY found.memory_id DESC LIMIT %(limit)s
"""
_COUNT_HOLDING = """
SELECT t.term, (
    SELECT count(*) FROM (
        SELECT 1 FROM unnest(%(namespace_ids)s::bigint[]) AS n (id)
        JOIN memory_posting p ON p.namespace_id = n.id AND p.term = t.term
        LIMIT %(limit)s
    ) AS counted
)
FROM unnest(%(terms)s::text[]) AS t (term)
"""


def list_with_all_terms(namespace_ids: Sequence[int], terms: Sequence[str], *, limit: int) -> list[uuid.UUID]:
    """Lists the newest searchable memories of the namespaces that have all of the terms (at least one)."""
    own = {"namespace_ids": list(namespace_ids), "limit": limit}
    rarest = terms[0]
    if len(terms) > 1:
        counts = read_rows(_COUNT_HOLDING, {**own, "terms": list(terms)})
        rarest, _ = min(counts, key=lambda row: row[1])
    others = [term for term in terms if term != rarest]
    parameters = {**own, "rarest": rarest, "others": others, "other_count": len(others)}
    return [memory_id for (memory_id,) in read_rows(_MATCHING, parameters)]


# Finds the partition with the namespace's vectors, if the table is partitioned.
_PART = """
SELECT tableoid::regclass::text FROM memory_memoryvector WHERE namespace_id = %s AND model_id = %s LIMIT 1
"""
_COUNT_VECTORS = "SELECT count(*) FROM memory_memoryvector WHERE namespace_id = %s AND model_id = %s"


def find_part(raw: Connection[Any], namespace_id: int, model_id: int) -> str | None:
    """Returns the table with a namespace's vectors of a model, or None if there are none; uses this connection."""
    row = raw.execute(_PART, [namespace_id, model_id]).fetchone()
    return row[0] if row else None


def count_vectors(raw: Connection[Any], namespace_id: int, model_id: int) -> int:
    """Counts a namespace's vectors of a model; uses this connection."""
    row = raw.execute(_COUNT_VECTORS, [namespace_id, model_id]).fetchone()
    return row[0] if row else 0
