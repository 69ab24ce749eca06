"""Shows that nothing is left: counts every holder, and searches by what was erased, its own words and vector."""

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
# As long as a question may be.
_WORDS_CHARS = 2_000


def count_holders(erased: Erased) -> dict[str, dict[str, int | None]]:
    """How much every holder holds of what is to be erased; None for what Redis has while it is away."""
    holders: dict[str, dict[str, int | None]] = {holder.name: {"counted": holder.count(erased)} for holder in HOLDERS}
    for name, count in ((WINDOW, count_windows), (WORKING, count_working_memory), (CONSOLE, count_probes)):
        try:
            holders[name] = {"counted": count(erased)}
        except WindowUnavailable:
            holders[name] = {"counted": None}
    return holders


def count_audit_events(erased: Erased) -> dict[str, int]:
    """How many events about what is erased the audit log keeps, and how many of them say what a person `typed`.

    Events cannot be changed. Those of this version hold no typed words; those written before words were kept apart do.
    """
    events, typed = queries.count_audit_events(
        erased.scope.namespace_id, erased.id, session=erased.session, whole_namespace=erased.whole_namespace
    )
    return {"events": events, "typed": typed}


@dataclass(frozen=True, slots=True)
class ErasureProbe:
    """A memory's own words and vector as a question. It holds the memory's text: kept in this process only."""

    memory_id: uuid.UUID
    question: Question


def probes(erased: Erased, *, after: uuid.UUID | None, now: datetime) -> list[ErasureProbe]:
    """Questions of up to PROBES of the erasure's memories that are there still, spread over all of them.

    `after`: those up to this id are gone. Empty when no model is active, or the active one cannot be had.
    """
    try:
        model = active_model(choose=False)
        familiarity = model.provider.familiarity
    except EmbeddingUnavailable:
        return []
    named = ErasedMemory.objects.in_scope(erased.scope).filter(erasure_id=erased.id)
    if after is not None:
        named = named.filter(memory_id__gt=after)
    # The end of a UUIDv7 is random: in its order any few are spread over all.
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
    """How many of the questions find an erased memory: with each search arm alone, or with both and all signals."""
    return sum(_finds(erased, probe.question) for probe in asked)


def _finds(erased: Erased, asked: Question) -> bool:
    scope = erased.scope
    # Named arms keep the reranker out, which may be another's service.
    hits = retrieve(scope, asked, top_k=_LOOKED_AT, arms=(*ARMS, *SIGNALS)).hits
    ids = {str(hit.id) for hit in hits}
    ids |= {hit.memory_id for hit in dense.search(scope, asked, limit=_LOOKED_AT)}
    ids |= {hit.memory_id for hit in lexical.search(scope, asked, limit=_LOOKED_AT).hits}
    return ErasedMemory.objects.in_scope(scope).filter(erasure_id=erased.id, memory_id__in=ids).exists()
