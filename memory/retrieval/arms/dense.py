"""Searches by meaning (cosine similarity): exactly, or along a pgvector HNSW index in a large namespace that has one.

An index holds only the searchable vectors of one namespace, so other tenants' vectors cannot crowd out results. Each
write updates it, so a memory can be found as soon as it is written.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from memory.models.sql import fetch
from memory.retrieval import hnsw
from memory.retrieval.arms import ArmHit, ArmStanding
from memory.retrieval.predicate import SqlCondition, narrowing
from memory.retrieval.question import Question
from memory.retrieval.size import count_memories, is_large
from memory.text.vectors import halfvec_literal
from memory.types import Scope

Row = TypeVar("Row")

# The number of passages to read for each memory wanted; more are read only if the nearest belong to few memories.
_PASSAGES_EACH = 2
# The size of the candidate list of a search along an index (hnsw.ef_search), chosen by recall@10 in bench/scale.py.
IN_VIEW = 400
# The limit on vectors that a filtered search along an index reads (hnsw.max_scan_tuples), which is pgvector's default.
LOOKED_AT = 20_000

# A later step of a scan in relaxed order may return nearer vectors; the statement sorts all of them at the end.
_SETTINGS = f"""
SELECT set_config('hnsw.ef_search', '{IN_VIEW}', false), set_config('hnsw.iterative_scan', 'relaxed_order', false),
       set_config('hnsw.max_scan_tuples', '{LOOKED_AT}', false)
"""

_EXACT = """
    SELECT memory_id, embedding <=> %(vector)s::halfvec AS distance
    FROM memory_memoryvector
    WHERE namespace_id = %(namespace_id)s AND model_id = %(model_id)s AND searchable {narrowing}
      AND (%(preferences)s::bool OR memory_id NOT IN (
          SELECT id FROM memory_memory WHERE namespace_id = %(namespace_id)s AND is_preference))
    ORDER BY embedding <=> %(vector)s::halfvec, memory_id DESC
    LIMIT {passages}
"""
# The number of dimensions is part of the index's expression. The condition is a subquery that is evaluated for each
# vector that the scan meets, because a join would collect all matching memories before the first comparison.
_ALONG_INDEX = """
    SELECT v.memory_id, v.embedding::halfvec({dimensions}) <=> %(vector)s::halfvec({dimensions}) AS distance
    FROM memory_memoryvector v
    WHERE v.namespace_id = %(namespace_id)s AND v.model_id = %(model_id)s AND v.searchable {condition}
    ORDER BY v.embedding::halfvec({dimensions}) <=> %(vector)s::halfvec({dimensions})
    LIMIT {passages}
"""
_CONDITION = """AND (
    SELECT {condition} FROM memory_memory m WHERE m.namespace_id = %(namespace_id)s AND m.id = v.memory_id
)"""
_NEAREST = """
{name}_passages AS MATERIALIZED ({passages}), {name} AS MATERIALIZED (
    SELECT memory_id, (1 - min(distance)) * %(length)s::float8 AS cosine FROM {name}_passages
    GROUP BY memory_id ORDER BY min(distance)::float4, memory_id DESC LIMIT {limit}
)"""

_FOUND = """
WITH {nearest}
SELECT (SELECT array_agg(memory_id::text ORDER BY cosine::float4 DESC, memory_id DESC) FROM near),
       (SELECT array_agg(cosine ORDER BY cosine::float4 DESC, memory_id DESC) FROM near),
       (SELECT count(*) FROM near_passages)
"""

_COUNT = """
SELECT count(*) FROM (
    SELECT FROM memory_memory m WHERE m.namespace_id = %(namespace_id)s AND {condition} LIMIT %(enough)s
) AS met
"""


@dataclass(frozen=True, slots=True)
class Nearest:
    """Describes a search for the `limit` nearest memories that meet a predicate.

    `name`: its name in the statement. `passages`: the number of nearest passages that are read. `along_index`: whether
    an HNSW index is used.
    """

    name: str
    predicate: SqlCondition | None
    limit: int
    passages: int
    along_index: bool

    def expressions(self, dimensions: int) -> str:
        """Returns the SQL of the search: common table expressions `name` (memory_id, cosine) and `name_passages`.

        They take the parameters of `parameters_of` and of the predicate.
        """
        if self.along_index:
            condition = _CONDITION.format(condition=self.predicate.sql) if self.predicate else ""
            passages = _ALONG_INDEX.format(dimensions=dimensions, condition=condition, passages=self.passages)
        else:
            passages = _EXACT.format(narrowing=narrowing(self.predicate, "memory_id"), passages=self.passages)
        return _NEAREST.format(name=self.name, passages=passages, limit=self.limit)

    def go_on(self, memories: int, passages: int) -> Nearest:
        """Returns the search to run next, which is itself if it was complete.

        `memories` and `passages`: the numbers of memories and passages that it found.
        """
        if memories == self.limit:
            return self
        if passages == self.passages:
            # Many of the nearest passages belong to the same memories, so more passages are read.
            return replace(self, passages=4 * self.passages)
        # A search along an index that found too few passages is repeated exactly.
        return replace(self, along_index=False)


def nearest(
    scope: Scope, question: Question, *, limit: int, name: str = "near", predicate: SqlCondition | None = None
) -> Nearest:
    """Chooses how to search: along an index if there is one, unless the predicate leaves so few memories that comparing
    all of them is faster."""
    passages = limit * _PASSAGES_EACH
    along_index = (
        is_large(scope)
        and hnsw.is_ready(scope, question.model_id)
        and (predicate is None or _is_met_often(scope, predicate, passages=passages))
    )
    return Nearest(name, predicate, limit, passages, along_index)


def run(
    searches: Sequence[Nearest], fetch_row: Callable[[Sequence[Nearest]], tuple[Row, Sequence[tuple[int, int]]]]
) -> Row:
    """Runs a statement with these searches until all of them are complete, and returns its row.

    `fetch_row` runs it, and returns the row and for each search the numbers of memories and of passages found.
    """
    while True:
        if any(search.along_index for search in searches):
            fetch(_SETTINGS, {}, prepared=True)
        row, found = fetch_row(searches)
        further = [search.go_on(*counts) for search, counts in zip(searches, found, strict=True)]
        if further == list(searches):
            return row
        searches = further


def parameters_of(scope: Scope, question: Question, *, preferences: bool) -> dict[str, Any]:
    """Returns the parameters of searches by meaning; without `preferences`, exact ones leave preferences out."""
    return {
        "vector": halfvec_literal(question.vector),
        "length": question.length,
        "namespace_id": scope.namespace_id,
        "model_id": question.model_id,
        "preferences": preferences,
    }


def search(scope: Scope, question: Question, *, limit: int, preferences: bool = True) -> list[ArmHit]:
    """Returns the `limit` nearest searchable memories that meet the predicate, or all if there are fewer.

    A score is 1 − the cosine distance (−1..1) of the memory's nearest passage, and always exact. Tenant and predicate
    are part of the search, so other rows cannot crowd out results. Without `preferences`, an exact search also leaves
    preferences out. A search along an index may miss a few of the nearest.
    """
    chosen = nearest(scope, question, limit=limit, predicate=question.predicate)
    return _search(scope, question, chosen, preferences=preferences)


def exact(scope: Scope, question: Question, *, limit: int, preferences: bool = True) -> list[ArmHit]:
    """Searches like `search`, but always compares every vector of the namespace that the predicate leaves."""
    chosen = Nearest("near", question.predicate, limit, limit * _PASSAGES_EACH, along_index=False)
    return _search(scope, question, chosen, preferences=preferences)


def _search(scope: Scope, question: Question, chosen: Nearest, *, preferences: bool) -> list[ArmHit]:
    parameters = parameters_of(scope, question, preferences=preferences)
    if chosen.predicate:
        parameters |= chosen.predicate.parameters

    def fetch_row(searches: Sequence[Nearest]) -> tuple[tuple[Any, ...], list[tuple[int, int]]]:
        [one] = searches
        statement = _FOUND.format(nearest=one.expressions(len(question.vector)))
        [row] = fetch(statement, parameters, prepared=is_preparable(one))
        return row, [(len(row[0] or ()), row[2])]

    ids, cosines, _ = run([chosen], fetch_row)
    ranked = enumerate(zip(ids or (), cosines or (), strict=True), start=1)
    return [ArmHit(memory_id, score, rank) for rank, (memory_id, score) in ranked]


def is_preparable(search: Nearest) -> bool:
    """Tells whether the search may be a prepared statement, with one plan for all namespaces.

    A filter needs a separate plan, and the planner uses a namespace's index only if it sees the namespace's id.
    """
    return search.predicate is None and not search.along_index


def _is_met_often(scope: Scope, predicate: SqlCondition, *, passages: int) -> bool:
    """Tells whether enough memories meet the predicate for a search along the index, which reads LOOKED_AT vectors."""
    enough = max(LOOKED_AT // 2, 2 * passages * count_memories(scope) // LOOKED_AT)
    [(met,)] = fetch(
        _COUNT.format(condition=predicate.sql),
        {"namespace_id": scope.namespace_id, "enough": enough, **predicate.parameters},
        prepared=False,
    )
    return bool(met >= enough)


_STANDING = """
WITH near AS (
    SELECT memory_id, min(embedding <=> %(vector)s::halfvec) AS distance FROM memory_memoryvector
    WHERE namespace_id = %(namespace_id)s AND model_id = %(model_id)s AND searchable {narrowing}
    GROUP BY memory_id
)
SELECT (1 - own.distance) * %(length)s::float8, 1 + count(*) FILTER (WHERE near.distance < own.distance), count(*)
FROM near own, near WHERE own.memory_id = %(memory_id)s::uuid GROUP BY own.distance
"""


def rank_of(scope: Scope, question: Question, memory_id: uuid.UUID) -> ArmStanding | None:
    """Returns the standing of a memory among all that have a vector and meet the predicate; None if it does not."""
    parameters = {
        **parameters_of(scope, question, preferences=True),
        "memory_id": memory_id,
        **(question.predicate.parameters if question.predicate else {}),
    }
    statement = _STANDING.format(narrowing=narrowing(question.predicate, "memory_id"))
    rows = fetch(statement, parameters, prepared=False)
    return ArmStanding(*rows[0]) if rows else None
