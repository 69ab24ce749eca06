"""Finds memories in several namespaces at once: the question is embedded once, and each namespace searched alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from memory import caller, deadline
from memory.postgresql import reach
from memory.retrieval.hits import Hit
from memory.services.recall.search import DROPPED_SHOWN, Ask, SearchResult, search, start
from memory.types import Scope


@dataclass(frozen=True, slots=True)
class HitOf:
    """A hit, whose it is, and where its score comes from."""

    scope: Scope
    hit: Hit
    explanation: dict[str, Any]


@dataclass(frozen=True, slots=True)
class SearchedAcross:
    """What a question found in several namespaces: `hits`, best first; the rest as in `SearchResult`."""

    hits: list[HitOf]
    answerable: bool
    dropped: list[dict[str, Any]]
    weights: dict[str, float]
    milliseconds: dict[str, float]
    degraded: list[str]


def search_across(scopes: Sequence[Scope], ask: Ask) -> SearchedAcross:
    """The `ask.top_k` memories of all these namespaces that answer best, by their relevance, which is calibrated alike.

    Each namespace records that it was asked. Raises EmbeddingUnavailable, SearchTimedOut, DeadlineExceeded.
    """
    with _within(scopes[0]):
        # What the call of a model costs is put down to the first.
        started = start(ask)
    results = []
    for scope in scopes:
        deadline.check()
        with _within(scope):
            results.append((scope, search(scope, ask, started=started)))
    return _join(results, top_k=ask.top_k)


@contextmanager
def _within(scope: Scope) -> Iterator[None]:
    with reach.within(scope.namespace_id), caller.within_namespace(scope.namespace_id):
        yield


def _join(results: Sequence[tuple[Scope, SearchResult]], *, top_k: int) -> SearchedAcross:
    hits = [
        HitOf(scope, hit, explanation)
        for scope, found in results
        for hit, explanation in zip(found.hits, found.explanations, strict=True)
    ]
    hits.sort(key=lambda one: (-one.hit.relevance, -one.hit.score))
    milliseconds: Counter[str] = Counter()
    for _, found in results:
        milliseconds.update(found.retrieval.milliseconds)
    return SearchedAcross(
        hits=hits[:top_k],
        answerable=any(found.answerable for _, found in results),
        dropped=[dropped for _, found in results for dropped in found.dropped][:DROPPED_SHOWN],
        weights=dict(results[0][1].retrieval.weights),
        milliseconds={step: round(took, 3) for step, took in milliseconds.items()},
        degraded=list(dict.fromkeys(code for _, found in results for code in found.degraded)),
    )
