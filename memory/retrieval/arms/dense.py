"""Search by meaning: exact cosine similarity over the namespace's vectors."""

from __future__ import annotations

from memory.models.sql import fetch
from memory.retrieval.arms import ArmHit
from memory.retrieval.question import Question
from memory.text.vectors import halfvec_literal
from memory.types import Scope

_NEAREST = """
SELECT memory_id, 1 - (embedding <=> %(vector)s::halfvec) AS similarity
FROM memory_memoryvector
WHERE namespace_id = %(namespace_id)s AND model_id = %(model_id)s AND searchable
ORDER BY embedding <=> %(vector)s::halfvec
LIMIT %(limit)s
"""


def search(scope: Scope, question: Question, *, limit: int) -> list[ArmHit]:
    """The `limit` nearest searchable memories; the score is 1 − cosine distance (−1..1).

    The tenant filter is part of the search: no row of another namespace is looked at, so none can be crowded out.
    """
    parameters = {
        "vector": halfvec_literal(question.vector),
        "namespace_id": scope.namespace_id,
        "model_id": question.model_id,
        "limit": limit,
    }
    return [ArmHit(*row) for row in fetch(_NEAREST, parameters, prepared=False)]
