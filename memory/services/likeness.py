"""Memories that are like a text or another memory, for what runs in the background."""

from __future__ import annotations

import uuid
from collections.abc import Sequence

import numpy as np
from django.db.models import Q

from memory.enums import Sameness
from memory.governance.duplicates import NEAR_COSINE, sameness
from memory.models import Memory, MemoryVector
from memory.models.memory import MemoryQuerySet, content_hash
from memory.retrieval.arms import dense
from memory.retrieval.question import Question, Wants
from memory.retrieval.size import is_large
from memory.services.embedding import active_model
from memory.types import Scope

# Nearest memories that are compared word by word.
_COMPARED = 5


def near(scope: Scope, texts: Sequence[str], *, limit: int) -> set[uuid.UUID]:
    """The `limit` memories nearest to each of `texts` in meaning. Raises EmbeddingUnavailable."""
    if not texts:
        return set()
    model = active_model()
    found: set[uuid.UUID] = set()
    for vector in model.embed(texts):
        hits = dense.search(scope, _by_meaning(vector, model.id), limit=limit)
        found.update(uuid.UUID(hit.memory_id) for hit in hits)
    return found


def restated(scope: Scope, memory: Memory) -> list[uuid.UUID]:
    """The earlier memories that say the same by the same speaker: letter by letter, or in nearly the same words.

    In a large namespace only the former are looked for: its nearest neighbours cost a search each.
    """
    rows = (
        Memory.objects.in_scope(scope)
        .active()
        .filter(
            Q(occurred_at__lt=memory.occurred_at) | Q(occurred_at=memory.occurred_at, pk__lt=memory.pk),
            speaker=memory.speaker,
            role=memory.role,
            superseded_by=None,
        )
    )
    exact = rows.filter(content_hash=content_hash(memory.text)).order_by("pk").values_list("pk", flat=True)
    if first := exact.first():
        return [first]
    return [] if is_large(scope) else _nearly(scope, memory, rows)


def _nearly(scope: Scope, memory: Memory, rows: MemoryQuerySet) -> list[uuid.UUID]:
    own = MemoryVector.objects.in_scope(scope).filter(memory_id=memory.pk, model_id=active_model().id)
    vectors = list(own.order_by("passage").values_list("embedding", flat=True)[:2])
    if len(vectors) != 1:
        # Without a vector yet, or too long to be said twice by chance.
        return []
    question = _by_meaning(np.asarray(vectors[0]), active_model().id)
    hits = {
        uuid.UUID(hit.memory_id): hit.score
        for hit in dense.search(scope, question, limit=_COMPARED + 1)
        if hit.score >= NEAR_COSINE
    }
    return [
        one.pk
        for one in rows.filter(pk__in=hits.keys() - {memory.pk})
        if sameness(memory.text, one.text, cosine=hits[one.pk]) in (Sameness.EXACT, Sameness.RESTATES)
    ]


def _by_meaning(vector: np.ndarray, model_id: int) -> Question:
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
