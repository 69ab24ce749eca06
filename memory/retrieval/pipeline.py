"""The read route: arms → signals → fusion → the memories themselves → rerank → restatements."""

from __future__ import annotations

import heapq
import time
import uuid
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

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
from memory.retrieval.facts import match_facts_to_turns, put_turns_first
from memory.retrieval.fusion import SIGNALS, Candidate, Contribution, Ranking, rank
from memory.retrieval.hits import Hit, read_hits
from memory.retrieval.left_out import Dropped, list_dropped
from memory.retrieval.near_duplicates import Words, diversify, near_duplicates
from memory.retrieval.newest import put_newest_first
from memory.retrieval.places import PackedRow
from memory.retrieval.question import Question
from memory.retrieval.relevance import NO_EVIDENCE, AnswerEvidence, evidence_of
from memory.retrieval.size import is_large
from memory.types import Scope

# The turns around so many of the best are looked at too.
STRONG = 25
# How many more memories than wanted are read, so that restatements do not leave the answer short.
SPARE = 12
# When a time is asked for, so many of the best are looked through for one that says it.
DATED_POOL = 60
# What likeness to a hit above it costs, when many different memories are wanted.
SPREAD_WEIGHT = 0.1


@dataclass(frozen=True, slots=True)
class Retrieval:
    """Hits, best first; how many memories were considered; weights of arms and signals; milliseconds of each step.

    `evidence` is what the candidates say of whether the question is answered; the hits' relevance is made of it, and
    so is `answerability`: how likely (0..1) one of the hits answers the question.
    `dropped`: the best of those that did not come back, when they were asked for. `degraded`: what did not work fully.
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
    """The `top_k` memories of the namespace that answer the question best; restatements count as one, with `collapse`.

    `arms` names those of ARMS and SIGNALS that take part (None: all do). `show_dropped`: how many of the candidates
    that do not come back are listed; that changes nothing about those that do. `changes`: what the caller has read for
    the columns of the namespace (`columns.store.last_seen`), which are brought up to date otherwise.

    Raises ValueError if `arms` names no arm.
    """
    clock = _Clock()
    taking_part = frozenset((*ARMS, *SIGNALS) if arms is None else arms)
    if taking_part.isdisjoint(ARMS):
        raise ValueError(
            f"arms names no arm: {sorted(taking_part)}. At least one of {', '.join(ARMS)} finds candidates."
        )
    reading = _reading(question, top_k, taking_part)
    ranking, hits, evidence = _first_stage(
        scope, question, reading=reading, taking_part=taking_part, clock=clock, changes=changes
    )
    degraded: list[str] = []
    if arms is None:
        with clock.step("rerank"):
            hits, degraded = _rerank(question, hits)
    with clock.step("restated"):
        hits, again = _once(hits) if collapse else (hits, {})
        while len(hits) - len(again) < top_k and reading < len(ranking):
            # One statement said over and over took the places: read on.
            hits += read_hits(scope, question, _between(ranking, reading, 2 * reading), dates=False)
            reading *= 2
            hits, again = _once(hits)
        order = _order(question, hits, again, top_k)
    chosen = _take_in_order(hits, again, order)
    shown = {place: hit.candidate for (place, _), hit in zip(order, chosen, strict=True)}
    if arms is None:
        chosen = put_newest_first(question, chosen)
    shown_by_hits = [hit.evidence for hit in chosen]
    return Retrieval(
        hits=_judge_relevance(chosen, evidence.relevance_of(shown_by_hits, is_calibrated=question.is_calibrated)),
        considered=len(ranking),
        weights=ranking.weights,
        milliseconds=clock.laps,
        evidence=evidence,
        answerability=evidence.answerability(shown_by_hits),
        dropped=list_dropped(
            [hit.candidate for hit in hits] + _between(ranking, reading, reading + show_dropped),
            _words(hits),
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
    scope: Scope,
    question: Question,
    *,
    reading: int,
    taking_part: Collection[str],
    clock: _Clock,
    changes: Changes | None = None,
) -> tuple[Ranking, list[Hit], AnswerEvidence]:
    """The ranking, the best `reading` of it read (dates, which only the texts tell, have moved them), and what the
    namespace has for the question."""
    ranking, evidence, kept = _rank(scope, question, taking_part, pool=reading, clock=clock, changes=changes)
    dates = question.wants.when and "dated" in taking_part
    with clock.step("read"):
        hits = read_hits(scope, question, _between(ranking, 0, reading), dates=dates, kept=kept)
    return ranking, hits, evidence


def _reading(question: Question, top_k: int, taking_part: Collection[str]) -> int:
    """How many candidates are read: as many as may be handed over, judged by the reranker or moved by their dates."""
    dates = question.wants.when and "dated" in taking_part
    return max(top_k + SPARE, rerank.pool_size(), DATED_POOL if dates else 0)


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
    """The candidates by the arms in SQL. In a large namespace words are searched beside the rest, if that can be."""
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
    # Waited for here, so that what the dense arm takes is its own.
    with clock.step("vector"):
        _ = question.vector
    run(VECTOR_SEARCHES)
    read_by_words = None
    if of_words is not None:
        # What was waited for them: the rest of their time is that of the others.
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
    """What the searches by words find, and what is to be known of it; None where they do not run beside the others."""
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
    """The candidates that are likely to lend to their neighbours, by a first guess of their score."""
    cosines, bm25 = findings.cosines, findings.bm25
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
    again = near_duplicates(_words(hits))
    return hits, again | match_facts_to_turns(hits, again)


def _order(question: Question, hits: Sequence[Hit], again: Collection[int], top_k: int) -> list[tuple[int, float]]:
    """Which of the hits are handed over, in order, each with what its likeness to those before it costs: each statement
    once; with variety, when many memories are wanted."""
    kept = [place for place in range(len(hits)) if place not in again]
    if not question.wants.many:
        return [(place, 0.0) for place in kept[:top_k]]
    said, scores = _words([hits[place] for place in kept]), [hits[place].score for place in kept]
    return [(kept[place], cost) for place, cost in diversify(said, scores, wanted=top_k, weight=SPREAD_WEIGHT)]


def _take_in_order(hits: Sequence[Hit], again: Mapping[int, int], order: Sequence[tuple[int, float]]) -> list[Hit]:
    others: dict[int, list[uuid.UUID]] = {}
    for place, earlier in again.items():
        others.setdefault(earlier, []).append(hits[place].id)
    chosen = []
    for number, (place, cost) in enumerate(order, start=1):
        hit = hits[place]
        candidate = hit.candidate.with_part("variety", Contribution(cost, None, -cost)) if cost else hit.candidate
        chosen.append(Hit(hit.memory, candidate, hit.overlap, number, hit.relevance, others.get(place, [])))
    return chosen


def _judge_relevance(hits: Sequence[Hit], relevance: Sequence[float]) -> list[Hit]:
    """The hits, each with its relevance."""
    return [
        Hit(hit.memory, hit.candidate, hit.overlap, hit.rank, own, hit.restated_by)
        for hit, own in zip(hits, relevance, strict=True)
    ]


def _words(hits: Sequence[Hit]) -> list[Words]:
    return [hit.memory.words for hit in hits]


def _between(ranking: Ranking, first: int, end: int) -> list[Candidate]:
    return ranking.between(first, end)


class _Clock:
    def __init__(self) -> None:
        self.laps: dict[str, float] = {}

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Takes the time of what happens inside, and makes it a span."""
        started = time.perf_counter()
        with tracing.span(f"recall {name}"):
            yield
        self.laps[name] = round((time.perf_counter() - started) * 1000, 3)
