"""Finds the memories that answer a question, and nothing else: no session, no pack."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from memory import audit
from memory.enums import AuditEvent
from memory.retrieval.explain import explain, explain_dropped
from memory.retrieval.filters import Filter
from memory.retrieval.pipeline import Hit, Retrieval, retrieve
from memory.retrieval.predicate import Predicate, predicate
from memory.retrieval.question import Question, question
from memory.services.embedding import active_model
from memory.types import Scope

# How many of the candidates that did not come back are listed for who asks for them.
DROPPED_SHOWN = 20


@dataclass(frozen=True, slots=True)
class Found:
    """What a question found, and where each hit's score comes from, in the hits' order.

    `dropped`: the best candidates that did not come back, and why, when they were asked for.
    `retrieval.milliseconds` has the reading of the question too. `degraded` names what did not work fully. `narrowed`
    says, for the audit, whether a filter or a moment narrowed the search.
    """

    retrieval: Retrieval
    explanations: list[dict[str, Any]]
    dropped: list[dict[str, Any]]
    degraded: list[str]
    narrowed: dict[str, Any]

    @property
    def hits(self) -> list[Hit]:
        """The hits, best first."""
        return self.retrieval.hits


def questions(
    texts: Sequence[str], *, now: datetime, among: Predicate | None = None, choose: bool = True
) -> list[Question]:
    """Questions as the search arms take them, embedded together, to be answered from memories that meet `among`.

    `choose`: on an empty server the configured embedding model becomes the active one. Raises EmbeddingUnavailable.
    """
    model = active_model(choose=choose)
    return [
        question(
            text,
            vector=vector,
            model_id=model.id,
            familiarity=model.provider.familiarity(text),
            now=now,
            predicate=among,
        )
        for text, vector in zip(texts, model.embed(texts), strict=True)
    ]


def find(
    scope: Scope,
    *,
    text: str,
    top_k: int,
    now: datetime,
    dry_run: bool,
    where: Filter | None = None,
    as_of: datetime | None = None,
    show_dropped: bool = False,
) -> Found:
    """The `top_k` memories that answer `text` best, among those that meet `where` and were recorded by `as_of`.

    `show_dropped` lists up to DROPPED_SHOWN candidates that did not come back. Stores nothing but, unless `dry_run`,
    the choice of a first model.

    Raises EmbeddingUnavailable.
    """
    started = time.perf_counter()
    (asked,) = questions([text], now=now, among=predicate(where, as_of=as_of), choose=not dry_run)
    reading = round((time.perf_counter() - started) * 1000, 3)
    retrieval = retrieve(scope, asked, top_k=top_k, show_dropped=DROPPED_SHOWN if show_dropped else 0)
    return Found(
        retrieval=replace(retrieval, milliseconds={"question": reading, **retrieval.milliseconds}),
        explanations=[explain(hit, retrieval.weights) for hit in retrieval.hits],
        dropped=[explain_dropped(dropped, retrieval.weights) for dropped in retrieval.dropped],
        degraded=list(retrieval.degraded),
        narrowed={"filtered": where is not None, "as_of": as_of.isoformat() if as_of else None},
    )


def search(
    scope: Scope,
    *,
    text: str,
    top_k: int,
    now: datetime,
    where: Filter | None = None,
    as_of: datetime | None = None,
    dry_run: bool = False,
    show_dropped: bool = False,
) -> Found:
    """The memories that `find` finds; an audit event says that it was asked, unless `dry_run`.

    Raises EmbeddingUnavailable.
    """
    found = find(
        scope,
        text=text,
        top_k=top_k,
        now=now,
        where=where,
        as_of=as_of,
        dry_run=dry_run,
        show_dropped=show_dropped,
    )
    if not dry_run:
        ids = [str(hit.id) for hit in found.hits]
        audit.record(scope, AuditEvent.QUERY, details={**details_of(found, found.degraded), "memory_ids": ids}, now=now)
    return found


def details_of(found: Found, degraded: list[str]) -> dict[str, Any]:
    """What the audit keeps of a question: figures, no text."""
    retrieval = found.retrieval
    return {
        "hits": len(retrieval.hits),
        "considered": retrieval.considered,
        **found.narrowed,
        "weights": retrieval.weights,
        "milliseconds": retrieval.milliseconds,
        "degraded": degraded,
    }
