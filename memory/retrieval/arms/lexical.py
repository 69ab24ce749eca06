"""Search by words: BM25 over the postings table, of all words in small namespaces, of the rarer ones first in large."""

from __future__ import annotations

import uuid
from typing import Any

from memory.enums import MemoryState
from memory.models.sql import fetch
from memory.retrieval.arms import ArmHit, ArmStanding, WordHits, rare_terms
from memory.retrieval.arms.bm25 import weight
from memory.retrieval.predicate import narrowing
from memory.retrieval.question import Question
from memory.retrieval.size import is_large
from memory.text.question_frames import FRAME_TERMS, TERM_WORTH
from memory.types import Scope

# Preferences say again what turns say: how rare a word is, and how long a memory, they leave as it was without them.
_STATISTICS = f"""
WITH preferences AS MATERIALIZED (
    SELECT id, length FROM memory_memory
    WHERE namespace_id = %(namespace_id)s AND is_preference AND state = '{MemoryState.ACTIVE.value}'
), counted AS (
    SELECT s.memories - p.memories AS memories, s.terms - p.terms AS terms
    FROM (SELECT coalesce(sum(memories), 0) AS memories, coalesce(sum(terms), 0) AS terms
          FROM memory_namespacestat WHERE namespace_id = %(namespace_id)s) AS s,
         (SELECT count(*) AS memories, coalesce(sum(length), 0) AS terms FROM preferences) AS p
), corpus AS (
    SELECT greatest(memories, 1)::float8 AS memories, greatest(terms::float8 / greatest(memories, 1), 1) AS mean_length
    FROM counted
), hits AS MATERIALIZED (
    SELECT memory_id, term, frequency, length, memory_id IN (SELECT id FROM preferences) AS is_preference
    FROM memory_posting
    WHERE namespace_id = %(namespace_id)s AND term = ANY(%(terms)s::text[])
), held AS (
    SELECT term, count(*) FILTER (WHERE NOT is_preference) AS holding FROM hits GROUP BY term
), idf AS (
    SELECT term, holding,
           ln(1 + (c.memories - least(holding, c.memories) + 0.5) / (holding + 0.5))
           * CASE WHEN term = ANY(%(framing)s::text[]) THEN {TERM_WORTH} ELSE 1 END AS idf
    FROM held, corpus c
)
"""  # noqa: S608 - put together of constants
_WEIGHT = weight("i.idf", "h", "c.mean_length")
# Equals to seven digits are equal: sums of the same numbers in another order are not the same to sixteen.
_SCORED = f"""
SELECT h.memory_id::text AS memory_id, sum({_WEIGHT}) AS score
FROM hits h JOIN idf i ON i.term = h.term {{narrowing}}, corpus c
WHERE %(preferences)s::bool OR NOT h.is_preference
GROUP BY h.memory_id ORDER BY sum({_WEIGHT})::float4 DESC, h.memory_id DESC
LIMIT %(limit)s
"""  # noqa: S608 - put together of constants
# The scores, then in rows of their own how many memories there are and how many hold each term.
_COUNTED = f"""
{_STATISTICS}
SELECT * FROM (
    SELECT memory_id AS found, score, NULL::float8 AS memories FROM ({_SCORED}) AS scored
    UNION ALL SELECT i.term, i.holding, c.memories FROM corpus c LEFT JOIN idf i ON i.holding > 0
) AS rows
ORDER BY memories NULLS FIRST, score::float4 DESC, found DESC
"""  # noqa: S608 - put together of constants


def search(scope: Scope, question: Question, *, limit: int) -> WordHits:
    """The `limit` memories with the highest BM25 score (≥ 0) under the namespace's own term statistics, and these.
    Words that questions are made of, whatever they are about (`text/question_frames.py`), count half.

    A predicate narrows which memories are scored; how rare a term is, the whole namespace says, without its
    preferences, which only questions that search them find. In a large namespace without a predicate, common words rank
    what rarer ones find (`rare_terms`), and preferences count as all memories do.
    """
    if not question.terms:
        return WordHits([], 0.0, {})
    if question.predicate is None and is_large(scope):
        return rare_terms.search(scope, question, limit=limit)
    return exact(scope, question, limit=limit)


def exact(scope: Scope, question: Question, *, limit: int) -> WordHits:
    """As `search`, by scoring every memory that holds one of the terms."""
    # Left to the planner, each posting of a common word is a look-up of its memory: 760 ms instead of 240 ms where one
    # is in all of 100,000 memories.
    statement = _COUNTED.format(narrowing=narrowing(question.predicate, "h.memory_id", gathered=True))
    # Without a filter its plan is the same for every tenant: the postings' key, then hashes.
    rows = fetch(statement, _parameters(scope, question, limit), prepared=question.predicate is None)
    scored = [(found, score) for found, score, memories in rows if memories is None]
    counted = [row for row in rows if row[2] is not None]
    return WordHits(
        hits=[ArmHit(memory_id, score, rank) for rank, (memory_id, score) in enumerate(scored, start=1)],
        memories=counted[0][2],
        holding={term: int(holding) for term, holding, _ in counted if term is not None},
    )


_STANDING = """
SELECT score, place, found FROM (
    SELECT memory_id, score, row_number() OVER (ORDER BY score::float4 DESC, memory_id DESC) AS place,
           count(*) OVER () AS found
    FROM ({scored}) AS scored
) AS ranked WHERE memory_id = %(memory_id)s
"""


def rank_of(scope: Scope, question: Question, memory_id: uuid.UUID) -> ArmStanding | None:
    """Where a memory stands among all that share a word with the question and meet the predicate; None if it shares
    none."""
    if not question.terms:
        return None
    scored = (_STATISTICS + _SCORED).format(narrowing=narrowing(question.predicate, "h.memory_id", gathered=True))
    parameters = _parameters(scope, question, None) | {"memory_id": str(memory_id)}
    rows = fetch(_STANDING.format(scored=scored), parameters, prepared=False)
    return ArmStanding(*rows[0]) if rows else None


def _parameters(scope: Scope, question: Question, limit: int | None) -> dict[str, Any]:
    return {
        "namespace_id": scope.namespace_id,
        "terms": list(question.terms),
        "framing": [term for term in question.terms if term in FRAME_TERMS],
        "preferences": question.searches_preferences,
        "limit": limit,
        **(question.predicate.parameters if question.predicate else {}),
    }
