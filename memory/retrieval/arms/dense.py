"""Search by meaning: cosine similarity, exact in small namespaces, by cells in large ones."""

from __future__ import annotations

import uuid
from collections.abc import Sequence

from memory.models.sql import search as run
from memory.retrieval.arms import ArmHit, near_cells
from memory.retrieval.question import Question
from memory.retrieval.size import is_large
from memory.text.vectors import halfvec_literal
from memory.types import Scope

_NEAREST = """
WITH nearest AS MATERIALIZED (
    SELECT memory_id, embedding <=> %(vector)s::halfvec AS distance
    FROM memory_memoryvector
    WHERE namespace_id = %(namespace_id)s AND model_id = %(model_id)s AND searchable
    ORDER BY embedding <=> %(vector)s::halfvec
    LIMIT %(limit)s
)
SELECT memory_id, 1 - distance, row_number() OVER (ORDER BY distance) FROM nearest
UNION ALL
SELECT memory_id, 1 - (embedding <=> %(vector)s::halfvec), NULL
FROM memory_memoryvector
WHERE namespace_id = %(namespace_id)s AND model_id = %(model_id)s AND searchable
  AND memory_id = ANY(%(also)s::uuid[]) AND memory_id NOT IN (SELECT memory_id FROM nearest)
"""


def search(scope: Scope, question: Question, *, limit: int, also: Sequence[uuid.UUID]) -> list[ArmHit]:
    """The `limit` nearest searchable memories, and the scores of those named in `also`; 1 − cosine distance (−1..1).

    The tenant filter is part of the search: no row of another namespace is looked at, so none can be crowded out.
    Scores are exact always; in a large namespace a few of the nearest may be missing (`near_cells`). Raises
    SearchTimedOut.
    """
    if is_large(scope):
        return near_cells.search(scope, question, limit=limit, also=also)
    return exact(scope, question, limit=limit, also=also)


def exact(scope: Scope, question: Question, *, limit: int, also: Sequence[uuid.UUID]) -> list[ArmHit]:
    """As `search`, by comparing every vector of the namespace. Raises SearchTimedOut."""
    parameters = {
        "vector": halfvec_literal(question.vector),
        "namespace_id": scope.namespace_id,
        "model_id": question.model_id,
        "limit": limit,
        "also": list(also),
    }
    # Exact search has one plan for every size of tenant.
    return [ArmHit(*row) for row in run(_NEAREST, parameters, prepared=True)]
