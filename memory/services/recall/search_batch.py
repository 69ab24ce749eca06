"""Answers many questions in one go: their vectors are made together, and what goes wrong with one concerns no other."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from memory import caller, deadline
from memory.errors import EmbeddingRefused, MemosError
from memory.postgresql import reach
from memory.services.index.embedding_model import ActiveModel, active_model
from memory.services.recall.search import Ask, SearchResult, Started, search
from memory.types import Scope

Asked = tuple[Scope, Ask]


def search_all(asked: Sequence[Asked]) -> list[SearchResult | MemosError]:
    """What each question finds in its namespace, or why it finds nothing; in their order.

    Each statement has the time of a single search. When the request's time is over, what was found until then stays,
    and the other questions get DeadlineExceeded.
    """
    return [_search(scope, ask, started) for (scope, ask), started in zip(asked, _start_all(asked), strict=True)]


def _search(scope: Scope, ask: Ask, started: Started | MemosError) -> SearchResult | MemosError:
    if isinstance(started, MemosError):
        return started
    try:
        with reach.within(scope.namespace_id), caller.within_namespace(scope.namespace_id):
            return search(scope, ask, started=started)
    except MemosError as error:
        return error


def _start_all(asked: Sequence[Asked]) -> list[Started | MemosError]:
    try:
        deadline.check()
        model = active_model(choose=not all(ask.dry_run for _, ask in asked))
    except MemosError as error:
        return [error] * len(asked)
    places = range(len(asked))
    if not model.calls_network:
        return _embed(model, asked)
    # What a call costs is put down to one namespace.
    ordered = sorted(places, key=lambda place: asked[place][0].namespace_id)
    started: dict[int, Started | MemosError] = {}
    for namespace_id, group in groupby(ordered, key=lambda place: asked[place][0].namespace_id):
        own = list(group)
        with reach.within(namespace_id), caller.within_namespace(namespace_id):
            started |= zip(own, _embed(model, [asked[place] for place in own]), strict=True)
    return [started[place] for place in places]


def _embed(model: ActiveModel, asked: Sequence[Asked]) -> list[Started | MemosError]:
    """Vectors of the questions, made in one batch; one that the provider refuses must not keep out the others."""
    try:
        vectors = model.embed_questions([ask.text for _, ask in asked])
    except EmbeddingRefused as error:
        return [error] if len(asked) == 1 else [one for single in asked for one in _embed(model, [single])]
    except MemosError as error:
        return [error] * len(asked)
    return [Started(model, vector) for vector in vectors]
