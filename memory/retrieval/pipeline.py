"""Runs a retrieval: retrievers → signals → fusion → the memories themselves → rerank → restatements → successors."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

from memory.enums import ARMS
from memory.retrieval import candidates, rerank
from memory.retrieval.columns.kept import KeptMemories
from memory.retrieval.columns.load import Changes
from memory.retrieval.fusion import SIGNALS, Ranking, rank
from memory.retrieval.hits import Hit
from memory.retrieval.left_out import Dropped, list_dropped
from memory.retrieval.question import Question
from memory.retrieval.reading import SPREAD_WEIGHT, HitReader
from memory.retrieval.recency import Succession
from memory.retrieval.relevance import NO_EVIDENCE, AnswerEvidence, evidence_of
from memory.retrieval.step_clock import StepClock
from memory.types import Scope


@dataclass(frozen=True, slots=True)
class Retrieval:
    """Holds the result of a retrieval.

    `hits`: best first. `considered`: the number of candidates. `weights`: of retrievers and signals. `milliseconds`: by
    step. `evidence`: the candidates' evidence that the question is answered, from which the hits' relevance and
    `answerability` are computed. `answerability`: the probability (0..1) that one of the hits answers the question.
    `dropped`: the best rejected candidates, if they were requested. `degraded`: codes of what did not work fully.
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
    """Returns the `top_k` memories of the namespace that answer the question best.

    `arms` names the ARMS and SIGNALS to use (None: all). `collapse`: a memory and its restatements count as one.
    `show_dropped`: how many rejected candidates to list; it does not change the hits. `changes`: the changes since
    `columns.store.last_seen`, if the caller has read them; otherwise they are read here.

    Raises ValueError if `arms` names no retriever.
    """
    clock = StepClock()
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
    """Runs the first stage of `retrieve`: returns the ranking of all candidates, and the best of them as hits.

    The ranking lacks the signal `dated`, which is only known for hits.
    """
    taking_part = (*ARMS, *SIGNALS)
    reader, ranking, _ = _first_stage(scope, question, taking_part=taking_part, clock=StepClock(), collapse=True)
    return ranking, reader.hits


def _first_stage(
    scope: Scope,
    question: Question,
    *,
    taking_part: Collection[str],
    clock: StepClock,
    collapse: bool,
    changes: Changes | None = None,
) -> tuple[HitReader, Ranking, AnswerEvidence]:
    """Ranks the candidates and reads the first step of them as hits; returns reader, ranking and evidence."""
    ranking, evidence, kept = _rank(scope, question, taking_part, clock=clock, changes=changes)
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
    clock: StepClock,
    changes: Changes | None,
) -> tuple[Ranking, AnswerEvidence, KeptMemories | None]:
    found, kept = candidates.find(
        scope, question, taking_part=taking_part, pool=rerank.pool_size(), clock=clock, changes=changes
    )
    with clock.step("fusion"):
        ranking = rank(question, found.features, by_words=found.by_words, ranks=found.ranks, taking_part=taking_part)
    evidence = evidence_of(found.question, found.features.candidates, found.by_words, ahead=ranking.ahead)
    return ranking, evidence, kept


def _judge_relevance(
    hits: Sequence[Hit], said_again: Mapping[uuid.UUID, uuid.UUID], relevance: Sequence[float]
) -> list[Hit]:
    """Returns the hits with rank, relevance and the memories that restate them."""
    restated: dict[uuid.UUID, list[uuid.UUID]] = {}
    for other, earlier in said_again.items():
        restated.setdefault(earlier, []).append(other)
    return [
        replace(hit, rank=rank, relevance=own, restated_by=restated.get(hit.id, []))
        for rank, (hit, own) in enumerate(zip(hits, relevance, strict=True), start=1)
    ]
