"""Answers many questions at once: they are embedded together, and an error in one does not affect the others."""

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
    """Return what each question finds in its namespace, or the error why it finds nothing, in the order of the
    questions.

    Each statement has the time of a single search. When the request's time is over, the results until then stay, and
    the other questions get DeadlineExceeded.
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
    # The cost of a call is attributed to one namespace.
    ordered = sorted(places, key=lambda place: asked[place][0].namespace_id)
    started: dict[int, Started | MemosError] = {}
    for namespace_id, group in groupby(ordered, key=lambda place: asked[place][0].namespace_id):
        own = list(group)
        with reach.within(namespace_id), caller.within_namespace(namespace_id):
            started |= zip(own, _embed(model, [asked[place] for place in own]), strict=True)
    return [started[place] for place in places]


def _embed(model: ActiveModel, asked: Sequence[Asked]) -> list[Started | MemosError]:
    """Embed the questions in one batch; if the provider refuses one of them, embed each separately."""
    try:
        vectors = model.embed_questions([ask.text for _, ask in asked])
    except EmbeddingRefused as error:
        return [error] if len(asked) == 1 else [one for single in asked for one in _embed(model, [single])]
    except MemosError as error:
        return [error] * len(asked)
    return [Started(model, vector) for vector in vectors]
