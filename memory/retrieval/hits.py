"""Reads the memories that are handed over: a hit is a memory with all that an answer says of it."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import orjson

from memory.enums import LinkKind, MemoryState, Review
from memory.kinds import IS_DERIVED_SQL
from memory.models.memory import spans_of
from memory.models.sql import fetch, uuid_array
from memory.retrieval.former_text import RETIRED_THEN, TEXT_THEN
from memory.retrieval.fusion import SIGNALS, Candidate, Contribution
from memory.retrieval.later import Later
from memory.retrieval.question import Question
from memory.text.asking import DATED_TERMS
from memory.text.utterances import live_text
from memory.types import Scope


@dataclass(frozen=True, slots=True)
class Hit:
    """One memory that came back. `similarity` is its cosine similarity to the question (0 while it has no vector).

    `text` is without the statements that hold no longer, which stand in the memory at `retired` ([start, end)).
    `relevance` (0..1): how likely it is what the question looks for (`retrieval/relevance.py`).
    `restated_by`: the memories that say the same again and are not shown for that. `later`: what newer memories say in
    the place of words that still stand in it. `suspected`: it may try to steer its reader, and is to be shown as a
    quotation. `sources`: the turns that it rests on, when it is a fact or a preference.
    """

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
    overlap: float
    rank: int
    candidate: Candidate
    relevance: float = 0.0
    restated_by: list[uuid.UUID] = field(default_factory=list)
    retired: list[tuple[int, int]] = field(default_factory=list)
    later: list[Later] = field(default_factory=list)
    suspected: bool = False
    sources: list[uuid.UUID] = field(default_factory=list)

    @property
    def score(self) -> float:
        """The score that the ranking follows."""
        return self.candidate.score

    @property
    def similarity(self) -> float:
        """Cosine similarity of the nearest passage to the question."""
        part = self.candidate.parts.get("dense")
        return part.raw if part else 0.0

    @property
    def bm25(self) -> float:
        """BM25 score of the memory's words for the question (0 when they share none)."""
        part = self.candidate.parts.get("lexical")
        return part.raw if part else 0.0


_ROWS = """
SELECT m.id, m.session, m.turn, m.role, m.speaker, {text}, m.metadata::text, m.tier, m.occurred_at, m.created_at,
       m.importance, m.tokens,
       (SELECT count(*) FROM unnest(m.terms) AS t (term) WHERE t.term = ANY(%(terms)s::text[])),
       m.terms && %(dated)s::varchar[], {retired}, {later}, m.review, {sources}
FROM memory_memory m
WHERE m.namespace_id = %(namespace_id)s AND m.id = ANY(%(ids)s::uuid[]) AND m.state = %(state)s
"""


# What newer memories say in the place of words that could not be cut out. Not of what left search, or is back in it.
_LATER = """(
    SELECT json_agg(json_build_array(n.id, l.start, l."end", n.text, n.retired_spans, n.occurred_at)
                    ORDER BY n.occurred_at DESC, n.id DESC)
    FROM memory_memorylink l JOIN memory_memory n ON n.namespace_id = l.namespace_id AND n.id = l.memory_id
    WHERE l.namespace_id = m.namespace_id AND l.other_id = m.id AND l.kind = 'supersedes' AND l.start IS NOT NULL
      AND n.state = m.state AND n.superseded_by IS NULL AND m.superseded_by IS NULL
      AND NOT EXISTS (SELECT FROM memory_retiredstatement r
                      WHERE r.namespace_id = m.namespace_id AND r.memory_id = m.id AND r.by = l.memory_id)
)::text"""


_SOURCES = f"""CASE WHEN {IS_DERIVED_SQL} THEN (
    SELECT array_agg(s.other_id) FROM memory_memorylink s
    WHERE s.namespace_id = m.namespace_id AND s.memory_id = m.id AND s.kind = '{LinkKind.DERIVED_FROM.value}'
) END"""  # noqa: S608 - put together from constants


def read_hits(scope: Scope, question: Question, candidates: Sequence[Candidate], *, dates: bool) -> list[Hit]:
    """The candidates as hits, best first, without those that are gone by now. `dates`: those that say when something
    happened gain by it."""
    if not candidates:
        return []
    parameters = {
        "namespace_id": scope.namespace_id,
        "ids": uuid_array(str(candidate.memory_id) for candidate in candidates),
        "terms": question.terms,
        "dated": DATED_TERMS if dates else [],
        "state": MemoryState.ACTIVE.value,
    }
    text, spans, later = "m.text", "m.retired_spans", _LATER
    if question.as_of is not None or question.valid_at is not None:
        spans, later = RETIRED_THEN, "NULL"
        parameters |= {"as_of": question.as_of, "valid_at": question.valid_at}
    if question.as_of is not None:
        text = TEXT_THEN
    statement = _ROWS.format(text=text, retired=spans, later=later, sources=_SOURCES)
    rows = {row[0]: row for row in fetch(statement, parameters, prepared=True, binary=True, by_key=True)}
    # A memory may have been archived between the search and this read: then it is not there.
    hits = [
        _hit(question, candidate, rows[candidate.memory_id]) for candidate in candidates if candidate.memory_id in rows
    ]
    if dates:
        hits.sort(key=lambda hit: hit.score, reverse=True)
    return hits


def _later(text: str, packed: str | None) -> list[Later]:
    """From JSON: of each newer memory its id, the words [start, end) of `text` that it replaces, and what it says."""
    return [
        Later(uuid.UUID(newer), text[start:end], live_text(said, spans_of(gone)), datetime.fromisoformat(moment))
        for newer, start, end, said, gone, moment in orjson.loads(packed or "[]")
    ]


def _hit(question: Question, candidate: Candidate, row: tuple) -> Hit:
    (identity, session, turn, role, speaker, text, metadata, tier, occurred_at, created_at, importance, tokens) = row[
        :12
    ]
    gone = spans_of(row[14] or [])
    overlap = row[12] / len(question.terms) if question.terms else 0.0
    if row[13]:
        candidate = candidate.with_part("dated", Contribution(1.0, None, SIGNALS["dated"]))
    return Hit(
        identity, session, turn, role, speaker, live_text(text, gone), orjson.loads(metadata), tier, occurred_at,
        created_at, importance, tokens, overlap, 0, candidate, retired=gone,
        later=_later(text, row[15]),
        suspected=row[16] == Review.SUSPECTED, sources=row[17] or [],
    )  # fmt: skip
