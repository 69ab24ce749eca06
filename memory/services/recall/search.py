"""Finds the memories that answer a question, without session or pack."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, tzinfo
from typing import Any

import numpy as np

from memory import audit, deadline, tracing
from memory.enums import AuditEvent, Degradation, PreferenceReading, Verdict
from memory.postgresql.time_limit import limit_statements
from memory.providers.embedding.interface import Pending
from memory.retrieval import users
from memory.retrieval.columns.load import Changes
from memory.retrieval.excerpts import excerpt_hits
from memory.retrieval.explain import METHOD, explain, explain_dropped
from memory.retrieval.filters import Filter
from memory.retrieval.hits import Hit
from memory.retrieval.left_out import Dropped
from memory.retrieval.pipeline import Retrieval, retrieve
from memory.retrieval.predicate import SqlCondition, predicate
from memory.retrieval.question import Question, question
from memory.services.index.embedding_model import ActiveModel, active_model
from memory.services.tenancy.policy import in_force
from memory.types import Scope

# At most this many of the rejected candidates are listed on request.
DROPPED_SHOWN = 20


@dataclass(frozen=True, slots=True)
class Ask:
    """A validated question to a namespace's memories: the `top_k` that answer `text` best at `now`, whose zone defines
    days.

    `where` narrows the searched memories. The search finds memories that hold now; at `valid_at`, in the time that they
    describe; or at `as_of`, in the time of recording: later records and supersessions are ignored. A `dry_run` answers
    the same and stores nothing. `show_dropped` lists up to DROPPED_SHOWN rejected candidates. Hits whose relevance is
    below `min_relevance` (0..1) are left out.
    """

    text: str
    top_k: int
    now: datetime
    where: Filter | None = None
    as_of: datetime | None = None
    valid_at: datetime | None = None
    dry_run: bool = False
    show_dropped: bool = False
    min_relevance: float = 0.0

    @property
    def zone(self) -> tzinfo:
        """Return the zone in which days begin: that of `now`."""
        return self.now.tzinfo or UTC

    @property
    def among(self) -> SqlCondition | None:
        """Return the condition that searched memories must meet."""
        return predicate(self.where, as_of=self.as_of, valid_at=self.valid_at)

    @property
    def holding_at(self) -> datetime | None:
        """Return the time at which a memory must still hold; None if `among` checks it."""
        return self.now if self.as_of is None and self.valid_at is None else None


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The result of a search.

    `answerable`: whether the answerability reaches the policy's `retrieval.relevance_floor`; False without a hit.
    `dropped`: the best rejected candidates with the reasons, if requested. `retrieval.milliseconds` includes reading
    the question. `degraded` names components that did not work fully. `narrowed` says, for the audit, whether a filter
    or a time narrowed the search.
    """

    retrieval: Retrieval
    dropped: list[dict[str, Any]]
    degraded: list[str]
    narrowed: dict[str, Any]
    answerable: bool

    @property
    def hits(self) -> list[Hit]:
        """Return the hits, best first."""
        return self.retrieval.hits

    @property
    def explanations(self) -> list[dict[str, Any]]:
        """Explain each hit's score; see `explain_hits`."""
        return explain_hits(self.retrieval)


NAMESPACE_UNKNOWN = Degradation.NAMESPACE_UNKNOWN.value
LANGUAGE_UNREAD = Degradation.LANGUAGE_UNREAD.value
# A question counts as unread if the model knows a smaller share of it.
READ_FROM = 0.5
# The result for an unknown namespace.
NOTHING_FOUND = SearchResult(
    Retrieval(
        hits=[],
        considered=0,
        weights={},
        milliseconds={},
    ),
    dropped=[],
    degraded=[NAMESPACE_UNKNOWN],
    narrowed={},
    answerable=False,
)


def questions(asks: Sequence[Ask]) -> list[Question]:
    """Prepare questions for the retrievers, embedded together. Raises EmbeddingUnavailable."""
    deadline.check()
    model = active_model(choose=not all(ask.dry_run for ask in asks))
    vectors = model.embed_questions([ask.text for ask in asks])
    return [question_of(ask, model, vector) for ask, vector in zip(asks, vectors, strict=True)]


@dataclass(frozen=True, slots=True)
class Started:
    """A question whose vector `model` has made, or is making while other work continues."""

    model: ActiveModel
    vector: Pending | np.ndarray


def start(ask: Ask) -> Started:
    """Start embedding the question while the caller continues. Raises EmbeddingUnavailable."""
    model = active_model(choose=not ask.dry_run)
    return Started(model, model.start_embedding(ask.text))


def find(scope: Scope, ask: Ask, *, started: Started | None = None, changes: Changes | None = None) -> SearchResult:
    """Find the memories that answer best, within the limits of `ask`; of a long one, the part that answers.

    Stores nothing except, unless `ask.dry_run`, the choice of a first model. `started`: the result of `start(ask)`;
    `changes`: as `retrieve` takes them.

    Raises EmbeddingUnavailable, SearchTimedOut.
    """
    began = time.perf_counter()
    started = started or start(ask)
    question = question_of(ask, started.model, started.vector)
    reading = round((time.perf_counter() - began) * 1000, 3)
    deadline.check()
    shown = DROPPED_SHOWN if ask.show_dropped else 0
    with limit_statements():
        policy = in_force(scope.namespace_id).policy
    question = fit_to_namespace(scope, question, started.model)

    with limit_statements():
        retrieval = retrieve(
            scope,
            question,
            top_k=ask.top_k,
            show_dropped=shown,
            collapse=policy.collapse_duplicates,
            changes=changes,
        )
    retrieval = _without_irrelevant(retrieval, ask.min_relevance, shown=shown)
    with limit_statements():
        retrieval = replace(retrieval, hits=excerpt_hits(scope, question, retrieval.hits))
    if ask.zone is not UTC:
        retrieval = replace(retrieval, hits=[hit.in_zone(ask.zone) for hit in retrieval.hits])
    return SearchResult(
        retrieval=replace(retrieval, milliseconds={"question": reading, **retrieval.milliseconds}),
        dropped=[explain_dropped(dropped, retrieval.weights) for dropped in retrieval.dropped],
        degraded=[*retrieval.degraded, *([LANGUAGE_UNREAD] if question.familiarity < READ_FROM else [])],
        narrowed={
            "filtered": ask.where is not None,
            "as_of": ask.as_of.isoformat() if ask.as_of else None,
            "valid_at": ask.valid_at.isoformat() if ask.valid_at else None,
        },
        answerable=bool(retrieval.hits) and retrieval.answerability >= policy.relevance_floor,
    )


def fit_to_namespace(scope: Scope, question: Question, model: ActiveModel) -> Question:
    """Adapt the question to the namespace: add other names of its users, and follow its policy on whether topics rank
    and whether a request for advice finds preferences."""
    question = users.add_names(scope, question)
    policy = in_force(scope.namespace_id).policy
    if not question.wants.advice or policy.preferences == PreferenceReading.OFF:
        return question
    return replace(question, requests=model.embed_requests())


def explain_hits(retrieval: Retrieval) -> list[dict[str, Any]]:
    """Explain each hit's score, in the hits' order."""
    return [explain(hit, retrieval.weights, considered=retrieval.considered) for hit in retrieval.hits]


def _without_irrelevant(retrieval: Retrieval, least: float, *, shown: int) -> Retrieval:
    """Keep the hits with at least this relevance; the others join the `shown` rejected candidates."""
    kept = [hit for hit in retrieval.hits if hit.relevance >= least]
    if len(kept) == len(retrieval.hits):
        return retrieval
    irrelevant = [
        Dropped(
            hit.candidate,
            hit.rank,
            Verdict.IRRELEVANT,
            retrieval.hits[-1].score,
            None,
            f"Its relevance is {hit.relevance:.4f}; `min_relevance` asks for {least:g}.",
        )
        for hit in retrieval.hits
        if hit.relevance < least
    ]
    return replace(
        retrieval,
        hits=[replace(hit, rank=rank) for rank, hit in enumerate(kept, start=1)],
        dropped=[*irrelevant, *retrieval.dropped][:shown],
    )


def search(scope: Scope, ask: Ask, *, started: Started | None = None) -> SearchResult:
    """Return the memories that `find` finds; an audit event records the question, unless `ask.dry_run`.

    Raises EmbeddingUnavailable, SearchTimedOut.
    """
    found = find(scope, ask, started=started)
    if not ask.dry_run:
        details = {**details_of(ask, found, found.degraded), "memory_ids": [hit.id_text for hit in found.hits]}
        audit.record_read(scope, AuditEvent.QUERY, details=details, now=ask.now)
    return found


def question_of(ask: Ask, model: ActiveModel, vector: np.ndarray | Pending) -> Question:
    """Prepare the question for the retrievers; `vector` is the model's vector of `ask.text`."""
    return question(
        ask.text,
        vector=vector,
        model_id=model.id,
        familiarity=model.provider.familiarity(ask.text),
        now=ask.now,
        predicate=ask.among,
        holding_at=ask.holding_at,
        as_of=ask.as_of,
        valid_at=ask.valid_at,
        take_out_speakers=model.take_out_speakers if model.is_minilm else None,
    )


def details_of(ask: Ask, found: SearchResult, degraded: list[str]) -> dict[str, Any]:
    """Return the audit details of a question: figures, no text. `query` adds details of the session."""
    retrieval = found.retrieval
    return {
        "top_k": ask.top_k,
        "l2_hits": len(retrieval.hits),
        "rerank": METHOD,
        "retrieved": len(retrieval.hits),
        "l1_window": 0,
        "condensation_cache_hit": False,
        "condensation_enqueued": False,
        "hits": len(retrieval.hits),
        "answerable": found.answerable,
        "considered": retrieval.considered,
        **found.narrowed,
        "weights": retrieval.weights,
        "milliseconds": retrieval.milliseconds,
        "degraded": degraded,
        **tracing.mark(),
    }
