"""The read route: arms → signals → fusion → the memories themselves → rerank → restatements."""

from __future__ import annotations

import heapq
import time
import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

import orjson

from memory.enums import ARMS, LinkKind, MemoryState, Review, Role
from memory.kinds import IS_FACT_SQL
from memory.models.memory import spans_of
from memory.models.sql import fetch, uuid_array
from memory.retrieval import places, predicate, rerank, retired
from memory.retrieval.arms import ArmHit, WordHits, dense, lexical
from memory.retrieval.entity_matches import mentions
from memory.retrieval.facts import match_facts_to_turns, put_turns_first
from memory.retrieval.former_text import RETIRED_THEN, TEXT_THEN
from memory.retrieval.fusion import SIGNALS, Candidate, Contribution, Ranking, rank
from memory.retrieval.later import Later, asks_for_words, newer_first
from memory.retrieval.latest import DatedHit, asks_for_value, asks_how_it_is, change_first, latest_first
from memory.retrieval.left_out import Dropped, list_dropped
from memory.retrieval.near_duplicates import SpokenHit, diversify, near_duplicates
from memory.retrieval.question import Question
from memory.retrieval.relevance import NO_EVIDENCE, AnswerEvidence, evidence_of
from memory.text.asking import DATED_TERMS
from memory.text.utterances import live_text, statements
from memory.types import Scope

# What each arm hands over: far more than top_k, so that a memory that several signals like can pass one that a single
# arm loves. Words are cheap to score, and a memory without them scores 0 for certain.
DENSE_POOL = 120
LEXICAL_POOL = 200
# What a time that the question names brings in besides.
TIME_POOL = 50
# The turns around so many of the best are looked at too.
STRONG = 25
# How many more memories than wanted are read, so that restatements do not leave the answer short.
SPARE = 12
# When a time is asked for, so many of the best are looked through for one that says it.
DATED_POOL = 60
# So many of the hits change places for the sake of the newest value: what stands lower is of another matter.
VALUE_HITS = 10
# What likeness to a hit above it costs, when many different memories are wanted.
SPREAD_WEIGHT = 0.1


@dataclass(frozen=True, slots=True)
class Hit:
    """One memory that came back. `similarity` is its cosine similarity to the question (0 while it has no vector).

    `text` is without the statements that hold no longer, which stand in the memory at `retired` ([start, end)).
    `relevance` (0..1): how likely it is what the question looks for (`retrieval/relevance.py`).
    `restated_by`: the memories that say the same again and are not shown for that. `later`: what newer memories say in
    the place of words that still stand in it. `suspected`: it may try to steer its reader, and is to be shown as a
    quotation. `sources`: the turns that it rests on, when it is a fact.
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


@dataclass(frozen=True, slots=True)
class Retrieval:
    """Hits, best first; how many memories were considered; weights of arms and signals; milliseconds of each step.

    `evidence` is what the candidates say of whether the question is answered; the hits' relevance is made of it.
    `dropped`: the best of those that did not come back, when they were asked for. `degraded`: what did not work fully.
    """

    hits: list[Hit]
    considered: int
    weights: dict[str, float]
    milliseconds: dict[str, float]
    evidence: AnswerEvidence = NO_EVIDENCE
    dropped: list[Dropped] = field(default_factory=list)
    degraded: list[str] = field(default_factory=list)


def retrieve(
    scope: Scope,
    question: Question,
    *,
    top_k: int,
    arms: Collection[str] | None = None,
    show_dropped: int = 0,
    collapse: bool = True,
) -> Retrieval:
    """The `top_k` memories of the namespace that answer the question best; restatements count as one, with `collapse`.

    `arms` names those of ARMS and SIGNALS that take part (None: all do). `show_dropped`: how many of the candidates
    that do not come back are listed; that changes nothing about those that do.

    Raises ValueError if `arms` names no arm.
    """
    clock = _Clock()
    taking_part = frozenset((*ARMS, *SIGNALS) if arms is None else arms)
    if taking_part.isdisjoint(ARMS):
        raise ValueError(
            f"arms names no arm: {sorted(taking_part)}. At least one of {', '.join(ARMS)} finds candidates."
        )
    reading = _reading(question, top_k, taking_part)
    ranking, hits, evidence = _first_stage(scope, question, reading=reading, taking_part=taking_part, clock=clock)
    degraded: list[str] = []
    if arms is None:
        hits, degraded = _rerank(question, hits)
        clock.lap("rerank")
    hits, again = _once(hits) if collapse else (hits, {})
    while len(hits) - len(again) < top_k and reading < len(ranking):
        # One statement said over and over took the places: read on.
        hits += _read(scope, question, _between(ranking, reading, 2 * reading), dates=False)
        reading *= 2
        hits, again = _once(hits)
    order = _order(question, hits, again, top_k)
    clock.lap("restated")
    chosen = _take_in_order(hits, again, order)
    shown = {place: hit.candidate for (place, _), hit in zip(order, chosen, strict=True)}
    if arms is None:
        chosen = _change_first(question, _replacing_first(question, _newest_value_first(question, chosen)))
    chosen = _judge_relevance(chosen, evidence)
    return Retrieval(
        hits=chosen,
        considered=len(ranking),
        weights=ranking.weights,
        milliseconds=clock.laps,
        evidence=evidence,
        dropped=list_dropped(
            [hit.candidate for hit in hits] + _between(ranking, reading, reading + show_dropped),
            [_to_spoken_hit(hit) for hit in hits],
            again=again,
            shown=shown,
            variety=SPREAD_WEIGHT if question.wants.many else 0.0,
        )[:show_dropped]
        if show_dropped
        else [],
        degraded=degraded,
    )


def first_stage(scope: Scope, question: Question, *, top_k: int) -> tuple[Ranking, list[Hit]]:
    """What `retrieve` starts from: every candidate with the values of all arms and signals, and the best as read.

    The ranking does without `dated`, which is only known of the hits.
    """
    everything = (*ARMS, *SIGNALS)
    reading = _reading(question, top_k, everything)
    return _first_stage(scope, question, reading=reading, taking_part=everything, clock=_Clock())[:2]


def _first_stage(
    scope: Scope, question: Question, *, reading: int, taking_part: Collection[str], clock: _Clock
) -> tuple[Ranking, list[Hit], AnswerEvidence]:
    """The ranking, the best `reading` of it read (dates, which only the texts tell, have moved them), and what the
    namespace has for the question."""
    ranking, evidence = _rank(scope, question, taking_part, pool=reading, clock=clock)
    dates = question.wants.when and "dated" in taking_part
    hits = _read(scope, question, _between(ranking, 0, reading), dates=dates)
    clock.lap("read")
    return ranking, hits, evidence


def _reading(question: Question, top_k: int, taking_part: Collection[str]) -> int:
    """How many candidates are read: as many as may be handed over, judged by the reranker or moved by their dates."""
    dates = question.wants.when and "dated" in taking_part
    return max(top_k + SPARE, rerank.pool_size(), DATED_POOL if dates else 0)


def _rank(
    scope: Scope, question: Question, taking_part: Collection[str], *, pool: int, clock: _Clock
) -> tuple[Ranking, AnswerEvidence]:
    by_words = WordHits([], 0.0, {})
    by_meaning: list[ArmHit] = []
    if "lexical" in taking_part:
        by_words = lexical.search(scope, question, limit=max(LEXICAL_POOL, pool))
        clock.lap("lexical")
    named: dict[str, float] = {}
    if "entities" in taking_part:
        named = mentions(scope, question.text)
        clock.lap("entities")
    # Waited for here, so that what the dense arm takes is its own.
    _ = question.vector
    clock.lap("vector")
    if "dense" in taking_part:
        by_meaning = dense.search(scope, question, limit=max(DENSE_POOL, pool))
        clock.lap("dense")
    in_time: list[ArmHit] = []
    if question.spans and "time" in taking_part:
        then = replace(question, predicate=predicate.both(question.predicate, predicate.within(question.spans)))
        in_time = dense.search(scope, then, limit=TIME_POOL)
        clock.lap("time")
    cosines = {hit.memory_id: hit.score for hit in (*by_meaning, *in_time)}
    bm25 = {hit.memory_id: hit.score for hit in by_words.hits}
    if "lexical" in taking_part:
        for memory_id, score in retired.matches(scope, question, limit=pool).items():
            bm25[memory_id] = max(score, bm25.get(memory_id, 0.0))
    strong = _strong(question, cosines, bm25) if "neighbours" in taking_part else []
    found = places.read(scope, question, cosines=cosines, bm25=bm25, mentions=named, strong=strong)
    clock.lap("places")
    ranks = {
        arm: {hit.memory_id: hit.rank for hit in hits}
        for arm, hits in (("dense", by_meaning), ("lexical", by_words.hits))
    }
    ranking = rank(question, found, by_words=by_words, ranks=ranks, taking_part=taking_part)
    clock.lap("fusion")
    return ranking, evidence_of(question, found.candidates.cosine, found.candidates.bm25, by_words)


def _strong(question: Question, cosines: Mapping[str, float], bm25: Mapping[str, float]) -> list[str]:
    """The candidates that are likely to lend to their neighbours, by a first guess of their score."""
    best_cosine, best_bm25 = max(cosines.values(), default=0.0), max(bm25.values(), default=0.0)
    of_dense = question.familiarity / 2 / best_cosine if best_cosine > 0 else 0.0
    of_lexical = (1 - question.familiarity / 2) / best_bm25 if best_bm25 > 0 else 0.0
    guess = {memory_id: of_dense * cosine for memory_id, cosine in cosines.items()}
    for memory_id, score in bm25.items():
        guess[memory_id] = guess.get(memory_id, 0.0) + of_lexical * score
    return heapq.nlargest(STRONG, guess, key=guess.__getitem__)


def _rerank(question: Question, hits: list[Hit]) -> tuple[list[Hit], list[str]]:
    """The hits in the order that the second stage gives them, if there is one; and what did not work."""
    read = rerank.rerank(question.text, [hit.text for hit in hits])
    if not read.parts:
        return hits, read.degraded
    judged = [
        replace(hit, candidate=hit.candidate.with_part("rerank", Contribution(part.raw, None, part.weighted)))
        for hit, part in zip(hits, read.parts, strict=False)
    ]
    # Those that it did not read stay behind those that it did.
    judged.sort(key=lambda hit: hit.score, reverse=True)
    return judged + hits[len(judged) :], read.degraded


def _once(hits: list[Hit]) -> tuple[list[Hit], dict[int, int]]:
    """The hits, and which of them say what an earlier one says: its place, and that one's."""
    hits = put_turns_first(hits)
    again = near_duplicates([_to_spoken_hit(hit) for hit in hits])
    return hits, again | match_facts_to_turns(hits, again)


def _order(question: Question, hits: Sequence[Hit], again: Collection[int], top_k: int) -> list[tuple[int, float]]:
    """Which of the hits are handed over, in order, each with what its likeness to those before it costs: each statement
    once; with variety, when many memories are wanted."""
    kept = [place for place in range(len(hits)) if place not in again]
    if not question.wants.many:
        return [(place, 0.0) for place in kept[:top_k]]
    said, scores = [_to_spoken_hit(hits[place]) for place in kept], [hits[place].score for place in kept]
    return [(kept[place], cost) for place, cost in diversify(said, scores, wanted=top_k, weight=SPREAD_WEIGHT)]


def _take_in_order(hits: Sequence[Hit], again: Mapping[int, int], order: Sequence[tuple[int, float]]) -> list[Hit]:
    others: dict[int, list[uuid.UUID]] = {}
    for place, earlier in again.items():
        others.setdefault(earlier, []).append(hits[place].id)
    chosen = []
    for number, (place, cost) in enumerate(order, start=1):
        hit = hits[place]
        candidate = hit.candidate.with_part("variety", Contribution(cost, None, -cost)) if cost else hit.candidate
        chosen.append(replace(hit, rank=number, candidate=candidate, restated_by=others.get(place, [])))
    return chosen


def _newest_value_first(question: Question, hits: list[Hit]) -> list[Hit]:
    """The hits, with those of the best that give a value for what is asked in the order of time, newest first. They
    change places and scores among themselves; the part `latest` says by how much."""
    if not asks_for_value(question.text):
        return hits
    return _reorder(hits, latest_first(question.text, _date_hits(hits[:VALUE_HITS])))


def _change_first(question: Question, hits: list[Hit]) -> list[Hit]:
    """The hits, with one of the best that tells of a change since the first was said before it. The part `latest` says
    by how much that moved them."""
    if not asks_how_it_is(question.text):
        return hits
    return _reorder(hits, change_first(question.text, _date_hits(hits[:VALUE_HITS])))


def _date_hits(hits: Sequence[Hit]) -> list[DatedHit]:
    return [
        DatedHit(
            statements(hit.text, speaker=hit.speaker, by_agent=hit.role == Role.AGENT),
            # Memories of one moment are told apart by their turns.
            hit.occurred_at + timedelta(microseconds=hit.turn),
        )
        for hit in hits
    ]


def _reorder(hits: list[Hit], order: Sequence[int]) -> list[Hit]:
    """The hits, the first of them in the given `order` of their places; each has the score of its new place."""
    moved = []
    for place, taken in enumerate(order):
        gain = hits[place].score - hits[taken].score
        moved.append(replace(_gaining(hits[taken], gain) if gain else hits[taken], rank=place + 1))
    return moved + hits[len(order) :]


def _judge_relevance(hits: Sequence[Hit], evidence: AnswerEvidence) -> list[Hit]:
    """The hits, each with its relevance."""
    return [replace(hit, relevance=evidence.relevance(cosine=hit.similarity, bm25=_bm25(hit))) for hit in hits]


def _bm25(hit: Hit) -> float:
    part = hit.candidate.parts.get("lexical")
    return part.raw if part else 0.0


def _replacing_first(question: Question, hits: list[Hit]) -> list[Hit]:
    """The hits, with those that replace words that are asked for before the hit that still holds them. The part
    `latest` says by how much that moved them."""

    def find_replacing(hit: Hit) -> list[uuid.UUID]:
        return [later.memory_id for later in hit.later if asks_for_words(question.text, later, hit.text)]

    return _reorder(hits, newer_first(hits, identity=lambda hit: hit.id, replaced_by=find_replacing))


def _gaining(hit: Hit, gain: float) -> Hit:
    gain += hit.candidate.parts["latest"].weighted if "latest" in hit.candidate.parts else 0.0
    return replace(hit, candidate=hit.candidate.with_part("latest", Contribution(gain, None, gain)))


def _to_spoken_hit(hit: Hit) -> SpokenHit:
    return SpokenHit(hit.speaker or hit.role, hit.text)


def _between(ranking: Ranking, first: int, end: int) -> list[Candidate]:
    return [ranking.candidate(place) for place in range(first, min(len(ranking), end))]


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


_SOURCES = f"""CASE WHEN {IS_FACT_SQL} THEN (
    SELECT array_agg(s.other_id) FROM memory_memorylink s
    WHERE s.namespace_id = m.namespace_id AND s.memory_id = m.id AND s.kind = '{LinkKind.DERIVED_FROM.value}'
) END"""  # noqa: S608 - put together from constants


def _read(scope: Scope, question: Question, candidates: Sequence[Candidate], *, dates: bool) -> list[Hit]:
    """The candidates as hits, best first. `dates`: those that say when something happened gain by it."""
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
    rows = {row[0]: row for row in fetch(statement, parameters, prepared=True, binary=True)}
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


class _Clock:
    def __init__(self) -> None:
        self.laps: dict[str, float] = {}
        self._last = time.perf_counter()

    def lap(self, name: str) -> None:
        now = time.perf_counter()
        self.laps[name] = round((now - self._last) * 1000, 3)
        self._last = now
