"""Search by words: BM25 over the postings table, of all words in small namespaces, of the rarer ones first in large."""

from __future__ import annotations

from memory.models.sql import search as run
from memory.retrieval.arms import ArmHit, rare_terms
from memory.retrieval.arms.bm25 import weight
from memory.retrieval.question import Question
from memory.retrieval.size import is_large
from memory.types import Scope

_BM25 = f"""
WITH corpus AS (
    SELECT greatest(sum(memories), 1)::float8 AS memories,
           greatest(sum(terms)::float8 / greatest(sum(memories), 1), 1) AS mean_length
    FROM memory_namespacestat WHERE namespace_id = %(namespace_id)s
), hits AS MATERIALIZED (
    SELECT memory_id, term, frequency, length FROM memory_posting
    WHERE namespace_id = %(namespace_id)s AND term = ANY(%(terms)s::text[])
), idf AS (
    SELECT term, ln(1 + (c.memories - least(count(*), c.memories) + 0.5) / (count(*) + 0.5)) AS idf
    FROM hits, corpus c GROUP BY term, c.memories
)
SELECT h.memory_id, sum({weight("i.idf", "h", "c.mean_length")}) AS score
FROM hits h JOIN idf i USING (term), corpus c
GROUP BY h.memory_id ORDER BY score DESC, h.memory_id DESC
LIMIT %(limit)s
"""  # noqa: S608 - put together of constants


def search(scope: Scope, question: Question, *, limit: int) -> list[ArmHit]:
    """The `limit` memories with the highest BM25 score (≥ 0) under the namespace's own term statistics.

    In a large namespace common words rank what rarer ones find (`rare_terms`). Raises SearchTimedOut.
    """
    if not question.terms:
        return []
    if is_large(scope):
        return rare_terms.search(scope, question, limit=limit)
    return exact(scope, question, limit=limit)


def exact(scope: Scope, question: Question, *, limit: int) -> list[ArmHit]:
    """As `search`, by reading every posting of the question's terms. Raises SearchTimedOut."""
    parameters = {
        "namespace_id": scope.namespace_id,
        "terms": list(question.terms),
        "limit": limit,
    }
    # Its plan is the same for every tenant: the postings' key, then hashes.
    rows = run(_BM25, parameters, prepared=True)
    return [ArmHit(memory_id, score, rank) for rank, (memory_id, score) in enumerate(rows, start=1)]
