"""Asks a namespace both ways: by the columns that this process holds, and by SQL."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from django.utils import timezone

from memory.retrieval.columns import store
from memory.retrieval.fusion import Ranking
from memory.retrieval.hits import Hit
from memory.retrieval.pipeline import Retrieval, first_stage, retrieve
from memory.retrieval.question import Question
from memory.services.index.embedding_model import active_model
from memory.services.recall.search import Ask, fit_to_namespace, question_of
from memory.types import Scope


def ask(scope: Scope, text: str) -> Retrieval:
    return retrieve(scope, _question(scope, text), top_k=5)


def ask_by_columns(scope: Scope, text: str) -> Retrieval:
    """Searches by the columns, after waiting until the namespace has been loaded in the background."""
    for _ in range(500):
        found = ask(scope, text)
        if by_columns(found):
            return found
        time.sleep(0.01)
    raise AssertionError("the namespace was not loaded within five seconds")


def search_by_columns(scope: Scope, text: str) -> tuple[Ranking, list[Hit]]:
    """Returns the ranking and its best candidates as hits; cached memories are not read again."""
    ask_by_columns(scope, text)
    return first_stage(scope, _question(scope, text))


def search_by_sql(scope: Scope, text: str) -> tuple[Ranking, list[Hit]]:
    with as_a_process_without_columns():
        assert not by_columns(ask(scope, text))
        return first_stage(scope, _question(scope, text))


@contextmanager
def as_a_process_without_columns() -> Iterator[None]:
    """Makes this thread work like one of a process without columns, such as the worker; the columns stay."""
    held, store._store = store._store, None
    try:
        yield
    finally:
        store._store = held


def by_columns(found: Retrieval) -> bool:
    """Tells whether the columns answered."""
    return "columns" in found.milliseconds


def _question(scope: Scope, text: str) -> Question:
    model = active_model()
    asked = question_of(Ask(text, 5, timezone.now()), model, model.embed_questions([text])[0])
    return fit_to_namespace(scope, asked, model)
