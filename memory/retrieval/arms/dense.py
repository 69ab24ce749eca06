"""Search by meaning: exact cosine similarity over the namespace's vectors."""

from __future__ import annotations

import uuid
from collections.abc import Sequence

from memory.models.sql import fetch
from memory.retrieval.arms import ArmHit
from memory.retrieval.predicate import narrowing
from memory.retrieval.question import Question
from memory.text.vectors import halfvec_literal
from memory.types import Scope

_NEAREST = """
WITH nearest AS MATERIALIZED (
    SELECT memory_id, embedding <=> %(vector)s::halfvec AS distance
    FROM memory_memoryvector
    WHERE namespace_id = %(namespace_id)s AND model_id = %(model_id)s AND searchable {narrowing}
    ORDER BY embedding <=> %(vector)s::halfvec
    LIMIT %(limit)s
)
SELECT memory_id, 1 - distance, row_number() OVER (ORDER BY distance) FROM nearest
UNION ALL
SELECT memory_id, 1 - (embedding <=> %(vector)s::halfvec), NULL
FROM memory_memoryvector
WHERE namespace_id = %(namespace_id)s AND model_id = %(model_id)s AND searchable
  {narrowing} AND memory_id = ANY(%(also)s::uuid[]) AND memory_id NOT IN (SELECT memory_id FROM nearest)
"""


def search(scope: Scope, question: Question, *, limit: int, also: Sequence[uuid.UUID]) -> list[ArmHit]:
    """The `limit` nearest searchable memories, and the scores of those named in `also`; 1 − cosine distance (−1..1).

    Tenant and predicate are part of the search: no other row is looked at, so none can be crowded out.
    """
    parameters = {
        "vector": halfvec_literal(question.vector),
        "namespace_id": scope.namespace_id,
        "model_id": question.model_id,
        "limit": limit,
        "also": list(also),
        **(question.predicate.parameters if question.predicate else {}),
    }
    statement = _NEAREST.format(narrowing=narrowing(question.predicate, "memory_id"))
    # Exact search has one plan for every size of tenant, but not for every filter; with an approximate index that would
    # no longer hold.
    return [ArmHit(*row) for row in fetch(statement, parameters, prepared=question.predicate is None)]
