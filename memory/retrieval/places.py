"""Reads the signals' features of each candidate, and of the turns around the strongest."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

import numpy as np

from memory.enums import MemoryState, Role
from memory.models.sql import fetch, uuid_array
from memory.retrieval.question import Question
from memory.retrieval.signals import TURNS_AROUND, Candidates
from memory.text.names import speaker_key
from memory.text.vectors import halfvec_literal
from memory.types import Scope

# Longer texts than this are no questions, whatever they end with; their end is not read.
QUESTION_TOKENS = 200

# One row of packed columns: hundreds of rows of ten values each cost more to read than to find. OFFSET 0 keeps each
# look-up by key a look-up: the planner takes every namespace for a small one, which it would rather read whole.
_PLACES = """
WITH pairs AS MATERIALIZED (
    SELECT s.id AS strong, n.id AS neighbour, n.distance FROM (
        SELECT id, session, turn, occurred_at FROM memory_memory
        WHERE namespace_id = %(namespace_id)s AND id = ANY(%(strong)s::uuid[]) AND NOT is_preference
        OFFSET 0
    ) s
    CROSS JOIN LATERAL (
        SELECT id, -(row_number() OVER ())::int AS distance FROM (
            SELECT id FROM memory_memory
            WHERE namespace_id = %(namespace_id)s AND session = s.session AND (turn < 0) = (s.turn < 0)
              AND (occurred_at, turn) < (s.occurred_at, s.turn) AND state = %(state)s AND NOT is_preference
            ORDER BY occurred_at DESC, turn DESC LIMIT %(around)s
        ) AS before
        UNION ALL
        SELECT id, (row_number() OVER ())::int FROM (
            SELECT id FROM memory_memory
            WHERE namespace_id = %(namespace_id)s AND session = s.session AND (turn < 0) = (s.turn < 0)
              AND (occurred_at, turn) > (s.occurred_at, s.turn) AND state = %(state)s AND NOT is_preference
            ORDER BY occurred_at, turn LIMIT %(around)s
        ) AS after
    ) n
), around AS MATERIALIZED (
    SELECT array_agg(neighbour) AS ids FROM pairs
), found AS MATERIALIZED (
    SELECT m.id, m.session, m.role, m.speaker, m.occurred_at, m.tokens, m.importance,
           m.tokens < %(question_tokens)s AND right(rtrim(m.text), 1) IN ('?', '？') AS asks
    FROM (
        SELECT * FROM memory_memory
        WHERE namespace_id = %(namespace_id)s AND id = ANY(%(known)s::uuid[] || (SELECT ids FROM around))
        OFFSET 0
    ) m
    WHERE m.state = %(state)s AND (NOT m.is_preference OR %(preferences)s::bool)
      AND (m.valid_to IS NULL OR m.valid_to > coalesce(%(holding_at)s::timestamptz, '-infinity')) {narrowing}
    ORDER BY m.id
), compared AS MATERIALIZED (
    SELECT memory_id, 1 - min(embedding <=> %(vector)s::halfvec) AS cosine FROM memory_memoryvector
    WHERE namespace_id = %(namespace_id)s AND model_id = %(model_id)s
      AND memory_id = ANY(%(unmeasured)s::uuid[] || (SELECT ids FROM around))
    GROUP BY memory_id
)
SELECT array_agg(id::text), array_agg(session::text), array_agg(speaker::text),
       string_agg(int4send(tokens), ''), string_agg(float8send(importance), ''),
       string_agg(float8send(extract(epoch FROM occurred_at)::float8), ''), string_agg(boolsend(asks), ''),
       string_agg(boolsend(role = %(agent)s), ''),
       (SELECT array_agg(memory_id::text) FROM compared), (SELECT string_agg(float8send(cosine), '') FROM compared),
       (SELECT array_agg(strong::text) FROM pairs), (SELECT array_agg(neighbour::text) FROM pairs),
       (SELECT array_agg(distance) FROM pairs)
FROM found
"""


class PackedRow(NamedTuple):
    """Holds the row of `_PLACES`: memories in the order of their ids; `compared` with the cosines that were
    `measured`; and pairs of neighbours. Bytes are values one after the other, big-endian, as PostgreSQL sends them."""

    ids: list[str]
    sessions: list[str]
    speakers: list[str]
    tokens: bytes
    importances: bytes
    occurred: bytes
    asks: bytes
    by_agent: bytes
    compared: list[str]
    measured: bytes
    strong: list[str]
    neighbours: list[str]
    distances: list[int]


_EMPTY = PackedRow([], [], [], b"", b"", b"", b"", b"", [], b"", [], [], [])


@dataclass(frozen=True, slots=True)
class Places:
    """Holds candidates with their ids, in the order of the arrays: oldest first, for ids sort by time."""

    ids: list[str]
    candidates: Candidates


def read(
    scope: Scope,
    question: Question,
    *,
    cosines: Mapping[str, float],
    bm25: Mapping[str, float],
    mentions: Mapping[str, float],
    preferences: Mapping[str, float],
    topics: Mapping[str, float],
    strong: Sequence[str],
    by_words: PackedRow | None = None,
) -> Places:
    """Reads the memories of the five maps that still exist, and those up to TURNS_AROUND turns from a `strong` one.

    Turns stand in the order in which things happened; simultaneous ones as they arrived. All meet the question's
    predicate. Cosines that are not given are measured. `by_words`: what `read_found` has read of the memories in
    `bm25`.
    """
    read_already = bm25 if by_words is not None else {}
    asked = [one for one in {**cosines, **bm25, **mentions, **preferences, **topics} if one not in read_already]
    unmeasured = [memory_id for memory_id in asked if memory_id not in cosines]
    row = _read_row(scope, question, known=asked, unmeasured=unmeasured, strong=strong)
    rows = [row] if by_words is None else [by_words, row]
    return _places(question, rows, _Values(cosines, bm25, mentions, preferences, topics))


def read_found(scope: Scope, question: Question, ids: Collection[str]) -> PackedRow:
    """Reads the features of these memories, with their cosines, for `read` to join with the rest."""
    return _read_row(scope, question, known=ids, unmeasured=ids, strong=())


def _read_row(
    scope: Scope, question: Question, *, known: Collection[str], unmeasured: Collection[str], strong: Collection[str]
) -> PackedRow:
    parameters = {
        "namespace_id": scope.namespace_id,
        "model_id": question.model_id,
        "vector": halfvec_literal(question.vector),
        "known": uuid_array(known),
        "unmeasured": uuid_array(unmeasured),
        "strong": uuid_array(strong),
        "around": TURNS_AROUND,
        "question_tokens": QUESTION_TOKENS,
        "agent": Role.AGENT.value,
        "holding_at": question.holding_at,
        "preferences": question.searches_preferences,
        "state": MemoryState.ACTIVE.value,
    }
    narrowing = ""
    if question.predicate:
        narrowing = f"AND {question.predicate.sql}"
        parameters |= question.predicate.parameters
    statement = _PLACES.format(narrowing=narrowing)
    [row] = fetch(statement, parameters, prepared=question.predicate is None, binary=True)
    # An aggregate of no rows is NULL.
    return PackedRow._make(empty if value is None else value for value, empty in zip(row, _EMPTY, strict=True))


class _Values(NamedTuple):
    """Holds the known values of the candidates by id, as in `read`."""

    cosines: Mapping[str, float]
    bm25: Mapping[str, float]
    mentions: Mapping[str, float]
    preferences: Mapping[str, float]
    topics: Mapping[str, float]


def _places(question: Question, rows: Sequence[PackedRow], values: _Values) -> Places:
    ids = list(chain.from_iterable(row.ids for row in rows))
    # Some are in both rows: the one that was read last is taken.
    order = [place for _, place in sorted({identity: place for place, identity in enumerate(ids)}.items())]
    ids = [ids[place] for place in order]
    sessions = list(chain.from_iterable(row.sessions for row in rows))
    speakers = list(chain.from_iterable(row.speakers for row in rows))
    sessions, speakers = [sessions[place] for place in order], [speakers[place] for place in order]
    tokens = np.frombuffer(b"".join(row.tokens for row in rows), ">i4")[order]
    importances = np.frombuffer(b"".join(row.importances for row in rows), ">f8")[order]
    times = np.frombuffer(b"".join(row.occurred for row in rows), ">f8")[order].astype(float)
    asks = np.frombuffer(b"".join(row.asks for row in rows), bool)[order]
    agents = np.frombuffer(b"".join(row.by_agent for row in rows), bool)[order]
    cosines = dict(chain.from_iterable(zip(row.compared, _floats(row.measured), strict=True) for row in rows))
    cosines |= values.cosines
    numbers: dict[str, int] = {}
    voices: dict[tuple[str, bool], int] = {}
    names = question.named.union(question.name_keys)
    named = {speaker for speaker in set(speakers) if speaker_key(speaker) in names}
    in_span = np.zeros(len(ids), dtype=bool)
    for span in question.spans:
        in_span |= (times >= span.start.timestamp()) & (times < span.end.timestamp())
    return Places(
        ids,
        Candidates(
            cosine=np.array([cosines.get(one, 0.0) for one in ids], dtype=float),
            bm25=np.array([values.bm25.get(one, 0.0) for one in ids], dtype=float),
            mentions=np.array([values.mentions.get(one, 0.0) for one in ids], dtype=float),
            preference=np.array([values.preferences.get(one, 0.0) for one in ids], dtype=float),
            topic=np.array([values.topics.get(one, 0.0) for one in ids], dtype=float),
            tokens=tokens.astype(float),
            session=np.array([numbers.setdefault(name, len(numbers)) for name in sessions], dtype=int),
            voice=np.array(
                [voices.setdefault(voice, len(voices)) for voice in zip(speakers, agents.tolist(), strict=True)],
                dtype=int,
            ),
            occurred=times,
            importance=importances.astype(float),
            by_agent=agents,
            spoken=np.array([speaker != "" for speaker in speakers], dtype=bool),
            named=np.array([speaker in named for speaker in speakers], dtype=bool),
            asks=asks,
            in_span=in_span,
            pairs=_pairs(ids, rows[-1].strong, rows[-1].neighbours, rows[-1].distances),
        ),
    )


def _floats(packed: bytes) -> list[float]:
    return np.frombuffer(packed, ">f8").tolist()


def _pairs(
    ids: Sequence[str], strong: Sequence[str], neighbours: Sequence[str], distances: Sequence[int]
) -> np.ndarray:
    """Returns the pairs of `Candidates` whose members are both among `ids`."""
    places = {identity: place for place, identity in enumerate(ids)}
    pairs = [
        (places[one], places[other], distance)
        for one, other, distance in zip(strong, neighbours, distances, strict=True)
        if one in places and other in places
    ]
    return np.array(pairs, dtype=int).reshape(-1, 3)
