"""Searches by meaning: cosine similarity, exact, or along an HNSW index of pgvector in a large namespace that has one.

The index holds the searchable vectors of one namespace and nothing else, so no other tenant's vector is in its way. It
is part of each write, so a memory is found as soon as it is written.
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

# Passages that are looked at for each memory wanted: more only where the nearest are of few memories.
_PASSAGES_EACH = 2
# Vectors that a search along an index keeps in view on its way. Measured by bench/scale.py, recall@10.
IN_VIEW = 400
# Vectors that such a search with a filter looks at before it gives up; pgvector's own limit.
LOOKED_AT = 20_000

# Relaxed: what a later step of the scan finds may be nearer; all of it is put in order at the end.
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
# The length of a vector is part of the index's expression. The condition is asked of each vector on the way: a join
# would gather all that meet it before the first one is compared.
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
    """Describes a search for the `limit` memories nearest to a question that meet a predicate, `name` in its statement:
    through so many `passages`, exactly or `along_index`."""

    name: str
    predicate: SqlCondition | None
    limit: int
    passages: int
    along_index: bool

    def expressions(self, dimensions: int) -> str:
        """Writes the search as common table expressions: `name` (memory_id, cosine) and `name_passages`. They take the
        parameters of `parameters_of`, and those of the predicate."""
        if self.along_index:
            condition = _CONDITION.format(condition=self.predicate.sql) if self.predicate else ""
            passages = _ALONG_INDEX.format(dimensions=dimensions, condition=condition, passages=self.passages)
        else:
            passages = _EXACT.format(narrowing=narrowing(self.predicate, "memory_id"), passages=self.passages)
        return _NEAREST.format(name=self.name, passages=passages, limit=self.limit)

    def go_on(self, memories: int, passages: int) -> Nearest:
        """Returns itself if the search was complete, or else the search to run instead; it has found so many `memories`
        in so many `passages`."""
        if memories == self.limit:
            return self
        if passages == self.passages:
            # Many of the nearest passages are of the same memories: look further.
            return replace(self, passages=4 * self.passages)
        # Along an index what the search lacks may be anywhere.
        return replace(self, along_index=False)


def nearest(
    scope: Scope, question: Question, *, limit: int, name: str = "near", predicate: SqlCondition | None = None
) -> Nearest:
    """Chooses how to find the nearest memories: along an index, unless the namespace has none or so few memories meet
    the predicate that comparing all of them is quicker."""
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
    """Runs a statement with these searches until each of them is complete, and returns its row.

    `fetch_row` returns the row, and how many memories in how many passages each search has found.
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
    """Returns the parameters of searches by meaning; without `preferences` they find none."""
    return {
        "vector": halfvec_literal(question.vector),
        "length": question.length,
        "namespace_id": scope.namespace_id,
        "model_id": question.model_id,
        "preferences": preferences,
    }


def search(scope: Scope, question: Question, *, limit: int, preferences: bool = True) -> list[ArmHit]:
    """Returns the `limit` nearest searchable memories that meet the predicate, or all if they are fewer; 1 − cosine
    distance (−1..1).

    A memory is as near as its nearest passage. Tenant and predicate are part of the search: no other row is looked at,
    so none can be crowded out; nor, without `preferences`, by these, but along an index. Scores are exact always;
    along an index a few of the nearest may be missing.
    """
    chosen = nearest(scope, question, limit=limit, predicate=question.predicate)
    return _search(scope, question, chosen, preferences=preferences)


def exact(scope: Scope, question: Question, *, limit: int, preferences: bool = True) -> list[ArmHit]:
    """Searches like `search`, by comparing every vector of the namespace that the predicate leaves."""
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
    """Tells whether one plan is right for all: an exact search has one for every size of tenant, but not for every
    filter; an index is of one namespace, which the planner must see."""
    return search.predicate is None and not search.along_index


def _is_met_often(scope: Scope, predicate: SqlCondition, *, passages: int) -> bool:
    """Tells whether so many memories meet the predicate that a search meets enough of them among the LOOKED_AT
    nearest."""
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
    """Returns where a memory stands among all that have a vector and meet the predicate; None if it is not one of
    them."""
    parameters = {
        **parameters_of(scope, question, preferences=True),
        "memory_id": memory_id,
        **(question.predicate.parameters if question.predicate else {}),
    }
    statement = _STANDING.format(narrowing=narrowing(question.predicate, "memory_id"))
    rows = fetch(statement, parameters, prepared=False)
    return ArmStanding(*rows[0]) if rows else None
