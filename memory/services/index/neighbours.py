"""Memories near a text or another memory, in meaning or by words: for people who curate, and for what compares in the
background."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from django.db.models import Q

from memory.enums import EmbeddingState, Sameness
from memory.errors import NotFound
from memory.governance.duplicates import NEAR_COSINE, sameness
from memory.models import EmbeddingModel, Memory, MemoryVector
from memory.models.memory import content_hash
from memory.models.sql import fetch, limit_statements
from memory.retrieval.arms import dense
from memory.retrieval.question import Question, Wants, question
from memory.retrieval.size import is_large
from memory.services.index.embedding_model import active_model
from memory.types import Access, Scope

# Namespaces that one search by meaning looks through: each costs a search of its own.
MAX_NAMESPACES = 20
# Nearest memories that are compared word by word, to see whether they say the same.
_COMPARED = 5


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
    with limit_statements():
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
    asked = _build_question(own.embedding, model.pk)
    scope = Scope(memory.namespace_id, memory.namespace.name, access.actor)
    with limit_statements():
        hits = dense.search(scope, asked, limit=limit + 1)
    scores = {uuid.UUID(str(hit.memory_id)): hit.score for hit in hits if str(hit.memory_id) != str(memory_id)}
    rows = Memory.objects.in_scope(scope).filter(pk__in=scores).defer("terms", "metadata", "content_hash")
    found = {row.pk: row for row in rows}
    return [Near(found[pk], score) for pk, score in scores.items() if pk in found][:limit]


def near_each(scope: Scope, vectors: Iterable[np.ndarray], *, model_id: int, limit: int) -> list[list[uuid.UUID]]:
    """The `limit` memories nearest to each of the vectors (float32 [dimensions], of the model), nearest first."""
    searches = (dense.search(scope, _build_question(vector, model_id), limit=limit) for vector in vectors)
    return [[uuid.UUID(hit.memory_id) for hit in hits] for hits in searches]


_SHARING = """
SELECT memory_id FROM memory_posting WHERE namespace_id = %(namespace_id)s AND term = ANY(%(terms)s::text[])
GROUP BY memory_id HAVING count(*) >= %(least)s ORDER BY count(*) DESC, memory_id DESC LIMIT %(limit)s
"""


def find_sharing(scope: Scope, *, terms: Sequence[str], least: int, limit: int) -> list[uuid.UUID]:
    """The `limit` searchable memories with the most of the `terms`, `least` at least."""
    values = {"namespace_id": scope.namespace_id, "terms": list(terms), "least": least, "limit": limit}
    return [memory_id for (memory_id,) in fetch(_SHARING, values, prepared=False)]


# The first earlier memory of the same text, and the vectors of the memory's first two passages.
_SAME_TEXT = """
SELECT
    (SELECT id FROM memory_memory
     WHERE namespace_id = %(namespace_id)s AND content_hash = %(content_hash)s AND speaker = %(speaker)s
       AND role = %(role)s AND state = 'active' AND superseded_by IS NULL
       AND (occurred_at, id) < (%(occurred_at)s::timestamptz, %(id)s::uuid)
     ORDER BY id LIMIT 1),
    ARRAY(SELECT embedding::text FROM memory_memoryvector
          WHERE namespace_id = %(namespace_id)s AND memory_id = %(id)s::uuid AND model_id = %(model_id)s
          ORDER BY passage LIMIT 2)
"""


def find_near_duplicates(scope: Scope, memory: Memory) -> list[uuid.UUID]:
    """The earlier memories that say the same by the same speaker: letter by letter, or in nearly the same words.

    In a large namespace only the former are looked for: its nearest neighbours cost a search each.
    """
    model_id = active_model().id
    values = {
        "namespace_id": scope.namespace_id,
        "content_hash": content_hash(memory.text),
        "speaker": memory.speaker,
        "role": memory.role,
        "occurred_at": memory.occurred_at,
        "id": memory.pk,
        "model_id": model_id,
    }
    [(same, vectors)] = fetch(_SAME_TEXT, values, prepared=False)
    if same is not None:
        return [same]
    # Without a vector yet, or too long to be said twice by chance.
    if len(vectors) != 1 or is_large(scope):
        return []
    return _find_nearly_same(scope, memory, np.fromstring(vectors[0][1:-1], np.float32, sep=","), model_id)


def _find_nearly_same(scope: Scope, memory: Memory, vector: np.ndarray, model_id: int) -> list[uuid.UUID]:
    near = dense.search(scope, _build_question(vector, model_id), limit=_COMPARED + 1)
    hits = {uuid.UUID(hit.memory_id): hit.score for hit in near if hit.score >= NEAR_COSINE}
    before = Q(occurred_at__lt=memory.occurred_at) | Q(occurred_at=memory.occurred_at, pk__lt=memory.pk)
    rows = Memory.objects.in_scope(scope).active().filter(before, superseded_by=None, speaker=memory.speaker)
    return [
        one.pk
        for one in rows.filter(pk__in=hits.keys() - {memory.pk}, role=memory.role)
        if sameness(memory.text, one.text, cosine=hits[one.pk]) in (Sameness.EXACT, Sameness.RESTATES)
    ]


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
