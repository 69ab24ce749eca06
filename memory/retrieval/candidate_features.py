"""Finds candidates by meaning, adds the turns around the strongest, and reads all features, in one SQL statement.

`named_words` runs before it, because names of speakers are taken out of the question's vector.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from memory.enums import MemoryState, Role
from memory.models.arrays import number_array, uuid_array
from memory.models.sql import fetch
from memory.retrieval import predicate
from memory.retrieval.arms import WordHits, dense
from memory.retrieval.arms.dense import Nearest
from memory.retrieval.question import Question
from memory.retrieval.signals import TURNS_AROUND, Candidates
from memory.text.names import speaker_key
from memory.types import Scope

# Each retriever returns far more than top_k, so that a memory that several signals favour can overtake one that only a
# single retriever ranks high. Words are cheap to score, and a memory without them certainly scores 0.
DENSE_POOL = 120
LEXICAL_POOL = 200
# The limit on candidates that are added because they happened in a time that the question names.
TIME_POOL = 50
# The turns around this many of the strongest candidates become candidates too.
STRONG = 25
# Longer texts never count as questions, whatever they end with, so their end is not read.
QUESTION_TOKENS = 200

_NOTHING_NEAR = """
{name}_passages AS (SELECT WHERE false),
{name} AS (SELECT NULL::uuid AS memory_id, 0::float8 AS cosine WHERE false)
"""

# Candidates get a first estimate of their score, and the turns around the strongest of them become candidates too, in
# order of occurrence. OFFSET 0 forces look-ups by key: the planner assumes that every namespace is small, and would
# read it whole. The result is one row of packed columns, because hundreds of rows of ten values each would cost more to
# fetch than to find.
_STATEMENT = """
WITH worded AS MATERIALIZED (
    SELECT * FROM unnest(%(worded)s::uuid[], %(scores)s::float8[]) AS w (memory_id, score)
), {near}, {timed}, compared AS MATERIALIZED (
    SELECT memory_id, max(cosine) AS cosine FROM (SELECT * FROM near UNION ALL SELECT * FROM timed) AS n
    GROUP BY memory_id
), strong AS MATERIALIZED (
    SELECT memory_id
    FROM compared FULL JOIN worded USING (memory_id), (
        SELECT coalesce(%(familiarity)s::float8 / 2 / nullif(greatest((SELECT max(cosine) FROM compared), 0), 0), 0)
                   AS by_meaning,
               coalesce((1 - %(familiarity)s::float8 / 2) / nullif((SELECT max(score) FROM worded), 0), 0) AS by_words
    ) AS guess
    ORDER BY (coalesce(cosine, 0) * by_meaning + coalesce(score, 0) * by_words)::float4 DESC, memory_id
    LIMIT %(strong)s
), pairs AS MATERIALIZED (
    SELECT s.id AS strong, n.id AS neighbour, n.distance FROM (
        SELECT id, session, turn, occurred_at FROM memory_memory
        WHERE namespace_id = %(namespace_id)s AND id = ANY((SELECT array_agg(memory_id) FROM strong)::uuid[])
          AND NOT is_preference
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
), known AS MATERIALIZED (
    SELECT array_agg(memory_id) AS ids FROM (
        SELECT memory_id FROM worded UNION SELECT memory_id FROM compared UNION SELECT neighbour FROM pairs
        UNION SELECT unnest(%(others)s::uuid[])
    ) AS every
), measured AS MATERIALIZED (
    SELECT memory_id, cosine FROM compared
    UNION ALL
    SELECT memory_id, (1 - min(embedding <=> %(vector)s::halfvec)) * %(length)s::float8 FROM memory_memoryvector
    WHERE namespace_id = %(namespace_id)s AND model_id = %(model_id)s AND memory_id = ANY((
        SELECT array_agg(id) FROM (SELECT unnest(ids) AS id FROM known EXCEPT SELECT memory_id FROM compared) AS others
    )::uuid[])
    GROUP BY memory_id
), found AS MATERIALIZED (
    SELECT m.id, m.session, m.role, m.speaker, m.occurred_at, m.tokens, m.importance,
           m.tokens < %(question_tokens)s AND right(rtrim(m.text), 1) IN ('?', '？') AS asks
    FROM (
        SELECT * FROM memory_memory
        WHERE namespace_id = %(namespace_id)s AND id = ANY((SELECT ids FROM known)::uuid[])
        OFFSET 0
    ) m
    WHERE m.state = %(state)s AND (NOT m.is_preference OR %(preferences)s::bool)
      AND (m.valid_to IS NULL OR m.valid_to > coalesce(%(holding_at)s::timestamptz, '-infinity')) {narrowing}
    ORDER BY m.id
)
SELECT array_agg(id::text), string_agg(uuid_send(id), ''), array_agg(session::text), array_agg(speaker::text),
       string_agg(int4send(tokens), ''), string_agg(float8send(importance), ''),
       string_agg(float8send(extract(epoch FROM occurred_at)::float8), ''), string_agg(boolsend(asks), ''),
       string_agg(boolsend(role = %(agent)s), ''),
       (SELECT string_agg(uuid_send(memory_id) || float8send(cosine), '') FROM measured),
       (SELECT string_agg(uuid_send(strong) || uuid_send(neighbour) || int4send(distance), '') FROM pairs),
       (SELECT array_agg(memory_id::text) FROM near), (SELECT count(*) FROM near_passages),
       (SELECT count(*) FROM timed), (SELECT count(*) FROM timed_passages)
FROM found
"""

# The layout of measured cosines and pairs as the statement packs them; ids as bytes sort as in PostgreSQL.
_MEASURED = np.dtype([("id", "S16"), ("cosine", ">f8")])
_PAIRS = np.dtype([("strong", "S16"), ("neighbour", "S16"), ("distance", ">i4")])


class _PackedRow(NamedTuple):
    """Holds the row that the statement returns: the candidates by id, `measured` cosines, and pairs of neighbours.

    `near` has the ids of the nearest memories, best first. Fields of bytes hold values one after the other, as
    PostgreSQL sends them.
    """

    ids: list[str]
    keys: bytes
    sessions: list[str]
    speakers: list[str]
    tokens: bytes
    importances: bytes
    occurred: bytes
    asks: bytes
    by_agent: bytes
    measured: bytes
    pairs: bytes
    near: list[str]
    near_passages: int
    timed: int
    timed_passages: int


_EMPTY = _PackedRow([], b"", [], [], b"", b"", b"", b"", b"", b"", b"", [], 0, 0, 0)


@dataclass(frozen=True, slots=True)
class CandidateFeatures:
    """Holds candidates and their ids in the same order, oldest first, because ids sort by time."""

    ids: list[str]
    candidates: Candidates


@dataclass(frozen=True, slots=True)
class Found:
    """Holds candidates with their features, and by retriever the ranks of the memories that it found (1 is first).

    `question`: the question with the speakers that it names. `by_words` has the count of memories for each of its
    terms.
    """

    question: Question
    features: CandidateFeatures
    by_words: WordHits
    ranks: dict[str, dict[str, int]]


@dataclass(frozen=True, slots=True)
class KnownValues:
    """Holds the values that other searches computed, by memory id.

    `bm25`: scores by words; `mentions`: the weight of named entities; `preferences`: how well these fit the
    question.
    """

    bm25: Mapping[str, float]
    mentions: Mapping[str, float]
    preferences: Mapping[str, float]


def find_by_meaning(
    scope: Scope, question: Question, known: KnownValues, *, taking_part: Collection[str], pool: int
) -> tuple[CandidateFeatures, dict[str, int]]:
    """Finds the nearest memories, and returns the features of all candidates and the ranks of the nearest by id.

    Candidates are the nearest memories, those from the times that the question names, the `known` ones that still
    exist, and the turns up to TURNS_AROUND from a strong candidate, in order of occurrence. All meet the question's
    predicate. `pool`: the least number of nearest memories.
    """
    searches = []
    if "dense" in taking_part:
        limit = max(DENSE_POOL, pool)
        searches.append(dense.nearest(scope, question, limit=limit, predicate=question.predicate))
    if "time" in taking_part and question.spans:
        then = predicate.both(question.predicate, predicate.within(question.spans))
        searches.append(dense.nearest(scope, question, limit=TIME_POOL, name="timed", predicate=then))
    strong = STRONG if "neighbours" in taking_part else 0

    def fetch_row(chosen: Sequence[Nearest]) -> tuple[_PackedRow, list[tuple[int, int]]]:
        return _fetch_row(scope, question, known, chosen, strong=strong)

    row = dense.run(searches, fetch_row)
    ranks = {memory_id: rank for rank, memory_id in enumerate(row.near, start=1)}
    return _unpack(question, row, known), ranks


def read_features(scope: Scope, question: Question, ids: Collection[str]) -> CandidateFeatures:
    """Reads the features and cosines of those memories that exist and meet the question's predicate."""
    known = KnownValues({}, dict.fromkeys(ids, 0.0), {})
    row, _ = _fetch_row(scope, question, known, [], strong=0)
    return _unpack(question, row, known)


def _fetch_row(
    scope: Scope, question: Question, known: KnownValues, searches: Sequence[Nearest], *, strong: int
) -> tuple[_PackedRow, list[tuple[int, int]]]:
    parameters: dict[str, Any] = {
        **dense.parameters_of(scope, question, preferences=question.searches_preferences),
        "worded": uuid_array(known.bm25),
        "scores": number_array(known.bm25.values()),
        "others": uuid_array({**known.mentions, **known.preferences}),
        "familiarity": question.familiarity,
        "strong": strong,
        "around": TURNS_AROUND,
        "question_tokens": QUESTION_TOKENS,
        "agent": Role.AGENT.value,
        "holding_at": question.holding_at,
        "state": MemoryState.ACTIVE.value,
    }
    for condition in (question.predicate, *(search.predicate for search in searches)):
        if condition is not None:
            parameters |= condition.parameters
    written = {search.name: search.expressions(len(question.vector)) for search in searches}
    statement = _STATEMENT.format(
        near=written.get("near") or _NOTHING_NEAR.format(name="near"),
        timed=written.get("timed") or _NOTHING_NEAR.format(name="timed"),
        narrowing=f"AND {question.predicate.sql}" if question.predicate else "",
    )
    is_prepared = question.predicate is None and all(dense.is_preparable(search) for search in searches)
    [values] = fetch(statement, parameters, prepared=is_prepared, binary=True)
    # Aggregates over no rows are NULL.
    row = _PackedRow._make(empty if value is None else value for value, empty in zip(values, _EMPTY, strict=True))
    counts = {"near": (len(row.near), row.near_passages), "timed": (row.timed, row.timed_passages)}
    return row, [counts[search.name] for search in searches]


def _unpack(question: Question, row: _PackedRow, known: KnownValues) -> CandidateFeatures:
    keys, agents = np.frombuffer(row.keys, "S16"), np.frombuffer(row.by_agent, bool)
    times = np.frombuffer(row.occurred, ">f8").astype(float)
    sessions: dict[str, int] = {}
    voices: dict[tuple[str, bool], int] = {}
    names = question.named.union(question.name_keys)
    named = {speaker for speaker in set(row.speakers) if speaker_key(speaker) in names}
    in_span = np.zeros(len(row.ids), dtype=bool)
    for span in question.spans:
        in_span |= (times >= span.start.timestamp()) & (times < span.end.timestamp())
    measured = np.frombuffer(row.measured, _MEASURED)
    cosines = np.zeros(len(row.ids))
    places, are_known = _find_places(keys, measured["id"])
    cosines[places[are_known]] = measured["cosine"][are_known]
    candidates = Candidates(
        cosine=cosines,
        bm25=_values_of(row.ids, known.bm25),
        mentions=_values_of(row.ids, known.mentions),
        preference=_values_of(row.ids, known.preferences),
        tokens=np.frombuffer(row.tokens, ">i4").astype(float),
        session=np.array([sessions.setdefault(name, len(sessions)) for name in row.sessions], dtype=int),
        voice=np.array(
            [voices.setdefault(voice, len(voices)) for voice in zip(row.speakers, agents.tolist(), strict=True)],
            dtype=int,
        ),
        occurred=times,
        importance=np.frombuffer(row.importances, ">f8").astype(float),
        by_agent=agents,
        spoken=np.array([speaker != "" for speaker in row.speakers], dtype=bool),
        named=np.array([speaker in named for speaker in row.speakers], dtype=bool),
        asks=np.frombuffer(row.asks, bool),
        in_span=in_span,
        pairs=_unpack_pairs(keys, np.frombuffer(row.pairs, _PAIRS)),
    )
    return CandidateFeatures(row.ids, candidates)


def _unpack_pairs(keys: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """Returns the pairs of `Candidates` whose members are both among the sorted `keys`."""
    strong, are_strong_known = _find_places(keys, pairs["strong"])
    neighbours, are_known = _find_places(keys, pairs["neighbour"])
    return np.column_stack([strong, neighbours, pairs["distance"].astype(int)])[are_strong_known & are_known]


def _find_places(keys: np.ndarray, wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns the place of each wanted key among the sorted `keys`, and an array that tells which of them exist."""
    if not len(keys):
        return np.zeros(len(wanted), int), np.zeros(len(wanted), bool)
    places = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return places, keys[places] == wanted


def _values_of(ids: Sequence[str], values: Mapping[str, float]) -> np.ndarray:
    """Looks up the value of each id, 0 if there is none; most questions have no values at all."""
    if not values:
        return np.zeros(len(ids))
    return np.array([values.get(one, 0.0) for one in ids], dtype=float)
