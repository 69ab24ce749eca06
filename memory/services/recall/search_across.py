"""Searches several namespaces with one question, which is embedded once; each namespace is searched separately."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from heapq import merge
from typing import Any

from memory import caller, deadline
from memory.postgresql import reach
from memory.retrieval.hits import Hit
from memory.retrieval.pipeline import Retrieval
from memory.services.cubes.find import cubes_of, describe_whose
from memory.services.recall.search import DROPPED_SHOWN, Ask, SearchResult, Started, search, start
from memory.types import Scope


@dataclass(frozen=True, slots=True)
class HitOf:
    """A hit, its owner, and the explanation of its score."""

    scope: Scope
    hit: Hit
    explanation: dict[str, Any]


@dataclass(frozen=True, slots=True)
class SearchedAcross:
    """The result of a search in several namespaces: `hits`, best first; the rest as in `SearchResult`.

    `considered`: the number of memories considered in all of them.
    """

    hits: list[HitOf]
    considered: int
    answerability: float
    answerable: bool
    dropped: list[dict[str, Any]]
    weights: dict[str, float]
    milliseconds: dict[str, float]
    degraded: list[str]

    def to_result(self) -> SearchResult:
        """Return the result as if it came from one namespace: its hits are ranked among all."""
        hits = [replace(one.hit, rank=rank) for rank, one in enumerate(self.hits, start=1)]
        return SearchResult(
            retrieval=Retrieval(
                hits, self.considered, self.weights, self.milliseconds, answerability=self.answerability
            ),
            dropped=self.dropped,
            degraded=self.degraded,
            narrowed={},
            answerable=self.answerable,
        )


def search_across(scopes: Sequence[Scope], ask: Ask, *, started: Started | None = None) -> SearchedAcross:
    """Find the `ask.top_k` memories of all these namespaces that answer best, by their relevance, which is calibrated
    alike.

    Each namespace records the question. `started`: the result of `start(ask)`. Raises EmbeddingUnavailable,
    SearchTimedOut, DeadlineExceeded.
    """
    if started is None:
        with _within(scopes[0]):
            # The model's cost is attributed to the first namespace.
            started = start(ask)
    results = []
    for scope in scopes:
        deadline.check()
        with _within(scope):
            results.append((scope, search(scope, ask, started=started)))
    return _join(results, top_k=ask.top_k)


def name_owners(hits: Sequence[HitOf]) -> list[dict[str, Any]]:
    """Return the owner of each hit: its `namespace`, and that namespace as a `cube` (None if it is not a cube)."""
    scopes = {one.scope for one in hits}
    with reach.within(*(scope.namespace_id for scope in scopes)):
        described = {identity: describe_whose(cube) for identity, cube in cubes_of(scopes).items()}
    return [{"namespace": one.scope.namespace, "cube": described.get(one.scope.namespace_id)} for one in hits]


@contextmanager
def _within(scope: Scope) -> Iterator[None]:
    with reach.within(scope.namespace_id), caller.within_namespace(scope.namespace_id):
        yield


def _join(results: Sequence[tuple[Scope, SearchResult]], *, top_k: int) -> SearchedAcross:
    of_each = [
        [HitOf(scope, hit, explanation) for hit, explanation in zip(found.hits, found.explanations, strict=True)]
        for scope, found in results
    ]
    # Hits of one namespace keep their order: a successor stays above the memory that it replaces, and the first hits
    # are the same for any number of hits.
    hits = merge(*of_each, key=lambda one: (-one.hit.relevance, -one.hit.score))
    # A cube that was loaded with the ids of another may hold the same memory, which is listed once.
    each: dict[uuid.UUID, HitOf] = {}
    for one in hits:
        each.setdefault(one.hit.id, one)
    milliseconds: Counter[str] = Counter()
    for _, found in results:
        milliseconds.update(found.retrieval.milliseconds)
    return SearchedAcross(
        hits=list(each.values())[:top_k],
        considered=sum(found.retrieval.considered for _, found in results),
        answerability=max(found.retrieval.answerability for _, found in results),
        answerable=any(found.answerable for _, found in results),
        dropped=[dropped for _, found in results for dropped in found.dropped][:DROPPED_SHOWN],
        weights=dict(results[0][1].retrieval.weights),
        milliseconds={step: round(took, 3) for step, took in milliseconds.items()},
        degraded=list(dict.fromkeys(code for _, found in results for code in found.degraded)),
    )
