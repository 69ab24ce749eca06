"""Reads what the signals need to know of each candidate, and of the turns around the strongest."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from memory.enums import MemoryState, Role
from memory.models.sql import fetch
from memory.retrieval.question import Question
from memory.retrieval.signals import TURNS_AROUND, Candidates
from memory.text.asking import names_in
from memory.text.vectors import halfvec_literal
from memory.types import Scope

# Longer texts than this are no questions, whatever they end with; their end is not read.
_QUESTION_TOKENS = 200

# OFFSET 0 keeps each look-up by key a look-up: the planner takes every namespace for a small one, which it would rather
# read whole.
_PLACES = """
WITH found AS (
    SELECT id, true AS measured FROM unnest(%(measured)s::uuid[]) AS f (id)
    UNION ALL
    SELECT id, false FROM unnest(%(unmeasured)s::uuid[]) AS f (id)
), around AS (
    SELECT n.id FROM memory_memory s
    CROSS JOIN LATERAL (
        SELECT id FROM memory_memory
        WHERE namespace_id = %(namespace_id)s AND session = s.session
          AND turn BETWEEN s.turn - %(around)s AND s.turn + %(around)s
        OFFSET 0
    ) n
    WHERE s.namespace_id = %(namespace_id)s AND s.id = ANY(%(strong)s::uuid[])
    EXCEPT SELECT id FROM found
), wanted AS (
    SELECT id, measured FROM found UNION ALL SELECT id, false FROM around
)
SELECT m.id, m.session, m.turn, m.role, m.speaker, extract(epoch FROM m.occurred_at)::float8, m.tokens,
       m.importance, m.tokens < %(question_tokens)s AND right(rtrim(m.text), 1) IN ('?', '？'), v.cosine
FROM wanted w
CROSS JOIN LATERAL (
    SELECT * FROM memory_memory m
    WHERE m.namespace_id = %(namespace_id)s AND m.id = w.id AND m.state = %(state)s {narrowing}
    OFFSET 0
) m
LEFT JOIN LATERAL (
    SELECT 1 - min(embedding <=> %(vector)s::halfvec) AS cosine FROM memory_memoryvector
    WHERE NOT w.measured AND namespace_id = %(namespace_id)s AND model_id = %(model_id)s AND memory_id = w.id
) v ON true
ORDER BY m.id
"""


@dataclass(frozen=True, slots=True)
class Places:
    """Candidates with their ids, in the order of the arrays: oldest first, for ids sort by time."""

    ids: list[uuid.UUID]
    candidates: Candidates


def read(
    scope: Scope,
    question: Question,
    *,
    cosines: Mapping[uuid.UUID, float],
    bm25: Mapping[uuid.UUID, float],
    strong: Sequence[uuid.UUID],
) -> Places:
    """The memories of both maps that are still there, and those up to TURNS_AROUND turns from a `strong` one.

    All meet the question's predicate. Cosines that are not given are measured.
    """
    parameters = {
        "namespace_id": scope.namespace_id,
        "model_id": question.model_id,
        "vector": halfvec_literal(question.vector),
        "measured": list(cosines),
        "unmeasured": [memory_id for memory_id in bm25 if memory_id not in cosines],
        "strong": list(strong),
        "around": TURNS_AROUND,
        "question_tokens": _QUESTION_TOKENS,
        "state": MemoryState.ACTIVE.value,
    }
    narrowing = ""
    if question.predicate:
        narrowing = f"AND {question.predicate.sql}"
        parameters |= question.predicate.parameters
    rows = fetch(_PLACES.format(narrowing=narrowing), parameters, prepared=question.predicate is None)
    return _places(question, rows, cosines, bm25)


def _places(
    question: Question, rows: Sequence[tuple], cosines: Mapping[uuid.UUID, float], bm25: Mapping[uuid.UUID, float]
) -> Places:
    columns: Sequence[tuple] = list(zip(*rows, strict=True)) or [()] * 10
    ids, sessions, turns, roles, speakers, occurred, tokens, importances, asks, measured = columns
    numbers: dict[str, int] = {}
    named = set(names_in(question.text, list(set(speakers) - {""})))
    times = np.array(occurred, dtype=float)
    in_span = np.zeros(len(ids), dtype=bool)
    for span in question.spans:
        in_span |= (times >= span.start.timestamp()) & (times < span.end.timestamp())
    return Places(
        list(ids),
        Candidates(
            cosine=np.array([cosines.get(i, c or 0.0) for i, c in zip(ids, measured, strict=True)], dtype=float),
            bm25=np.array([bm25.get(i, 0.0) for i in ids], dtype=float),
            tokens=np.array(tokens, dtype=float),
            session=np.array([numbers.setdefault(name, len(numbers)) for name in sessions], dtype=int),
            turn=np.array(turns, dtype=int),
            occurred=times,
            importance=np.array(importances, dtype=float),
            by_agent=np.array([role == Role.AGENT for role in roles], dtype=bool),
            spoken=np.array([speaker != "" for speaker in speakers], dtype=bool),
            named=np.array([speaker in named for speaker in speakers], dtype=bool),
            asks=np.array(asks, dtype=bool),
            in_span=in_span,
        ),
    )
