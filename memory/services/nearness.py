"""Memories by meaning, for people who curate: near a text, and near another memory."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from memory.enums import EmbeddingState
from memory.errors import NotFound
from memory.models import EmbeddingModel, Memory, MemoryVector
from memory.models.sql import limited
from memory.retrieval.arms import dense
from memory.retrieval.question import Question, question
from memory.services.embedding import active_model
from memory.types import Access, Scope

# Namespaces that one search by meaning looks through: each costs a search of its own.
MAX_NAMESPACES = 20


@dataclass(frozen=True, slots=True)
class Near:
    """A memory and the cosine of its nearest passage, −1 to 1."""

    memory: Memory
    score: float


def near_text(scopes: Sequence[Scope], *, text: str, limit: int, now: datetime) -> list[uuid.UUID]:
    """The `limit` searchable memories of the namespaces that mean what `text` says, nearest first. Stores nothing.

    Raises EmbeddingUnavailable, SearchTimedOut.
    """
    model = active_model(choose=False)
    [vector] = model.embed([text])
    asked = question(text, vector=vector, model_id=model.id, familiarity=1.0, now=now)
    with limited():
        hits = [hit for scope in scopes for hit in dense.search(scope, asked, limit=limit)]
    hits.sort(key=lambda hit: -hit.score)
    return [uuid.UUID(str(hit.memory_id)) for hit in hits[:limit]]


def near_memory(access: Access, *, memory_id: uuid.UUID, limit: int, now: datetime) -> list[Near]:
    """The `limit` searchable memories of the same namespace that are nearest to a memory, without itself.

    Empty while it has no vector of the active model. Raises NotFound, SearchTimedOut.
    """
    memory = Memory.objects.reachable_by(access).filter(pk=memory_id).select_related("namespace").only(
        "id", "namespace__name"
    ).first()  # fmt: skip
    if memory is None:
        raise NotFound(f"There is no memory {memory_id} that this key reaches.", detail={"field": "memory_id"})
    model = EmbeddingModel.objects.filter(state=EmbeddingState.ACTIVE).first()
    if model is None:
        return []
    own = MemoryVector.objects.filter(
        namespace_id=memory.namespace_id, model_id=model.pk, memory_id=memory.pk, passage=0
    ).first()
    if own is None:
        return []
    vector = np.asarray(own.embedding, dtype=np.float32)
    asked: Question = question("", vector=vector, model_id=model.pk, familiarity=1.0, now=now)
    scope = Scope(memory.namespace_id, memory.namespace.name, access.actor)
    with limited():
        hits = dense.search(scope, asked, limit=limit + 1)
    scores = {uuid.UUID(str(hit.memory_id)): hit.score for hit in hits if str(hit.memory_id) != str(memory_id)}
    rows = Memory.objects.in_scope(scope).filter(pk__in=scores).defer("terms", "metadata", "content_hash")
    found = {row.pk: row for row in rows}
    return [Near(found[pk], score) for pk, score in scores.items() if pk in found][:limit]
