"""Finds memories by statements that hold no longer but held at the time that is asked about."""

from __future__ import annotations

from memory.enums import MemoryState
from memory.models.sql import fetch
from memory.retrieval.question import Question
from memory.types import Scope

# What left search is not in the postings: its terms weigh what BM25 gives a term that a text of mean length says once.
_MATCHES = """
WITH gone AS MATERIALIZED (
    SELECT r.memory_id, r.terms FROM memory_retiredstatement r
    WHERE r.namespace_id = %(namespace_id)s AND r.terms && %(terms)s::varchar[]
      AND (r.withdrawn_at IS NULL OR r.withdrawn_at > %(as_of)s::timestamptz)
      AND (r.retired_at > %(as_of)s::timestamptz
           OR r.valid_to > coalesce(%(valid_at)s::timestamptz, %(as_of)s::timestamptz))
), preferences AS MATERIALIZED (
    SELECT id FROM memory_memory WHERE namespace_id = %(namespace_id)s AND is_preference AND state = %(active)s
), corpus AS (
    SELECT greatest(sum(memories) - (SELECT count(*) FROM preferences), 1)::float8 AS memories
    FROM memory_namespacestat WHERE namespace_id = %(namespace_id)s
), idf AS (
    SELECT term, ln(1 + (c.memories - least(count(*), c.memories) + 0.5) / (count(*) + 0.5)) AS idf
    FROM memory_posting, corpus c WHERE namespace_id = %(namespace_id)s AND term = ANY(%(terms)s::text[])
      AND memory_id NOT IN (SELECT id FROM preferences)
    GROUP BY term, c.memories
), asked AS (
    SELECT term, coalesce(i.idf, ln(1 + c.memories)) AS idf
    FROM unnest(%(terms)s::text[]) AS t (term) LEFT JOIN idf i USING (term), corpus c
)
SELECT g.memory_id::text, max((SELECT sum(a.idf) FROM asked a WHERE a.term = ANY(g.terms))) AS score
FROM gone g GROUP BY g.memory_id ORDER BY score DESC, g.memory_id DESC LIMIT %(limit)s
"""


def matches(scope: Scope, question: Question, *, limit: int) -> dict[str, float]:
    """The `limit` memories with a statement, out of search today, that held then and shares words with the question;
    as BM25 scores (≥ 0). None for a question about what holds now."""
    if not question.terms or (question.as_of is None and question.valid_at is None):
        return {}
    parameters = {
        "namespace_id": scope.namespace_id,
        "terms": question.terms,
        "as_of": question.as_of,
        "valid_at": question.valid_at,
        "active": MemoryState.ACTIVE.value,
        "limit": limit,
    }
    return dict(fetch(_MATCHES, parameters, prepared=False))
