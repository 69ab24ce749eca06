"""Reads candidates as hits: memories with everything that an answer says about them."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, tzinfo
from sys import intern
from typing import Any

import orjson

from memory.enums import LinkKind, MemoryState, Review
from memory.kinds import IS_DERIVED_SQL
from memory.models import HOLDS_ON
from memory.models.arrays import uuid_array
from memory.models.memory import spans_of
from memory.models.sql import fetch
from memory.retrieval.columns.kept import KeptMemories
from memory.retrieval.fusion import SIGNALS, Candidate, Contribution
from memory.retrieval.hit_memory import HitMemory, Later
from memory.retrieval.near_duplicates import Words
from memory.retrieval.predicate import RETIRED_THEN, TEXT_THEN, WAS_RETIRED
from memory.retrieval.question import Question
from memory.retrieval.relevance import HitEvidence
from memory.text.asking import DATED_TERMS
from memory.text.excerpts import Excerpt
from memory.text.places import name_place
from memory.text.utterances import live_text
from memory.types import Scope

_DATED = frozenset(DATED_TERMS)


@dataclass(slots=True)
class Hit:
    """Holds one returned memory with its results for the question. Instances must not be changed; use `replace`.

    `overlap`: the share (0..1) of the question's terms that it holds. `relevance`: the probability (0..1) that it
    answers the question (`retrieval/relevance.py`). `restated_by`: memories that say the same and are therefore not
    shown. `replaces`: the older memory below it, whose place it took (`retrieval/recency.py`). `excerpt`: the returned
    part of a long text. The fields of the memory are attributes of the hit as well.
    """

    memory: HitMemory
    candidate: Candidate
    overlap: float = 0.0
    rank: int = 0
    relevance: float = 0.0
    restated_by: Sequence[uuid.UUID] = ()
    replaces: uuid.UUID | None = None
    excerpt: Excerpt | None = None

    def in_zone(self, zone: tzinfo) -> Hit:
        """Returns the same hit with its times in `zone`."""
        return replace(self, memory=self.memory.in_zone(zone))

    @property
    def id(self) -> uuid.UUID:
        return self.memory.id

    @property
    def id_text(self) -> str:
        return self.memory.id_text

    @property
    def session(self) -> str:
        return self.memory.session

    @property
    def turn(self) -> int:
        return self.memory.turn

    @property
    def role(self) -> str:
        return self.memory.role

    @property
    def speaker(self) -> str:
        return self.memory.speaker

    @property
    def text(self) -> str:
        """Returns the excerpt if there is one, else the memory's text."""
        return self.memory.text if self.excerpt is None else self.excerpt.text

    @property
    def metadata(self) -> dict[str, Any]:
        """Returns the client's metadata, and `excerpt` with the excerpt's place in the text if there is one."""
        if self.excerpt is None:
            return self.memory.metadata
        return {**self.memory.metadata, "excerpt": self.excerpt.to_dict()}

    @property
    def tier(self) -> str:
        return self.memory.tier

    @property
    def occurred_at(self) -> datetime:
        return self.memory.occurred_at

    @property
    def created_at(self) -> datetime:
        return self.memory.created_at

    @property
    def importance(self) -> float:
        return self.memory.importance

    @property
    def tokens(self) -> int:
        return self.memory.tokens

    @property
    def retired(self) -> Sequence[tuple[int, int]]:
        return self.memory.retired

    @property
    def later(self) -> Sequence[Later]:
        return self.memory.later

    @property
    def suspected(self) -> bool:
        return self.memory.suspected

    @property
    def sources(self) -> Sequence[uuid.UUID]:
        return self.memory.sources

    @property
    def words(self) -> Words:
        return self.memory.words

    @property
    def score(self) -> float:
        """Returns the score by which hits are ranked."""
        return self.candidate.score

    @property
    def place(self) -> str:
        """Returns a chunk's place in its document, such as `page 3, Invoices > Totals`; empty for other memories."""
        return name_place(self.metadata) if self.turn < 0 else ""

    @property
    def similarity(self) -> float:
        """Returns the cosine similarity of the nearest passage to the question."""
        part = self.candidate.parts.get("dense")
        return part.raw if part else 0.0

    @property
    def bm25(self) -> float:
        """Returns the BM25 score of the memory for the question (0 if they share no word)."""
        part = self.candidate.parts.get("lexical")
        return part.raw if part else 0.0

    @property
    def evidence(self) -> HitEvidence:
        """Returns the hit's own evidence for its relevance, without the evidence that all candidates share."""
        return HitEvidence(self.similarity, self.bm25, "people" in self.candidate.parts, self.score)


_ROWS = """
SELECT m.id, m.session, m.turn, m.role, m.speaker, {text}, m.metadata::text, m.tier, m.occurred_at, m.created_at,
       m.importance, m.tokens, array_to_string(m.terms, ' '), {retired}, {later}, m.review, {sources},
       cardinality(m.retired_spans) = 0
       AND NOT EXISTS (SELECT FROM memory_memorylink l WHERE l.namespace_id = m.namespace_id AND l.other_id = m.id
                       AND l.kind = 'supersedes')
FROM memory_memory m
WHERE m.namespace_id = %(namespace_id)s AND m.id = ANY(%(ids)s::uuid[]) AND m.state = %(state)s
"""


# A link from a newer memory, or a statement that a newer memory retired, starts a chain of links; the newest memory of
# the chain that the question may find is returned, unless the chain leads back to the memory itself. Links are read
# first, because most memories have none, and OFFSET 0 makes each step a look-up: PostgreSQL's statistics of recently
# filled tables are too poor to choose that plan, and with 505 preferences 50 hits took 3 s.
_LATER = """(
    SELECT json_agg(json_build_array(n.id, l.start, l."end", n.text, n.retired, n.occurred_at, l.is_retired)
                    ORDER BY n.occurred_at DESC, n.id DESC)
    FROM (
        SELECT o.memory_id AS newer, coalesce(o.start, 0) AS start, coalesce(o."end", length(m.text)) AS "end",
               false AS is_retired
        FROM memory_memorylink o
        WHERE o.namespace_id = m.namespace_id AND o.other_id = m.id AND o.kind = 'supersedes' AND {known}
          AND NOT EXISTS (SELECT FROM memory_retiredstatement r WHERE r.namespace_id = m.namespace_id
                          AND r.memory_id = m.id AND r.by = o.memory_id AND {retired_by_then})
        UNION ALL
        SELECT r.by, r.start, r."end", true FROM memory_retiredstatement r
        WHERE r.namespace_id = m.namespace_id AND r.memory_id = m.id AND r.by <> m.id AND {retired_by_then}
        OFFSET 0
    ) AS l, LATERAL (
        WITH RECURSIVE chain (id) AS (
            SELECT l.newer
            UNION
            SELECT next.newer FROM chain c, LATERAL (
                SELECT o.memory_id AS newer FROM memory_memorylink o
                WHERE o.namespace_id = %(namespace_id)s AND o.other_id = c.id AND o.kind = 'supersedes' AND {known}
                OFFSET 0
            ) AS next
        )
        SELECT one.* FROM chain c, LATERAL (
            SELECT m.id, {text} AS text, {retired} AS retired, m.occurred_at FROM memory_memory m
            WHERE m.namespace_id = %(namespace_id)s AND m.id = c.id AND m.state = %(state)s
              AND (NOT m.is_preference OR %(preferences)s::bool)
              AND (m.valid_to IS NULL OR m.valid_to > coalesce(%(holding_at)s::timestamptz, '-infinity')) {narrowing}
            OFFSET 0
        ) AS one
        ORDER BY one.occurred_at DESC, one.id DESC LIMIT 1
    ) AS n
    WHERE n.id <> m.id
)::text"""
_KNOWN_THEN = "coalesce(o.created_at <= %(as_of)s::timestamptz, true)"
_RETIRED_NOW = f"r.withdrawn_at IS NULL AND r.valid_to < '{HOLDS_ON:%Y-%m-%d}'"


_SOURCES = f"""CASE WHEN {IS_DERIVED_SQL} OR m.metadata ? 'answer' THEN (
    SELECT array_agg(s.other_id) FROM memory_memorylink s
    WHERE s.namespace_id = m.namespace_id AND s.memory_id = m.id AND s.kind = '{LinkKind.DERIVED_FROM.value}'
) END"""  # noqa: S608 - put together from constants


def read_hits(
    scope: Scope,
    question: Question,
    candidates: Sequence[Candidate],
    *,
    dates: bool,
    kept: KeptMemories | None = None,
) -> list[Hit]:
    """Reads the candidates as hits, best first, without memories that were deleted meanwhile.

    `dates`: hits that say when something happened get a higher score. Memories in the cache `kept` are not read again.
    """
    if not candidates:
        return []
    known = {} if kept is None else kept.get([candidate.id for candidate in candidates])
    unknown = [candidate.id for candidate in candidates if candidate.id not in known]
    if unknown:
        moment = kept.moment if kept is not None else 0
        read = _read(scope, question, unknown, kept)
        known |= read
        if kept is not None:
            kept.keep([memory for memory in read.values() if memory.is_alone], since=moment)
    # A memory may have been archived between the search and this read.
    hits = [
        _hit(question, candidate, known[candidate.id], dates=dates) for candidate in candidates if candidate.id in known
    ]
    if dates:
        hits.sort(key=lambda hit: hit.score, reverse=True)
    return hits


def _read(scope: Scope, question: Question, ids: Sequence[str], kept: KeptMemories | None) -> dict[str, HitMemory]:
    parameters = {
        "namespace_id": scope.namespace_id,
        "ids": uuid_array(ids),
        "state": MemoryState.ACTIVE.value,
        "preferences": question.searches_preferences,
        "holding_at": question.holding_at,
    }
    text, spans, known, retired, narrowing = "m.text", "m.retired_spans", "true", _RETIRED_NOW, ""
    if question.as_of is not None or question.valid_at is not None:
        spans, known, retired = RETIRED_THEN, _KNOWN_THEN, WAS_RETIRED
        parameters |= {"as_of": question.as_of, "valid_at": question.valid_at}
    if question.as_of is not None:
        text = TEXT_THEN
    if question.predicate is not None:
        narrowing = f"AND {question.predicate.sql}"
        parameters |= question.predicate.parameters
    later = _LATER.format(known=known, retired_by_then=retired, text=text, retired=spans, narrowing=narrowing)
    statement = _ROWS.format(text=text, retired=spans, later=later, sources=_SOURCES)
    rows = fetch(statement, parameters, prepared=question.predicate is None, binary=True, by_key=True)
    memories = [_make(row, kept) for row in rows]
    return {memory.id_text: memory for memory in memories}


def _make(row: tuple, kept: KeptMemories | None) -> HitMemory:
    known = None if kept is None else kept.find_made_of(row)
    if known is not None:
        return known
    memory = _read_hit_memory(row)
    if kept is not None and not memory.is_alone:
        kept.keep_made_of(row, memory)
    return memory


def _read_hit_memory(row: tuple) -> HitMemory:
    (identity, session, turn, role, speaker, text, metadata, tier, occurred_at, created_at, importance, tokens, terms,
     retired, later, review, sources, is_alone) = row  # fmt: skip
    gone = spans_of(retired or [])
    still_there, was_retired = _later(text, later)
    return HitMemory(
        identity, session, turn, role, speaker, live_text(text, gone), orjson.loads(metadata), tier, occurred_at,
        created_at, importance, tokens, tuple(map(intern, terms.split())), gone, still_there, was_retired,
        review == Review.SUSPECTED, sources or (), is_alone and sources is None,
    )  # fmt: skip


def _later(text: str, packed: str | None) -> tuple[list[Later], list[Later]]:
    """Unpacks newer memories that replace words still in `text`, and newer memories that replace retired words of it.

    A newer memory that replaces several spans is listed once, with the longest of them.
    """
    found: tuple[dict[uuid.UUID, Later], dict[uuid.UUID, Later]] = {}, {}
    for newer, start, end, said, gone, moment, is_retired in orjson.loads(packed) if packed else ():
        one = Later(
            uuid.UUID(newer), text[start:end], live_text(said, spans_of(gone or [])), datetime.fromisoformat(moment)
        )
        known = found[is_retired].get(one.memory_id)
        if one.text.strip() and (known is None or len(known.words) < len(one.words)):
            found[is_retired][one.memory_id] = one
    return list(found[False].values()), list(found[True].values())


def _hit(question: Question, candidate: Candidate, memory: HitMemory, *, dates: bool) -> Hit:
    asked = question.terms
    overlap = len(set(asked).intersection(memory.terms)) / len(asked) if asked else 0.0
    if dates and not _DATED.isdisjoint(memory.terms):
        candidate = candidate.with_part("dated", Contribution(1.0, None, SIGNALS["dated"]))
    return Hit(memory, candidate, overlap)
