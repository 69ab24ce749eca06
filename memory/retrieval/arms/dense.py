"""Searches by meaning: cosine similarity, exact, but in large namespaces that have an HNSW index."""

from __future__ import annotations

import uuid

from memory.models.sql import fetch
from memory.retrieval import hnsw
from memory.retrieval.arms import ArmHit, ArmStanding, near_graph
from memory.retrieval.predicate import narrowing
from memory.retrieval.question import Question
from memory.retrieval.size import is_large
from memory.text.vectors import halfvec_literal
from memory.types import Scope

_NEAREST = """
WITH passages AS MATERIALIZED (
    SELECT memory_id, embedding <=> %(vector)s::halfvec AS distance
    FROM memory_memoryvector
    WHERE namespace_id = %(namespace_id)s AND model_id = %(model_id)s AND searchable {narrowing}
      AND (%(preferences)s::bool OR memory_id NOT IN (
          SELECT id FROM memory_memory WHERE namespace_id = %(namespace_id)s AND is_preference))
    ORDER BY embedding <=> %(vector)s::halfvec, memory_id DESC
    LIMIT %(passages)s
)
SELECT memory_id::text, 1 - min(distance), (SELECT count(*) FROM passages)
FROM passages GROUP BY memory_id ORDER BY min(distance)::float4, memory_id DESC LIMIT %(limit)s
"""

# Passages that are looked at for each memory wanted: more only where the nearest are of few memories.
_PASSAGES_EACH = 2


def search(scope: Scope, question: Question, *, limit: int, preferences: bool = True) -> list[ArmHit]:
    """Returns the `limit` nearest searchable memories that meet the predicate, or all if they are fewer; 1 − cosine
    distance (−1..1).

    A memory is as near as its nearest passage. Tenant and predicate are part of the search: no other row is looked at,
    so none can be crowded out; nor, without `preferences`, by these, but in a large namespace. Scores are exact always;
    in a large namespace that has an HNSW index (`near_graph`) a few of the nearest may be missing.
    """
    if is_large(scope) and hnsw.is_ready(scope, question.model_id):
        hits = near_graph.search(scope, question, limit=limit)
        if hits is not None:
            return hits
    return exact(scope, question, limit=limit, preferences=preferences)


def exact(scope: Scope, question: Question, *, limit: int, preferences: bool = True) -> list[ArmHit]:
    """Searches like `search`, by comparing every vector of the namespace that the predicate leaves."""
    parameters = {
        "vector": halfvec_literal(question.vector),
        "namespace_id": scope.namespace_id,
        "model_id": question.model_id,
        "preferences": preferences,
        "limit": limit,
        **(question.predicate.parameters if question.predicate else {}),
    }
    statement = _NEAREST.format(narrowing=narrowing(question.predicate, "memory_id"))
    passages = limit * _PASSAGES_EACH
    while True:
        # Exact search has one plan for every size of tenant, but not for every filter.
        rows = fetch(statement, {**parameters, "passages": passages}, prepared=question.predicate is None)
        if len(rows) == limit or not rows or rows[0][2] < passages:
            return [ArmHit(memory_id, score, rank) for rank, (memory_id, score, _) in enumerate(rows, start=1)]
        # Many of the nearest passages are of the same memories: look further.
        passages *= 4


_STANDING = """
WITH near AS (
    SELECT memory_id, min(embedding <=> %(vector)s::halfvec) AS distance FROM memory_memoryvector
    WHERE namespace_id = %(namespace_id)s AND model_id = %(model_id)s AND searchable {narrowing}
    GROUP BY memory_id
)
SELECT 1 - own.distance, 1 + count(*) FILTER (WHERE near.distance < own.distance), count(*)
FROM near own, near WHERE own.memory_id = %(memory_id)s::uuid GROUP BY own.distance
"""


def rank_of(scope: Scope, question: Question, memory_id: uuid.UUID) -> ArmStanding | None:
    """Returns where a memory stands among all that have a vector and meet the predicate; None if it is not one of
    them."""
    parameters = {
        "vector": halfvec_literal(question.vector),
        "namespace_id": scope.namespace_id,
        "model_id": question.model_id,
        "memory_id": memory_id,
        **(question.predicate.parameters if question.predicate else {}),
    }
    statement = _STANDING.format(narrowing=narrowing(question.predicate, "memory_id"))
    rows = fetch(statement, parameters, prepared=False)
    return ArmStanding(*rows[0]) if rows else None
