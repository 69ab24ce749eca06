"""Proves that nothing is left: counts every holder, and searches with the words and vectors of erased memories."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from django.db.models import TextField
from django.db.models.functions import Cast, Right

from memory.enums import ARMS
from memory.errors import EmbeddingUnavailable, WindowUnavailable
from memory.models import ErasedMemory, Memory, MemoryVector
from memory.models.queries import erasure as queries
from memory.retrieval.arms import dense, lexical
from memory.retrieval.fusion import SIGNALS
from memory.retrieval.pipeline import retrieve
from memory.retrieval.question import Question, question
from memory.services.erasure.holder import Erased
from memory.services.erasure.holders import HOLDERS
from memory.services.erasure.sessions import (
    CONSOLE,
    WINDOW,
    WORKING,
    count_probes,
    count_windows,
    count_working_memory,
)
from memory.services.index.embedding_model import active_model

PROBES = 20
_LOOKED_AT = 50
# The limit of a question.
_WORDS_CHARS = 2_000


def count_holders(erased: Erased) -> dict[str, dict[str, int | None]]:
    """Count what every holder has of the erasure; None for data in Redis while it is away."""
    holders: dict[str, dict[str, int | None]] = {holder.name: {"counted": holder.count(erased)} for holder in HOLDERS}
    for name, count in ((WINDOW, count_windows), (WORKING, count_working_memory), (CONSOLE, count_probes)):
        try:
            holders[name] = {"counted": count(erased)}
        except WindowUnavailable:
            holders[name] = {"counted": None}
    return holders


def count_audit_events(erased: Erased) -> dict[str, int]:
    """Count the events about the erasure that the audit log keeps, and how many of them contain words that a person
    `typed`.

    Events cannot be changed. Those written by this version hold no typed words; older ones may.
    """
    events, typed = queries.count_audit_events(
        erased.scope.namespace_id, erased.id, session=erased.session, whole_namespace=erased.whole_namespace
    )
    return {"events": events, "typed": typed}


@dataclass(frozen=True, slots=True)
class ErasureProbe:
    """A memory's own words and vector as a question. It holds the memory's text, so it is kept only in this process."""

    memory_id: uuid.UUID
    question: Question


def probes(erased: Erased, *, after: uuid.UUID | None, now: datetime) -> list[ErasureProbe]:
    """Return questions made from up to PROBES of the erasure's remaining memories, spread over all of them.

    `after`: memories up to this id are gone. Empty when no model is active, or the active one is unavailable.
    """
    try:
        model = active_model(choose=False)
        familiarity = model.provider.familiarity
    except EmbeddingUnavailable:
        return []
    named = ErasedMemory.objects.in_scope(erased.scope).filter(erasure_id=erased.id)
    if after is not None:
        named = named.filter(memory_id__gt=after)
    # The end of a UUIDv7 is random, so this order spreads the sample over all memories.
    chosen = named.order_by(Right(Cast("memory_id", TextField()), 12))
    ids = list(chosen.values_list("memory_id", flat=True)[:PROBES])
    vectors = MemoryVector.objects.in_scope(erased.scope).filter(model_id=model.id, passage=0, memory_id__in=ids)
    own = {row.memory_id: np.array(row.embedding, dtype=np.float32) for row in vectors}
    texts = Memory.objects.in_scope(erased.scope).filter(pk__in=ids).values_list("pk", "text")
    return [
        ErasureProbe(
            memory_id,
            question(
                text[:_WORDS_CHARS],
                vector=own[memory_id],
                model_id=model.id,
                familiarity=familiarity(text[:_WORDS_CHARS]),
                now=now,
            ),
        )
        for memory_id, text in texts
        if memory_id in own
    ]


def count_found(erased: Erased, asked: Sequence[ErasureProbe]) -> int:
    """Count the questions that find an erased memory: with each retriever alone, or with both and all signals."""
    return sum(_finds(erased, probe.question) for probe in asked)


def _finds(erased: Erased, asked: Question) -> bool:
    scope = erased.scope
    # Naming the retrievers leaves out the reranker, which may be an external service.
    hits = retrieve(scope, asked, top_k=_LOOKED_AT, arms=(*ARMS, *SIGNALS)).hits
    ids = {str(hit.id) for hit in hits}
    ids |= {hit.memory_id for hit in dense.search(scope, asked, limit=_LOOKED_AT)}
    ids |= {hit.memory_id for hit in lexical.search(scope, asked, limit=_LOOKED_AT).hits}
    return ErasedMemory.objects.in_scope(scope).filter(erasure_id=erased.id, memory_id__in=ids).exists()
