"""Searches by words, with BM25 over postings: by all words in small namespaces, by rare ones first in large ones."""

from __future__ import annotations

import uuid
from typing import Any

from memory.enums import MemoryState
from memory.models.sql import fetch
from memory.retrieval.arms import ArmHit, ArmStanding, WordHits, rare_terms
from memory.retrieval.arms.bm25 import IDF, weight
from memory.retrieval.predicate import narrowing
from memory.retrieval.question import Question
from memory.retrieval.size import is_large
from memory.text.question_frames import FRAME_TERMS
from memory.types import Scope

# Preferences repeat what turns say, so they do not count for the rarity of words and the mean length. They are
# materialized, because the planner would look up the memory of each posting: 760 ms instead of 240 ms for a word that
# is in all of 100,000 memories. Scores are compared with seven digits (float4), because sums of the same numbers in
# another order differ in the sixteenth.
_WORDS = f"""
preferences AS MATERIALIZED (
    SELECT id, length FROM memory_memory
    WHERE namespace_id = %(namespace_id)s AND is_preference AND state = '{MemoryState.ACTIVE.value}'
), corpus AS MATERIALIZED (
    SELECT greatest(memories, 1)::float8 AS memories, greatest(terms::float8 / greatest(memories, 1), 1) AS mean_length
    FROM (
        SELECT s.memories - p.memories AS memories, s.terms - p.terms AS terms
        FROM (SELECT coalesce(sum(memories), 0) AS memories, coalesce(sum(terms), 0) AS terms
              FROM memory_namespacestat WHERE namespace_id = %(namespace_id)s) AS s,
             (SELECT count(*) AS memories, coalesce(sum(length), 0) AS terms FROM preferences) AS p
    ) AS counted
), hits AS MATERIALIZED (
    SELECT memory_id, term, frequency, length, memory_id IN (SELECT id FROM preferences) AS is_preference
    FROM memory_posting
    WHERE namespace_id = %(namespace_id)s AND term = ANY(%(terms)s::text[])
), held AS MATERIALIZED (
    SELECT term, holding, {IDF} AS idf
    FROM (SELECT term, (count(*) FILTER (WHERE NOT is_preference))::float8 AS holding FROM hits GROUP BY term) AS h,
         corpus c
), worded AS MATERIALIZED (
    SELECT h.memory_id, sum({weight("i.idf", "h", "c.mean_length")}) AS score
    FROM hits h JOIN held i ON i.term = h.term {{narrowing}}, corpus c
    WHERE %(preferences)s::bool OR NOT h.is_preference
    GROUP BY h.memory_id
    ORDER BY sum({weight("i.idf", "h", "c.mean_length")})::float4 DESC, h.memory_id DESC
    LIMIT %(limit)s
)
"""  # noqa: S608 - put together of constants

_FOUND = """
WITH {words}
SELECT w.*, c.memories, h.*
FROM (SELECT array_agg(memory_id::text), array_agg(score) FROM worded) AS w, corpus c,
     (SELECT array_agg(term::text), array_agg(holding::int) FROM held WHERE holding > 0) AS h
"""


def search(scope: Scope, question: Question, *, limit: int) -> WordHits:
    """Returns the `limit` memories with the highest BM25 score (≥ 0), and the term statistics of the namespace.

    Words that frame questions, whatever they are about (`text/question_frames.py`), count half. A predicate limits
    which memories are scored; the rarity of terms is always that in the whole namespace without its preferences, which
    are only found by questions that search preferences. In a large namespace without a predicate, rarer words find
    memories and common words only help to rank them (`rare_terms`), and preferences count like other memories.
    """
    if not question.terms:
        return WordHits([], 0.0, {})
    return _search(with_words(scope, question), scope, question, limit=limit)


def exact(scope: Scope, question: Question, *, limit: int) -> WordHits:
    """Searches like `search`, but always scores every memory that holds one of the terms."""
    return _search(_with_all_words(question), scope, question, limit=limit)


def _search(words: str, scope: Scope, question: Question, *, limit: int) -> WordHits:
    statement, parameters = _FOUND.format(words=words), parameters_of(scope, question, limit=limit)
    # One plan (look-ups by the postings' key, then hashes) fits every namespace, unless there is a filter.
    [row] = fetch(statement, parameters, prepared=question.predicate is None)
    return make_hits(*row)


def make_hits(
    ids: list[str] | None,
    scores: list[float] | None,
    memories: float,
    terms: list[str] | None,
    holding: list[int] | None,
) -> WordHits:
    """Makes hits, best first, of the columns that the statement returns, with the counts of the terms."""
    ranked = enumerate(zip(ids or (), scores or (), strict=True), start=1)
    hits = [ArmHit(memory_id, score, rank) for rank, (memory_id, score) in ranked]
    return WordHits(hits, memories, dict(zip(terms or (), holding or (), strict=True)))


def with_words(scope: Scope, question: Question) -> str:
    """Returns the SQL of the search, as common table expressions that take the parameters of `parameters_of`.

    They are `worded` (memory_id, score), `held` (term, holding) and `corpus` (memories).
    """
    if question.predicate is None and is_large(scope):
        return rare_terms.WORDS
    return _with_all_words(question)


def _with_all_words(question: Question) -> str:
    return _WORDS.format(narrowing=narrowing(question.predicate, "h.memory_id", gathered=True))


def parameters_of(scope: Scope, question: Question, *, limit: int | None) -> dict[str, Any]:
    """Returns the parameters of `with_words`."""
    return {
        "namespace_id": scope.namespace_id,
        "terms": list(question.terms),
        "framing": [term for term in question.terms if term in FRAME_TERMS],
        "preferences": question.searches_preferences,
        "limit": limit,
        **rare_terms.budget_parameters(),
        **(question.predicate.parameters if question.predicate else {}),
    }


_STANDING = """
WITH {words}
SELECT score, place, found FROM (
    SELECT memory_id, score, row_number() OVER (ORDER BY score::float4 DESC, memory_id DESC) AS place,
           count(*) OVER () AS found
    FROM worded
) AS ranked WHERE memory_id = %(memory_id)s::uuid
"""


def rank_of(scope: Scope, question: Question, memory_id: uuid.UUID) -> ArmStanding | None:
    """Returns the standing of a memory among all that share a word with the question and meet the predicate.

    Returns None if the memory is not one of them.
    """
    if not question.terms:
        return None
    parameters = parameters_of(scope, question, limit=None) | {"memory_id": str(memory_id)}
    rows = fetch(_STANDING.format(words=_with_all_words(question)), parameters, prepared=False)
    return ArmStanding(*rows[0]) if rows else None
