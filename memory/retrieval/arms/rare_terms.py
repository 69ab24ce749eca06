"""Searches by words in a large namespace: rare terms find memories, and common terms help to rank them.

A term that a fifth of half a million memories hold says little about any of them, and would take most of the time. The
worker counts the holders of common terms (CommonTerm). Postings are read from the rarest term on, up to a budget; the
remaining terms are looked up only for the best memories found so far. As in MaxScore (Turtle & Flood 1995), rare terms
decide which memories are scored, but no bound is computed that would prove the others irrelevant.
"""

from __future__ import annotations

from memory.retrieval.arms.bm25 import IDF, weight

# The worker counts terms of large namespaces that at least this many memories hold.
COMMON = 1000
# The budget of postings that a search reads: the least, a share of the memories, and the most. Recall of the top 10
# (bench/scale.py) is 0.998 with 8,000 postings for 100,000 memories; for 500,000 it is 0.96 with 8,000 and 0.99 with
# 20,000.
BUDGET = 8_000
BUDGET_SHARE = 0.04
BUDGET_MOST = 40_000
# The number of memories, for each one requested, for which the rarest term beyond the budget is looked up (LOOKED_UP),
# and for which the other terms are looked up as well (LOOKED_UP_WHOLLY).
LOOKED_UP = 6
LOOKED_UP_WHOLLY = 3


def budget_parameters() -> dict[str, float]:
    """Returns the parameters of WORDS that limit how many postings it reads."""
    return {"budget": BUDGET, "budget_share": BUDGET_SHARE, "budget_most": BUDGET_MOST}


_MEAN = "(SELECT mean_length FROM corpus)"
# Terms that the worker has not counted have few holders, so counting them reads no more than searching them does. Terms
# are read from the rarest on, as many as the budget allows; the rarest is left out only if it alone exceeds the budget.
# The newest holders of the rarest term beyond the budget are read as well, which fills the answer if all terms are too
# common. That term is looked up for many memories, and decides for which of them the other terms are looked up.
WORDS = f"""
corpus AS MATERIALIZED (
    SELECT greatest(sum(memories), 1)::float8 AS memories,
           greatest(sum(terms)::float8 / greatest(sum(memories), 1), 1) AS mean_length
    FROM memory_namespacestat WHERE namespace_id = %(namespace_id)s
), held AS MATERIALIZED (
    SELECT q.term, coalesce(
        floor(t.memories * s.memories / greatest(c.memories, 1)),
        (SELECT count(*) FROM memory_posting p WHERE p.namespace_id = %(namespace_id)s AND p.term = q.term)
    )::float8 AS holding
    FROM unnest(%(terms)s::text[]) AS q (term)
    CROSS JOIN corpus s
    LEFT JOIN memory_corpus c ON c.namespace_id = %(namespace_id)s
    LEFT JOIN memory_commonterm t ON t.namespace_id = c.namespace_id AND t.term = q.term
), weighed AS MATERIALIZED (
    SELECT term, holding, {IDF} AS idf, sum(holding) OVER (ORDER BY holding, term)
           <= least(greatest(%(budget)s, %(budget_share)s::float8 * c.memories), %(budget_most)s) AS is_read
    FROM held, corpus c WHERE holding > 0
), rarest AS MATERIALIZED (
    SELECT term, idf FROM weighed WHERE NOT is_read ORDER BY holding, term LIMIT 1
), best AS MATERIALIZED (
    SELECT memory_id, sum(score) AS score
    FROM (
        SELECT p.memory_id, {weight("t.idf", "p", _MEAN)} AS score, 0::float8 AS guess
        FROM weighed t
        JOIN memory_posting p ON p.namespace_id = %(namespace_id)s AND p.term = t.term
        WHERE t.is_read
        UNION ALL
        SELECT n.memory_id, 0, {weight("r.idf", "n", _MEAN)}
        FROM rarest r CROSS JOIN LATERAL (
            SELECT memory_id, frequency, length FROM memory_posting
            WHERE namespace_id = %(namespace_id)s AND term = r.term
            ORDER BY memory_id DESC
            LIMIT greatest(
                {LOOKED_UP} * %(limit)s::int,
                CASE WHEN NOT EXISTS (SELECT FROM weighed WHERE is_read) THEN least(
                    greatest(%(budget)s, %(budget_share)s::float8 * (SELECT memories FROM corpus)), %(budget_most)s
                )::int END
            )
        ) AS n
    ) AS scored
    GROUP BY memory_id ORDER BY sum(score + guess)::float4 DESC, memory_id DESC
    LIMIT CASE WHEN EXISTS (SELECT FROM rarest) THEN {LOOKED_UP} ELSE 1 END * %(limit)s::int
), better AS MATERIALIZED (
    SELECT memory_id, sum(score) AS score
    FROM (
        SELECT memory_id, score FROM best
        UNION ALL
        SELECT p.memory_id, {weight("r.idf", "p", _MEAN)}
        FROM rarest r
        JOIN memory_posting p ON p.namespace_id = %(namespace_id)s AND p.term = r.term
         AND p.memory_id = ANY ((SELECT array_agg(memory_id) FROM best)::uuid[])
    ) AS scored
    GROUP BY memory_id ORDER BY sum(score)::float4 DESC, memory_id DESC
    LIMIT CASE WHEN EXISTS (SELECT FROM rarest) THEN {LOOKED_UP_WHOLLY} ELSE 1 END * %(limit)s::int
), worded AS MATERIALIZED (
    SELECT memory_id, sum(score) AS score
    FROM (
        SELECT memory_id, score FROM better
        UNION ALL
        SELECT p.memory_id, {weight("w.idf", "p", _MEAN)}
        FROM weighed w
        JOIN memory_posting p ON p.namespace_id = %(namespace_id)s AND p.term = w.term
         AND p.memory_id = ANY ((SELECT array_agg(memory_id) FROM better)::uuid[])
        WHERE NOT w.is_read AND w.term <> (SELECT term FROM rarest)
    ) AS scored
    GROUP BY memory_id ORDER BY sum(score)::float4 DESC, memory_id DESC LIMIT %(limit)s::int
)
"""  # noqa: S608 - put together of constants
