"""The read route: arms → fusion → the memories themselves."""

from __future__ import annotations

import time
import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson

from memory.enums import MemoryState
from memory.models.sql import fetch
from memory.retrieval.arms import dense, lexical
from memory.retrieval.fusion import Candidate, fuse, weights_for
from memory.retrieval.question import Question
from memory.text.vectors import halfvec_literal
from memory.types import Scope

# What each arm hands to the fusion: more than top_k, so that a memory both like can pass one that a single arm loves.
POOL = 100
ARMS = ("dense", "lexical")


@dataclass(frozen=True, slots=True)
class Hit:
    """One memory that came back. `similarity`: cosine of its best passage to the question (0 without a vector)."""

    id: uuid.UUID
    session: str
    turn: int
    role: str
    speaker: str
    text: str
    metadata: dict[str, Any]
    tier: str
    occurred_at: datetime
    created_at: datetime
    importance: float
    tokens: int
    similarity: float
    overlap: float
    rank: int
    candidate: Candidate

    @property
    def score(self) -> float:
        """The fused score that the ranking follows."""
        return self.candidate.score


@dataclass(frozen=True, slots=True)
class Retrieval:
    """Hits, best first; how many memories were considered; the arms' weights; milliseconds of each step."""

    hits: list[Hit]
    considered: int
    weights: dict[str, float]
    milliseconds: dict[str, float]


def retrieve(scope: Scope, question: Question, *, top_k: int, arms: Collection[str] | None = None) -> Retrieval:
    """The `top_k` memories of the namespace that answer the question best.

    `arms` names those of ARMS that take part; the others neither search nor weigh (None: all do).
    """
    clock = _Clock()
    pool = max(POOL, top_k)
    taking_part = [arm for arm in ARMS if arms is None or arm in arms]
    by_words = lexical.search(scope, question, limit=pool) if "lexical" in taking_part else []
    clock.lap("lexical")
    by_meaning = []
    if "dense" in taking_part:
        # Each memory that words found is scored by meaning too: else it would count as unrelated for being far down.
        by_meaning = dense.search(scope, question, limit=pool, also=[hit.memory_id for hit in by_words])
    clock.lap("dense")
    found = {arm: hits for arm, hits in (("dense", by_meaning), ("lexical", by_words)) if arm in taking_part}
    weights = _among(weights_for(question.familiarity), taking_part)
    candidates, considered = fuse(found, weights, limit=top_k)
    clock.lap("fusion")
    hits = _fetch(scope, question, candidates)
    clock.lap("fetch")
    return Retrieval(hits, considered, weights, clock.laps)


def _among(weights: Mapping[str, float], arms: Sequence[str]) -> dict[str, float]:
    """The weights of those arms, summing to 1; arms that together weigh nothing count alike."""
    total = sum(weights[arm] for arm in arms)
    return {arm: weights[arm] / total if total else 1 / len(arms) for arm in arms}


_ROWS = """
SELECT m.id, m.session, m.turn, m.role, m.speaker, m.text, m.metadata::text, m.tier, m.occurred_at, m.created_at,
       m.importance, m.tokens,
       coalesce((SELECT 1 - min(v.embedding <=> %(vector)s::halfvec) FROM memory_memoryvector v
                 WHERE v.namespace_id = m.namespace_id AND v.model_id = %(model_id)s AND v.memory_id = m.id), 0),
       (SELECT count(*) FROM unnest(m.terms) AS t (term) WHERE t.term = ANY(%(terms)s::text[]))
FROM memory_memory m
WHERE m.namespace_id = %(namespace_id)s AND m.id = ANY(%(ids)s::uuid[]) AND m.state = %(state)s
"""


def _fetch(scope: Scope, question: Question, candidates: Sequence[Candidate]) -> list[Hit]:
    if not candidates:
        return []
    parameters = {
        "vector": halfvec_literal(question.vector),
        "model_id": question.model_id,
        "namespace_id": scope.namespace_id,
        "ids": [candidate.memory_id for candidate in candidates],
        "terms": question.terms,
        "state": MemoryState.ACTIVE.value,
    }
    rows = {row[0]: row for row in fetch(_ROWS, parameters, prepared=True)}
    # A memory may have been archived between the search and this read: then it is not there.
    kept = [(candidate, rows[candidate.memory_id]) for candidate in candidates if candidate.memory_id in rows]
    return [_hit(question, candidate, row, rank) for rank, (candidate, row) in enumerate(kept, start=1)]


def _hit(question: Question, candidate: Candidate, row: tuple, rank: int) -> Hit:
    (identity, session, turn, role, speaker, text, metadata, tier, occurred_at, created_at, importance, tokens) = row[
        :12
    ]
    similarity, shared = row[12:]
    overlap = shared / len(question.terms) if question.terms else 0.0
    return Hit(
        identity, session, turn, role, speaker, text, orjson.loads(metadata), tier, occurred_at, created_at, importance,
        tokens, similarity, overlap, rank, candidate,
    )  # fmt: skip


class _Clock:
    def __init__(self) -> None:
        self.laps: dict[str, float] = {}
        self._last = time.perf_counter()

    def lap(self, name: str) -> None:
        now = time.perf_counter()
        self.laps[name] = round((now - self._last) * 1000, 3)
        self._last = now
