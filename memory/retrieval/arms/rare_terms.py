"""Search by words in a large namespace: rarer terms find memories, common ones help to rank them.

A term that a fifth of half a million memories hold says little of any of them and costs most of the time. How many hold
a common term is counted by the worker (CommonTerm). Terms are read from the rarest on, up to a budget of postings; the
rest is looked up for the best that those found. As in the MaxScore of Turtle & Flood (1995) rare terms decide who is
looked at; other than there, a bound that proves the rest irrelevant is not computed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from memory.models.sql import search as run
from memory.retrieval.arms import ArmHit
from memory.retrieval.arms.bm25 import idf, weight
from memory.retrieval.question import Question
from memory.types import Scope

# Held by this many memories, a term of a large namespace is counted by the worker.
COMMON = 1000
# Postings of common terms that a search reads.
BUDGET = 12_000
# Memories, for each one asked for, that the common terms beyond the budget are looked up of.
LOOKED_UP = 4

_CORPUS = """
SELECT s.memories, s.mean_length, t.term, t.memories * s.memories / greatest(c.memories, 1)
FROM (
    SELECT greatest(sum(memories), 1)::float8 AS memories,
           greatest(sum(terms)::float8 / greatest(sum(memories), 1), 1) AS mean_length
    FROM memory_namespacestat WHERE namespace_id = %(namespace_id)s
) AS s
LEFT JOIN memory_corpus c ON c.namespace_id = %(namespace_id)s
LEFT JOIN memory_commonterm t ON t.namespace_id = c.namespace_id AND t.term = ANY(%(terms)s::text[])
"""

_MEAN = "%(mean_length)s::float8"
# `newest` holders of a term too common to be read whole: enough to fill the answer when all terms are.
_BM25 = f"""
WITH hits AS MATERIALIZED (
    SELECT memory_id, term, frequency, length FROM memory_posting
    WHERE namespace_id = %(namespace_id)s AND term = ANY(%(read)s::text[])
), idf AS (
    SELECT term,
           ln(1 + (%(memories)s::float8 - least(count(*), %(memories)s::float8) + 0.5) / (count(*) + 0.5)) AS idf
    FROM hits GROUP BY term
), newest AS (
    SELECT memory_id, frequency, length FROM memory_posting
    WHERE namespace_id = %(namespace_id)s AND term = %(window)s::text
    ORDER BY memory_id DESC LIMIT %(window_size)s
), scored AS (
    SELECT h.memory_id, {weight("i.idf", "h", _MEAN)} AS score, 0 AS guess FROM hits h JOIN idf i USING (term)
    UNION ALL
    SELECT n.memory_id, 0, {weight("%(window_idf)s::float8", "n", _MEAN)} FROM newest n
), best AS MATERIALIZED (
    SELECT memory_id, sum(score) AS score FROM scored
    GROUP BY memory_id ORDER BY sum(score + guess) DESC, memory_id DESC LIMIT %(looked_up)s
)
SELECT b.memory_id, b.score + coalesce((
    SELECT sum({weight("s.idf", "p", _MEAN)})
    FROM unnest(%(skipped)s::text[], %(skipped_idf)s::float8[]) AS s (term, idf)
    JOIN memory_posting p ON p.namespace_id = %(namespace_id)s AND p.term = s.term AND p.memory_id = b.memory_id
), 0) AS score
FROM best b
ORDER BY score DESC, b.memory_id DESC LIMIT %(limit)s
"""  # noqa: S608 - put together of constants


@dataclass(frozen=True, slots=True)
class _Plan:
    """Terms whose postings are all read, and those that are looked up of the best, rarest first, with holders."""

    read: list[str]
    skipped: list[tuple[str, float]]
    budget_left: int


def search(scope: Scope, question: Question, *, limit: int) -> list[ArmHit]:
    """As `lexical.search`; scores are BM25, under counts of common terms that may be a tenth old.

    Raises SearchTimedOut.
    """
    terms = list(question.terms)
    rows = run(_CORPUS, {"namespace_id": scope.namespace_id, "terms": terms}, prepared=True)
    memories, mean_length = rows[0][:2]
    plan = _plan(terms, {term: holding for _, _, term, holding in rows if term is not None})
    weights = [idf(holding=holding, memories=memories) for _, holding in plan.skipped]
    parameters = {
        "namespace_id": scope.namespace_id,
        "memories": memories,
        "mean_length": mean_length,
        "read": plan.read,
        "window": plan.skipped[0][0] if plan.skipped else None,
        "window_size": max(plan.budget_left, LOOKED_UP * limit),
        "window_idf": weights[0] if weights else 0.0,
        "skipped": [term for term, _ in plan.skipped],
        "skipped_idf": weights,
        "looked_up": LOOKED_UP * limit if plan.skipped else limit,
        "limit": limit,
    }
    found = run(_BM25, parameters, prepared=False)
    return [ArmHit(memory_id, score, rank) for rank, (memory_id, score) in enumerate(found, start=1)]


def _plan(terms: Sequence[str], common: dict[str, float]) -> _Plan:
    """What to read of `terms`, of which `common` are held by so many memories."""
    left = BUDGET
    read = [term for term in terms if term not in common]
    skipped = []
    for term, holding in sorted(common.items(), key=lambda item: item[1]):
        if holding <= left:
            read.append(term)
            left -= int(holding)
        else:
            skipped.append((term, holding))
    return _Plan(read, skipped, left)
