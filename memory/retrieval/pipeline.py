"""Runs a retrieval: retrievers → signals → fusion → the memories themselves → rerank → restatements → successors."""

from __future__ import annotations

import heapq
import time
import uuid
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import islice

from memory import tracing
from memory.enums import ARMS
from memory.retrieval import beside, places, rerank, speakers
from memory.retrieval.arms import preferences as preference_arm
from memory.retrieval.arms import topics as topic_arm
from memory.retrieval.arms.searches import NAME_SEARCHES, VECTOR_SEARCHES, WORD_SEARCHES, Findings, Search
from memory.retrieval.columns import candidates
from memory.retrieval.columns.candidates import Found
from memory.retrieval.columns.kept import KeptMemories
from memory.retrieval.columns.load import Changes
from memory.retrieval.columns.store import columns_for
from memory.retrieval.fusion import SIGNALS, Ranking, rank
from memory.retrieval.hits import Hit
from memory.retrieval.left_out import Dropped, list_dropped
from memory.retrieval.places import PackedRow
from memory.retrieval.question import Question
from memory.retrieval.reading import SPREAD_WEIGHT, HitReader
from memory.retrieval.recency import Succession
from memory.retrieval.relevance import NO_EVIDENCE, AnswerEvidence, evidence_of
from memory.retrieval.size import is_large
from memory.types import Scope

# The turns around this many of the best become candidates too.
STRONG = 25


@dataclass(frozen=True, slots=True)
class Retrieval:
    """Holds hits, best first; how many memories were considered; weights of retrievers and signals; milliseconds of
    each step.

    `evidence` is the candidates' evidence for whether the question is answered; the hits' relevance is computed from
    it, and so is `answerability`: how likely (0..1) one of the hits answers the question. `dropped`: the best of the
    rejected candidates, when they were asked for. `degraded`: what did not work fully.
    """

    hits: list[Hit]
    considered: int
    weights: dict[str, float]
    milliseconds: dict[str, float]
    evidence: AnswerEvidence = NO_EVIDENCE
    answerability: float = 0.0
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
    changes: Changes | None = None,
) -> Retrieval:
    """Returns the `top_k` memories of the namespace that answer the question best; restatements count as one, with
    `collapse`.

    `arms` names the ARMS and SIGNALS to use (None: all). `show_dropped`: how many of the rejected candidates are
    listed; that does not change the hits. `changes`: what the caller has read for the columns of the namespace
    (`columns.store.last_seen`), which are brought up to date otherwise.

    Raises ValueError if `arms` names no arm.
    """
    clock = _Clock()
    taking_part = frozenset((*ARMS, *SIGNALS) if arms is None else arms)
    if taking_part.isdisjoint(ARMS):
        raise ValueError(
            f"arms names no arm: {sorted(taking_part)}. At least one of {', '.join(ARMS)} finds candidates."
        )
    reader, ranking, evidence = _first_stage(
        scope, question, taking_part=taking_part, clock=clock, changes=changes, collapse=collapse
    )
    if arms is None:
        with clock.step("rerank"):
            reader.rerank_first()
    with clock.step("restated"):
        succession = Succession(question.terms, read=reader.find, collapse=collapse)
        order = succession.order(reader.statements()) if arms is None else (hit for hit, *_ in reader.statements())
        hits = list(islice(order, top_k))
    said_again = reader.list_said_again(succession.said_by)
    shown_by_hits = [hit.evidence for hit in hits]
    relevance = evidence.relevance_of(shown_by_hits, is_calibrated=question.is_calibrated)
    hits = _judge_relevance(hits, said_again, relevance)
    return Retrieval(
        hits=hits,
        considered=len(ranking) + reader.outside,
        weights=ranking.weights,
        milliseconds=clock.laps,
        evidence=evidence,
        answerability=evidence.answerability(shown_by_hits, is_calibrated=question.is_calibrated),
        dropped=list_dropped(
            [succession.sunk.get(hit.id_text, hit.candidate) for hit in reader.hits] + reader.list_unread(show_dropped),
            [hit.memory.words for hit in reader.hits],
            hits,
            again=said_again,
            variety=SPREAD_WEIGHT if question.wants.many else 0.0,
        )[:show_dropped]
        if show_dropped
        else [],
        degraded=reader.degraded,
    )


def first_stage(scope: Scope, question: Question) -> tuple[Ranking, list[Hit]]:
    """Finds the starting point of `retrieve`: every candidate with the values of all retrievers and signals, and the
    best as hits.

    The ranking does without `dated`, which is only known for hits.
    """
    taking_part = (*ARMS, *SIGNALS)
    reader, ranking, _ = _first_stage(scope, question, taking_part=taking_part, clock=_Clock(), collapse=True)
    return ranking, reader.hits


def _first_stage(
    scope: Scope,
    question: Question,
    *,
    taking_part: Collection[str],
    clock: _Clock,
    collapse: bool,
    changes: Changes | None = None,
) -> tuple[HitReader, Ranking, AnswerEvidence]:
    """Ranks the candidates and reads the first step of them as hits; the evidence says what the namespace has for
    the question."""
    ranking, evidence, kept = _rank(scope, question, taking_part, pool=rerank.pool_size(), clock=clock, changes=changes)
    dates = question.wants.when and "dated" in taking_part
    reader = HitReader(scope, question, ranking, dates=dates, collapse=collapse, kept=kept)
    with clock.step("read"):
        reader.read_on()
    return reader, ranking, evidence


def _rank(
    scope: Scope,
    question: Question,
    taking_part: Collection[str],
    *,
    pool: int,
    clock: _Clock,
    changes: Changes | None,
) -> tuple[Ranking, AnswerEvidence, KeptMemories | None]:
    preferences: dict[str, float] = {}
    if "preference" in taking_part and question.tells_preferences:
        with clock.step("preferences"):
            preferences = preference_arm.match(scope, question)
    topics: dict[str, float] = {}
    if "topic" in taking_part and question.ranks_topics:
        with clock.step("topics"):
            topics = topic_arm.match(scope, question)
    kept = None
    with columns_for(scope, question, changes) as held:
        if held is not None:
            columns, statistics = held
            kept = columns.kept
            with clock.step("columns"):
                found = candidates.find(
                    columns, statistics, question, taking_part=taking_part, pool=pool, strong=STRONG,
                    preferences=preferences, topics=topics,
                )  # fmt: skip
    if held is None:
        found = _search(scope, question, taking_part, preferences, topics, pool=pool, clock=clock)
    places, by_words = found.places, found.by_words
    with clock.step("fusion"):
        ranking = rank(question, places, by_words=by_words, ranks=found.ranks, taking_part=taking_part)
    return ranking, evidence_of(found.question, places.candidates, by_words, ahead=ranking.ahead), kept


def _search(
    scope: Scope,
    question: Question,
    taking_part: Collection[str],
    preferences: Mapping[str, float],
    topics: Mapping[str, float],
    *,
    pool: int,
    clock: _Clock,
) -> Found:
    """Finds the candidates by the retrievers in SQL. In a large namespace words are searched in parallel, if
    possible."""
    findings = Findings()

    def run(searches: Sequence[Search]) -> None:
        for search in searches:
            if search.name in taking_part and search.applies(question):
                with clock.step(search.name):
                    search.find(scope, question, findings, pool)

    is_apart = is_large(scope)
    if is_apart:
        question = question.naming(speakers.find_named(scope, question, ()))
    of_words = _search_words_beside(scope, question, taking_part, pool=pool) if is_apart else None
    if of_words is None:
        run(WORD_SEARCHES)
    if not is_apart:
        question = question.naming(speakers.find_named(scope, question, findings.bm25))
    run(NAME_SEARCHES)
    # Waited for here, so that the dense retriever's time does not include it.
    with clock.step("vector"):
        _ = question.vector
    run(VECTOR_SEARCHES)
    read_by_words = None
    if of_words is not None:
        # The waiting time only: the rest of their time overlaps with the other searches.
        with clock.step("lexical"):
            found, read_by_words = of_words.result()
        findings.take_words(found)
    with clock.step("places"):
        strong = _strong(question, findings) if "neighbours" in taking_part else []
        read = places.read(
            scope, question, cosines=findings.cosines, bm25=findings.bm25, mentions=findings.mentions,
            preferences=preferences, topics=topics, strong=strong, by_words=read_by_words,
        )  # fmt: skip
    return Found(question, read, findings.by_words, findings.ranks)


def _search_words_beside(
    scope: Scope, question: Question, taking_part: Collection[str], *, pool: int
) -> Future[tuple[Findings, PackedRow]] | None:
    """Starts the searches by words in parallel, with the features of what they find; None if they do not run in
    parallel."""
    searches = [search for search in WORD_SEARCHES if search.name in taking_part and search.applies(question)]
    if not searches:
        return None

    def work() -> tuple[Findings, PackedRow]:
        findings = Findings()
        for search in searches:
            search.find(scope, question, findings, pool)
        return findings, places.read_found(scope, question, findings.bm25)

    return beside.begin(work)


def _strong(question: Question, findings: Findings) -> list[str]:
    """Returns the candidates that are likely to lend to their neighbours, by a first guess of their score."""
    cosines, bm25 = findings.cosines, findings.bm25
    best_cosine, best_bm25 = max(cosines.values(), default=0.0), max(bm25.values(), default=0.0)
    of_dense = question.familiarity / 2 / best_cosine if best_cosine > 0 else 0.0
    of_lexical = (1 - question.familiarity / 2) / best_bm25 if best_bm25 > 0 else 0.0
    guess = {memory_id: of_dense * cosine for memory_id, cosine in cosines.items()}
    for memory_id, score in bm25.items():
        guess[memory_id] = guess.get(memory_id, 0.0) + of_lexical * score
    return heapq.nlargest(STRONG, guess, key=guess.__getitem__)


def _judge_relevance(
    hits: Sequence[Hit], said_again: Mapping[uuid.UUID, uuid.UUID], relevance: Sequence[float]
) -> list[Hit]:
    """Returns the hits with their ranks, each with its relevance and the memories that say the same again."""
    restated: dict[uuid.UUID, list[uuid.UUID]] = {}
    for other, earlier in said_again.items():
        restated.setdefault(earlier, []).append(other)
    return [
        replace(hit, rank=rank, relevance=own, restated_by=restated.get(hit.id, []))
        for rank, (hit, own) in enumerate(zip(hits, relevance, strict=True), start=1)
    ]


class _Clock:
    def __init__(self) -> None:
        self.laps: dict[str, float] = {}

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Measures the time of the enclosed code, and makes it a span."""
        started = time.perf_counter()
        with tracing.span(f"recall {name}"):
            yield
        self.laps[name] = round((time.perf_counter() - started) * 1000, 3)
