"""Reads what the signals need to know of each candidate, and of the turns around the strongest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from memory.enums import MemoryState, Role
from memory.models.sql import fetch, uuid_array
from memory.retrieval.question import Question
from memory.retrieval.signals import TURNS_AROUND, Candidates
from memory.text.asking import names_in
from memory.text.vectors import halfvec_literal
from memory.types import Scope

# Longer texts than this are no questions, whatever they end with; their end is not read.
QUESTION_TOKENS = 200

# One row of packed columns: hundreds of rows of ten values each cost more to read than to find. OFFSET 0 keeps each
# look-up by key a look-up: the planner takes every namespace for a small one, which it would rather read whole.
_PLACES = """
WITH around AS MATERIALIZED (
    SELECT array_agg(n.id) AS ids FROM (
        SELECT session, turn FROM memory_memory
        WHERE namespace_id = %(namespace_id)s AND id = ANY(%(strong)s::uuid[])
        OFFSET 0
    ) s
    CROSS JOIN LATERAL (
        SELECT id FROM memory_memory
        WHERE namespace_id = %(namespace_id)s AND session = s.session
          AND turn BETWEEN s.turn - %(around)s AND s.turn + %(around)s
        OFFSET 0
    ) n
), found AS MATERIALIZED (
    SELECT m.id, m.session, m.turn, m.role, m.speaker, m.occurred_at, m.tokens, m.importance,
           m.tokens < %(question_tokens)s AND right(rtrim(m.text), 1) IN ('?', '？') AS asks
    FROM (
        SELECT * FROM memory_memory
        WHERE namespace_id = %(namespace_id)s AND id = ANY(%(known)s::uuid[] || (SELECT ids FROM around))
        OFFSET 0
    ) m
    WHERE m.state = %(state)s
      AND (m.valid_to IS NULL OR m.valid_to > coalesce(%(holding_at)s::timestamptz, '-infinity')) {narrowing}
    ORDER BY m.id
), compared AS MATERIALIZED (
    SELECT memory_id, 1 - min(embedding <=> %(vector)s::halfvec) AS cosine FROM memory_memoryvector
    WHERE namespace_id = %(namespace_id)s AND model_id = %(model_id)s
      AND memory_id = ANY(%(unmeasured)s::uuid[] || (SELECT ids FROM around))
    GROUP BY memory_id
)
SELECT array_agg(id::text), array_agg(session::text), array_agg(speaker::text),
       string_agg(int4send(turn), ''), string_agg(int4send(tokens), ''), string_agg(float8send(importance), ''),
       string_agg(float8send(extract(epoch FROM occurred_at)::float8), ''), string_agg(boolsend(asks), ''),
       string_agg(boolsend(role = %(agent)s), ''),
       (SELECT array_agg(memory_id::text) FROM compared), (SELECT string_agg(float8send(cosine), '') FROM compared)
FROM found
"""


@dataclass(frozen=True, slots=True)
class Places:
    """Candidates with their ids, in the order of the arrays: oldest first, for ids sort by time."""

    ids: list[str]
    candidates: Candidates


def read(
    scope: Scope,
    question: Question,
    *,
    cosines: Mapping[str, float],
    bm25: Mapping[str, float],
    mentions: Mapping[str, float],
    strong: Sequence[str],
) -> Places:
    """The memories of the three maps that are still there, and those up to TURNS_AROUND turns from a `strong` one.

    All meet the question's predicate. Cosines that are not given are measured.
    """
    unmeasured = [memory_id for memory_id in {**bm25, **mentions} if memory_id not in cosines]
    parameters = {
        "namespace_id": scope.namespace_id,
        "model_id": question.model_id,
        "vector": halfvec_literal(question.vector),
        "known": uuid_array([*cosines, *unmeasured]),
        "unmeasured": uuid_array(unmeasured),
        "strong": uuid_array(strong),
        "around": TURNS_AROUND,
        "question_tokens": QUESTION_TOKENS,
        "agent": Role.AGENT.value,
        "holding_at": question.holding_at,
        "state": MemoryState.ACTIVE.value,
    }
    narrowing = ""
    if question.predicate:
        narrowing = f"AND {question.predicate.sql}"
        parameters |= question.predicate.parameters
    statement = _PLACES.format(narrowing=narrowing)
    [row] = fetch(statement, parameters, prepared=question.predicate is None, binary=True)
    return _places(question, row, cosines, bm25, mentions)


def _places(
    question: Question,
    row: tuple,
    cosines: Mapping[str, float],
    bm25: Mapping[str, float],
    mentions: Mapping[str, float],
) -> Places:
    """From packed columns: big-endian, as PostgreSQL sends them; None where there is no row."""
    ids, sessions, speakers = (column or [] for column in row[:3])
    turns, tokens, importances, occurred, asks, by_agent = (column or b"" for column in row[3:9])
    compared, measured = row[9] or [], np.frombuffer(row[10] or b"", ">f8").tolist()
    cosines = dict(zip(compared, measured, strict=True)) | dict(cosines)
    numbers: dict[str, int] = {}
    voices: dict[tuple[str, bool], int] = {}
    agents = np.frombuffer(by_agent, bool)
    named = set(names_in(question.text, list(set(speakers) - {""})))
    times = np.frombuffer(occurred, ">f8").astype(float)
    in_span = np.zeros(len(ids), dtype=bool)
    for span in question.spans:
        in_span |= (times >= span.start.timestamp()) & (times < span.end.timestamp())
    return Places(
        ids,
        Candidates(
            cosine=np.array([cosines.get(one, 0.0) for one in ids], dtype=float),
            bm25=np.array([bm25.get(one, 0.0) for one in ids], dtype=float),
            mentions=np.array([mentions.get(one, 0.0) for one in ids], dtype=float),
            tokens=np.frombuffer(tokens, ">i4").astype(float),
            session=np.array([numbers.setdefault(name, len(numbers)) for name in sessions], dtype=int),
            turn=np.frombuffer(turns, ">i4").astype(int),
            voice=np.array(
                [voices.setdefault(voice, len(voices)) for voice in zip(speakers, agents.tolist(), strict=True)],
                dtype=int,
            ),
            occurred=times,
            importance=np.frombuffer(importances, ">f8").astype(float),
            by_agent=agents,
            spoken=np.array([speaker != "" for speaker in speakers], dtype=bool),
            named=np.array([speaker in named for speaker in speakers], dtype=bool),
            asks=np.frombuffer(asks, bool),
            in_span=in_span,
        ),
    )
