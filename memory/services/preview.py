"""Looks what a question would find, and leaves no trace: no pack, no audit event, no namespace, no model row."""

from __future__ import annotations

import time
from dataclasses import dataclass

from memory.enums import AccessScope, EmbeddingState
from memory.errors import EmbeddingUnavailable, InvalidInput, NotFound
from memory.models import EmbeddingModel, Namespace
from memory.retrieval.filters import Column, Condition, Operator
from memory.retrieval.pipeline import Hit, retrieve
from memory.retrieval.predicate import predicate
from memory.retrieval.question import question
from memory.services.embedding import active_model
from memory.services.namespaces import scope_for
from memory.types import Access, Scope

MAX_QUESTION_CHARS = 2_000
LISTED_NAMESPACES = 20


@dataclass(frozen=True, slots=True)
class Preview:
    """Hits, best first; how many memories were considered; milliseconds of reading the question, and of the search."""

    hits: list[Hit]
    considered: int
    reading: float
    searching: float


def scope_of_existing(name: str, *, actor: str) -> Scope:
    """The scope of a namespace that is there, for reading. Raises NotFound, which lists the namespaces there are."""
    reader = Access(actor=actor, scopes=frozenset({AccessScope.READ.value}), all_namespaces=True)
    try:
        return scope_for(reader, name=name)
    except NotFound:
        known = list(Namespace.objects.order_by("name").values_list("name", flat=True)[: LISTED_NAMESPACES + 1])
        listed = ", ".join(known[:LISTED_NAMESPACES]) + (", …" if len(known) > LISTED_NAMESPACES else "")
        raise NotFound(
            f"There is no namespace {name!r}. "
            + (f"There are: {listed}." if known else "There is none yet: `manage.py seed_demo` makes one.")
        ) from None


def preview(scope: Scope, *, text: str, top_k: int, session: str | None = None) -> Preview:
    """The `top_k` memories that answer `text` best, of one session if it is named; nothing is stored.

    Raises InvalidInput for an empty or too long question, EmbeddingUnavailable.
    """
    if not text.strip() or len(text) > MAX_QUESTION_CHARS:
        raise InvalidInput(f"A question has 1 to {MAX_QUESTION_CHARS} characters.")
    if not EmbeddingModel.objects.filter(state=EmbeddingState.ACTIVE).exists():
        # `active_model()` would choose one and store it.
        raise EmbeddingUnavailable("No embedding model is active yet: remember something first.")
    started = time.perf_counter()
    model = active_model()
    where = None if session is None else Condition(Column.SESSION, Operator.EQ, session)
    asked = question(
        text,
        vector=model.provider.embed([text])[0],
        model_id=model.id,
        familiarity=model.provider.familiarity(text),
        predicate=predicate(where),
    )
    read = time.perf_counter()
    found = retrieve(scope, asked, top_k=top_k)
    searched = time.perf_counter()
    return Preview(found.hits, found.considered, (read - started) * 1000, (searched - read) * 1000)
