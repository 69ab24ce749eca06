"""Finds memories that are near a text or another memory, by meaning or by words, for curation and background work."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from django.db.models import Count, Q

from memory.enums import EmbeddingState
from memory.errors import NotFound
from memory.models import EmbeddingModel, Memory, MemoryVector, Posting
from memory.postgresql.time_limit import limit_statements
from memory.retrieval.arms import dense
from memory.retrieval.question import Question, Wants, question
from memory.services.index.embedding_model import active_model
from memory.types import Access, Scope

# The limit on namespaces of one search by meaning, because each of them is searched separately.
MAX_NAMESPACES = 20


@dataclass(frozen=True, slots=True)
class Near:
    """Holds a memory and the cosine (−1..1) of its nearest passage."""

    memory: Memory
    score: float


def near_text(scopes: Sequence[Scope], *, text: str, limit: int, now: datetime) -> list[uuid.UUID]:
    """Returns the `limit` searchable memories of the namespaces that are nearest to `text` in meaning, nearest first.

    Raises EmbeddingUnavailable, also if no model is active yet, and SearchTimedOut.
    """
    model = active_model(choose=False)
    [vector] = model.embed([text])
    asked = question(text, vector=vector, model_id=model.id, familiarity=1.0, now=now)
    with limit_statements():
        hits = [hit for scope in scopes for hit in dense.search(scope, asked, limit=limit)]
    hits.sort(key=lambda hit: -hit.score)
    return [uuid.UUID(str(hit.memory_id)) for hit in hits[:limit]]


def near_memory(access: Access, *, memory_id: uuid.UUID, limit: int, now: datetime) -> list[Near]:
    """Returns the `limit` searchable memories of the same namespace that are nearest to a memory, without itself.

    The result is empty while the memory has no vector of the active model. Raises NotFound and SearchTimedOut.
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
    asked = _build_question(own.embedding, model.pk)
    scope = Scope(memory.namespace_id, memory.namespace.name, access.actor)
    with limit_statements():
        hits = dense.search(scope, asked, limit=limit + 1)
    scores = {uuid.UUID(str(hit.memory_id)): hit.score for hit in hits if str(hit.memory_id) != str(memory_id)}
    rows = Memory.objects.in_scope(scope).filter(pk__in=scores).defer("terms", "metadata", "content_hash")
    found = {row.pk: row for row in rows}
    return [Near(found[pk], score) for pk, score in scores.items() if pk in found][:limit]


def near_each(scope: Scope, vectors: Iterable[np.ndarray], *, model_id: int, limit: int) -> list[list[uuid.UUID]]:
    """Returns the `limit` memories nearest to each vector (float32 [dimensions], of the model), nearest first."""
    searches = (dense.search(scope, _build_question(vector, model_id), limit=limit) for vector in vectors)
    return [[uuid.UUID(hit.memory_id) for hit in hits] for hits in searches]


def find_sharing(scope: Scope, *, terms: Sequence[str], least: int, limit: int) -> list[uuid.UUID]:
    """Returns the `limit` searchable memories that share the most `terms`, and at least `least` of them."""
    postings = Posting.objects.in_scope(scope).filter(term__in=terms)
    sharing = postings.values("memory_id").annotate(shared=Count("*")).filter(shared__gte=least)
    return list(sharing.order_by("-shared", "-memory_id").values_list("memory_id", flat=True)[:limit])


def find_same_text(scope: Scope, memory: Memory) -> list[uuid.UUID]:
    """Returns the id of the first earlier memory with the same text, speaker, role and metadata; empty if none."""
    before = Q(occurred_at__lt=memory.occurred_at) | Q(occurred_at=memory.occurred_at, pk__lt=memory.pk)
    rows = Memory.objects.in_scope(scope).active().filter(before, superseded_by=None, content_hash=memory.content_hash)
    alike = rows.filter(speaker=memory.speaker, role=memory.role, metadata=memory.metadata)
    return list(alike.order_by("pk").values_list("pk", flat=True)[:1])


def _build_question(vector: Sequence[float] | np.ndarray, model_id: int) -> Question:
    return Question(
        text="",
        terms=[],
        embedded=np.asarray(vector, dtype=np.float32),
        model_id=model_id,
        familiarity=1.0,
        predicate=None,
        wants=Wants(),
        spans=[],
        holding_at=None,
        as_of=None,
    )
