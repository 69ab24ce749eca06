"""Search by words: BM25 over the postings table."""

from __future__ import annotations

import uuid
from typing import Any

from memory.models.sql import fetch
from memory.retrieval.arms import ArmHit, Standing
from memory.retrieval.predicate import narrowing
from memory.retrieval.question import Question
from memory.types import Scope

# Robertson et al. 1995. Lower than the usual 1.2 and 0.75: turns are short, and a word said twice says little more.
K1 = 0.9
B = 0.6

_BM25 = """
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
SELECT h.memory_id,
       sum(i.idf * h.frequency * (%(k1)s::float8 + 1)
           / (h.frequency + %(k1)s::float8 * (1 - %(b)s::float8 + %(b)s::float8 * h.length / c.mean_length))) AS score
FROM hits h JOIN idf i ON i.term = h.term {narrowing}, corpus c
GROUP BY h.memory_id ORDER BY score DESC, h.memory_id DESC
LIMIT %(limit)s
"""


def search(scope: Scope, question: Question, *, limit: int) -> list[ArmHit]:
    """The `limit` memories with the highest BM25 score (≥ 0) under the namespace's own term statistics.

    A predicate narrows which memories are scored; how rare a term is, the whole namespace says.
    """
    if not question.terms:
        return []
    parameters = _parameters(scope, question, limit)
    # Left to the planner, each posting of a common word is a look-up of its memory: 760 ms instead of 240 ms where one
    # is in all of 100,000 memories.
    statement = _BM25.format(narrowing=narrowing(question.predicate, "h.memory_id", gathered=True))
    # Without a filter its plan is the same for every tenant: the postings' key, then hashes.
    rows = fetch(statement, parameters, prepared=question.predicate is None)
    return [ArmHit(memory_id, score, rank) for rank, (memory_id, score) in enumerate(rows, start=1)]


_STANDING = """
SELECT score, place, found FROM (
    SELECT memory_id, score, row_number() OVER (ORDER BY score DESC, memory_id DESC) AS place, count(*) OVER () AS found
    FROM ({scored}) AS scored
) AS ranked WHERE memory_id = %(memory_id)s::uuid
"""


def standing(scope: Scope, question: Question, memory_id: uuid.UUID) -> Standing | None:
    """Where a memory stands among all that share a word with the question and meet the predicate; None if it shares
    none."""
    if not question.terms:
        return None
    scored = _BM25.format(narrowing=narrowing(question.predicate, "h.memory_id", gathered=True))
    parameters = _parameters(scope, question, None) | {"memory_id": memory_id}
    rows = fetch(_STANDING.format(scored=scored), parameters, prepared=False)
    return Standing(*rows[0]) if rows else None


def _parameters(scope: Scope, question: Question, limit: int | None) -> dict[str, Any]:
    return {
        "namespace_id": scope.namespace_id,
        "terms": list(question.terms),
        "k1": K1,
        "b": B,
        "limit": limit,
        **(question.predicate.parameters if question.predicate else {}),
    }
