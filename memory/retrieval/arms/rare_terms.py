"""Search by words in a large namespace: rarer terms find memories, common ones help to rank them.

A term that a fifth of half a million memories hold says little of any of them and costs most of the time. How many hold
a common term is counted by the worker (CommonTerm). Terms are read from the rarest on, up to a budget of postings; the
rest is looked up for the best that those found. As in the MaxScore of Turtle & Flood (1995) rare terms decide who is
looked at; other than there, a bound that proves the rest irrelevant is not computed.
"""

from __future__ import annotations

from itertools import accumulate

from memory.models.sql import fetch
from memory.retrieval.arms import ArmHit, WordHits
from memory.retrieval.arms.bm25 import term_idf, weight
from memory.retrieval.question import Question
from memory.types import Scope

# Held by this many memories, a term of a large namespace is counted by the worker.
COMMON = 1000
# Postings that a search reads: at least, as a share of the memories, at most. Recall of the top 10 (bench/scale.py) is
# 0.998 with 8,000 of 100,000 memories, and of 500,000 0.96 with 8,000, 0.99 with 20,000.
BUDGET = 8_000
BUDGET_SHARE = 0.04
BUDGET_MOST = 40_000
# Memories, for each one asked for, that the rarest term beyond the budget is looked up of, and the other ones too.
LOOKED_UP = 6
LOOKED_UP_WHOLLY = 3

# Terms that the worker has not counted are held by few: counting them reads no more than searching them does.
_HOLDING = """
SELECT s.memories, s.mean_length, q.term, coalesce(
    t.memories * s.memories / greatest(c.memories, 1),
    (SELECT count(*) FROM memory_posting p WHERE p.namespace_id = %(namespace_id)s AND p.term = q.term)
)
FROM unnest(%(terms)s::text[]) AS q (term)
CROSS JOIN (
    SELECT greatest(sum(memories), 1)::float8 AS memories,
           greatest(sum(terms)::float8 / greatest(sum(memories), 1), 1) AS mean_length
    FROM memory_namespacestat WHERE namespace_id = %(namespace_id)s
) AS s
LEFT JOIN memory_corpus c ON c.namespace_id = %(namespace_id)s
LEFT JOIN memory_commonterm t ON t.namespace_id = c.namespace_id AND t.term = q.term
"""

_MEAN = "%(mean_length)s::float8"
# Equals to seven digits are equal: sums of the same numbers in another order are not the same to sixteen.
# `newest` holders of a term too common to be read whole: enough to fill the answer when all terms are. The rarest term
# beyond the budget is looked up of many, and decides of whom the others are.
_BM25 = f"""
WITH best AS MATERIALIZED (
    SELECT memory_id, sum(score) AS score
    FROM (
        SELECT p.memory_id, {weight("t.idf", "p", _MEAN)} AS score, 0::float8 AS guess
        FROM unnest(%(read)s::text[], %(read_idf)s::float8[]) AS t (term, idf)
        JOIN memory_posting p ON p.namespace_id = %(namespace_id)s AND p.term = t.term
        UNION ALL
        SELECT n.memory_id, 0, {weight("%(rarest_idf)s::float8", "n", _MEAN)}
        FROM (
            SELECT memory_id, frequency, length FROM memory_posting
            WHERE namespace_id = %(namespace_id)s AND term = %(rarest)s::text
            ORDER BY memory_id DESC LIMIT %(newest)s
        ) AS n
    ) AS scored
    GROUP BY memory_id ORDER BY sum(score + guess)::float4 DESC, memory_id DESC LIMIT %(looked_up)s
), better AS MATERIALIZED (
    SELECT b.memory_id, b.score + coalesce(l.score, 0) AS score
    FROM best b
    LEFT JOIN (
        SELECT p.memory_id, {weight("%(rarest_idf)s::float8", "p", _MEAN)} AS score
        FROM memory_posting p
        WHERE p.namespace_id = %(namespace_id)s AND p.term = %(rarest)s::text
          AND p.memory_id = ANY ((SELECT array_agg(memory_id) FROM best)::uuid[])
    ) AS l ON l.memory_id = b.memory_id
    ORDER BY (b.score + coalesce(l.score, 0))::float4 DESC, b.memory_id DESC LIMIT %(looked_up_wholly)s
)
SELECT b.memory_id::text, b.score + coalesce(l.score, 0) AS score
FROM better b
LEFT JOIN (
    SELECT p.memory_id, sum({weight("s.idf", "p", _MEAN)}) AS score
    FROM unnest(%(commoner)s::text[], %(commoner_idf)s::float8[]) AS s (term, idf)
    JOIN memory_posting p ON p.namespace_id = %(namespace_id)s AND p.term = s.term
     AND p.memory_id = ANY ((SELECT array_agg(memory_id) FROM better)::uuid[])
    GROUP BY p.memory_id
) AS l ON l.memory_id = b.memory_id
ORDER BY (b.score + coalesce(l.score, 0))::float4 DESC, b.memory_id DESC LIMIT %(limit)s
"""  # noqa: S608 - put together of constants


def search(scope: Scope, question: Question, *, limit: int) -> WordHits:
    """As `lexical.search`; scores are BM25, under counts of common terms that may be a tenth old."""
    rows = fetch(_HOLDING, {"namespace_id": scope.namespace_id, "terms": list(question.terms)}, prepared=False)
    memories, mean_length = rows[0][:2]
    holding = sorted((int(held), term) for _, _, term, held in rows if held)
    # From the rarest on, as many as the budget allows; the rarest is left out only when it alone is beyond it.
    budget = min(max(BUDGET, BUDGET_SHARE * memories), BUDGET_MOST)
    within = sum(1 for total in accumulate(held for held, _ in holding) if total <= budget)
    weighted = [(term, term_idf(term, holding=held, memories=memories)) for held, term in holding]
    read, skipped = weighted[:within], weighted[within:]
    (rarest, rarest_idf), commoner = (skipped[0], skipped[1:]) if skipped else ((None, 0.0), [])
    parameters = {
        "namespace_id": scope.namespace_id,
        "mean_length": mean_length,
        "read": [term for term, _ in read],
        "read_idf": [weight for _, weight in read],
        "rarest": rarest,
        "rarest_idf": rarest_idf,
        "newest": max(LOOKED_UP * limit, 0 if read else int(budget)),
        "commoner": [term for term, _ in commoner],
        "commoner_idf": [weight for _, weight in commoner],
        "looked_up": LOOKED_UP * limit if skipped else limit,
        "looked_up_wholly": LOOKED_UP_WHOLLY * limit if skipped else limit,
        "limit": limit,
    }
    found = fetch(_BM25, parameters, prepared=False)
    hits = [ArmHit(memory_id, score, rank) for rank, (memory_id, score) in enumerate(found, start=1)]
    return WordHits(hits, memories, {term: held for held, term in holding})
