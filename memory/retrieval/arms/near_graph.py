"""Search by meaning in a namespace that has an index of its own by pgvector: the neighbours along its graph (HNSW).

The index holds the searchable vectors of one namespace and nothing else, so no other tenant's vector is in its way. It
is part of each write, so a memory is found as soon as it is written.
"""

from __future__ import annotations

from memory.models.sql import fetch
from memory.retrieval.arms import ArmHit
from memory.retrieval.predicate import SqlCondition
from memory.retrieval.question import Question
from memory.retrieval.size import count_memories
from memory.text.vectors import halfvec_literal
from memory.types import Scope

# Vectors that a search keeps in view on its way. Measured by bench/hnsw.py, recall@10.
IN_VIEW = 400
# Vectors that a search with a filter looks at before it gives up; pgvector's own limit.
LOOKED_AT = 20_000
# Passages that are looked at for each memory wanted: more only where the nearest are of few memories.
_PASSAGES_EACH = 2

# Relaxed: what a later step of the scan finds may be nearer; all of it is put in order at the end.
_SETTINGS = f"""
SELECT set_config('hnsw.ef_search', '{IN_VIEW}', false), set_config('hnsw.iterative_scan', 'relaxed_order', false),
       set_config('hnsw.max_scan_tuples', '{LOOKED_AT}', false)
"""

# The length of a vector is part of the index's expression. The condition is asked of each vector on the way: a join
# would gather all that meet it before the first one is compared.
_NEAREST = """
WITH passages AS MATERIALIZED (
    SELECT v.memory_id, v.embedding::halfvec({dimensions}) <=> %(vector)s::halfvec({dimensions}) AS distance
    FROM memory_memoryvector v
    WHERE v.namespace_id = %(namespace_id)s AND v.model_id = %(model_id)s AND v.searchable {condition}
    ORDER BY v.embedding::halfvec({dimensions}) <=> %(vector)s::halfvec({dimensions})
    LIMIT %(passages)s
)
SELECT memory_id::text, 1 - min(distance), (SELECT count(*) FROM passages)
FROM passages GROUP BY memory_id ORDER BY min(distance)::float4, memory_id DESC LIMIT %(limit)s
"""

_CONDITION = """AND (
    SELECT {condition} FROM memory_memory m WHERE m.namespace_id = %(namespace_id)s AND m.id = v.memory_id
)"""

_COUNT = """
SELECT count(*) FROM (
    SELECT FROM memory_memory m WHERE m.namespace_id = %(namespace_id)s AND {condition} LIMIT %(enough)s
) AS met
"""


def search(scope: Scope, question: Question, *, limit: int) -> list[ArmHit] | None:
    """As `dense.search`; None where comparing every vector that the predicate leaves is the better way.

    That is so where few memories meet the predicate, and where the search along the graph ended before it had `limit`
    memories: then what it lacks may be anywhere.
    """
    passages = limit * _PASSAGES_EACH
    if question.predicate is not None and not _is_met_often(scope, question.predicate, passages=passages):
        return None
    fetch(_SETTINGS, {}, prepared=True)
    dimensions = len(question.vector)
    statement = _NEAREST.format(dimensions=dimensions, condition=_condition(question.predicate))
    parameters = {
        "vector": halfvec_literal(question.vector),
        "namespace_id": scope.namespace_id,
        "model_id": question.model_id,
        "limit": limit,
        **(question.predicate.parameters if question.predicate else {}),
    }
    while True:
        # Not prepared: the index is of one namespace, which the planner must see.
        rows = fetch(statement, {**parameters, "passages": passages}, prepared=False)
        if len(rows) == limit:
            return [ArmHit(memory_id, score, rank) for rank, (memory_id, score, _) in enumerate(rows, start=1)]
        if not rows or rows[0][2] < passages:
            return None
        # Many of the nearest passages are of the same memories: look further.
        passages *= 4


def _is_met_often(scope: Scope, predicate: SqlCondition, *, passages: int) -> bool:
    """Whether so many memories meet the predicate that a search meets enough of them among the LOOKED_AT nearest."""
    enough = max(LOOKED_AT // 2, 2 * passages * count_memories(scope) // LOOKED_AT)
    [(met,)] = fetch(
        _COUNT.format(condition=predicate.sql),
        {"namespace_id": scope.namespace_id, "enough": enough, **predicate.parameters},
        prepared=False,
    )
    return bool(met >= enough)


def _condition(predicate: SqlCondition | None) -> str:
    return _CONDITION.format(condition=predicate.sql) if predicate else ""
