"""Makes missing vectors of memories, and switches to another embedding model."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from itertools import groupby
from typing import Any, NamedTuple
from uuid import UUID

import numpy as np
from django.db import transaction

from memory import audit, caller
from memory.enums import AuditEvent, EmbeddingState
from memory.errors import BudgetExceeded, EmbeddingRefused, InvalidInput
from memory.models import EmbeddingModel, Memory, MemoryVector
from memory.models.arrays import vector_array
from memory.models.locks import Lock, try_lock
from memory.models.memory import MemoryQuerySet, spans_of
from memory.models.queries import index as queries
from memory.models.search import has_vector
from memory.services.index import marks
from memory.services.index.embedding import passages_to_embed
from memory.services.index.embedding_model import (
    KNOWN_SECONDS,
    ActiveModel,
    active_model,
    find_model_row,
    forget_active_model,
)
from memory.services.index.searchable_text import Span, spans_out_of_search
from memory.services.jobs.throttle import Throttle
from memory.text.utterances import live_text

log = logging.getLogger("memos.embedding")

# The number of memories, and of passages unless a single memory has more, that the worker embeds and stores at once.
BATCH = 128


def pending_count() -> int:
    """Returns the number of active memories that wait for their vector."""
    return Memory.objects.across_namespaces().awaiting_vector().count()


def embed_pending(*, limit: int = 10_000, seconds: float = float("inf")) -> int:
    """Makes missing vectors of the active model, in batches that are committed one by one.

    Returns the number of memories. It ends after `limit` memories or about `seconds`, and does nothing while another
    run is at work. It skips texts that the provider refuses, and the memories of namespaces that have spent their
    budget for model calls. Raises EmbeddingUnavailable if the provider cannot be reached; finished batches stay.
    """
    deadline = time.monotonic() + seconds
    throttle = Throttle()
    waiting = Memory.objects.across_namespaces().awaiting_vector()
    with try_lock(Lock.EMBEDDING) as only:
        made = 0
        for batch in _fill(active_model(), waiting, limit=limit, may_wait=True) if only else ():
            made += batch
            throttle.rest()
            if time.monotonic() > deadline:
                break
        return made


def reembed(
    *, provider: str, name: str, actor: str, now: Callable[[], datetime], progress: Callable[[int, int], None]
) -> EmbeddingModel:
    """Makes the vectors of another model next to the current ones, and switches to it when none is missing.

    Search uses the current model until the switch, which changes one row. After an interruption, a second call
    continues. `progress(done, total)` is called after each batch. The vectors of the former model stay until
    `prune_retired`. Raises EmbeddingUnavailable, and InvalidInput if the model is active already.
    """
    target = find_model_row(provider, name)
    if target.state == EmbeddingState.ACTIVE:
        raise InvalidInput(f"{target} is the active model already: there is nothing to switch to.")
    model = ActiveModel(target.pk, target.provider, target.name, target.dimensions)
    memories = Memory.objects.across_namespaces()
    total = memories.count()
    done = MemoryVector.objects.across_namespaces().filter(model_id=target.pk, passage=0).count()
    progress(done, total)
    lacking = memories.filter(~has_vector(target.pk))
    for made in _fill(model, lacking):
        done += made
        progress(min(done, total), total)
    with transaction.atomic():
        former = EmbeddingModel.objects.select_for_update().filter(state=EmbeddingState.ACTIVE).first()
        EmbeddingModel.objects.filter(state=EmbeddingState.ACTIVE).update(state=EmbeddingState.RETIRED)
        EmbeddingModel.objects.filter(pk=target.pk).update(state=EmbeddingState.ACTIVE, activated_at=now())
        audit.record_system(
            actor,
            AuditEvent.REEMBED,
            subject=str(target),
            details={"from": str(former) if former else None, "to": str(target), "vectors": done},
            now=now(),
        )
    marks.correct_marks()
    forget_active_model()
    # Other processes may have stored memories with vectors of the former model until their cache expires.
    time.sleep(KNOWN_SECONDS + 0.5)
    for made in _fill(model, lacking):
        done += made
        progress(done, max(done, total))
    marks.correct_marks()
    target.refresh_from_db()
    return target


def prune_retired() -> int:
    """Deletes retired models and their vectors; returns the number of vectors."""
    deleted, _ = MemoryVector.objects.across_namespaces().filter(model__state=EmbeddingState.RETIRED).delete()
    EmbeddingModel.objects.filter(state=EmbeddingState.RETIRED).delete()
    return deleted


def _fill(
    model: ActiveModel, lacking: MemoryQuerySet, *, limit: float = float("inf"), may_wait: bool = False
) -> Iterator[int]:
    """Makes vectors of the `lacking` memories batch by batch, oldest first; yields the size of each batch.

    The memories are queried again for each batch.
    """
    made = 0
    last_id = None
    while made < limit:
        rows = lacking if last_id is None else lacking.filter(pk__gt=last_id)
        columns = ("pk", "namespace_id", "content_hash", "retired_spans", "text", "speaker", "context")
        found = list(rows.order_by("pk").values_list(*columns)[:BATCH])
        if not found:
            return
        last_id = found[-1][0]
        held = spans_out_of_search({row[1] for row in found}, [row[0] for row in found])
        for batch in _batches([_pending(row, held.get(row[0], ())) for row in found]):
            kept = _embed_and_insert(model, batch, may_wait=may_wait)
            made += kept
            yield kept


class _Pending(NamedTuple):
    """Holds a memory without vectors. Its passages are those of the text with that hash, without the retired spans."""

    memory_id: UUID
    namespace_id: int
    content_hash: bytes
    retired_spans: list[int]
    speaker: str
    context: str
    passages: list[str]


def _pending(row: tuple[UUID, int, bytes, list[int], str, str, str], held: Sequence[Span]) -> _Pending:
    memory_id, namespace_id, content_hash, retired_spans, text, speaker, context = row
    passages = passages_to_embed(live_text(text, [*spans_of(retired_spans), *held]), speaker, context)
    return _Pending(memory_id, namespace_id, bytes(content_hash), retired_spans, speaker, context, passages)


def _batches(memories: Sequence[_Pending]) -> Iterator[list[_Pending]]:
    """Groups memories into batches of at most BATCH passages; a memory with more is a separate batch."""
    group: list[_Pending] = []
    size = 0
    for memory in memories:
        if group and size + len(memory.passages) > BATCH:
            yield group
            group, size = [], 0
        group.append(memory)
        size += len(memory.passages)
    yield group


def _embed_and_insert(model: ActiveModel, batch: Sequence[_Pending], *, may_wait: bool) -> int:
    """Embeds a batch and stores its vectors; returns the number of memories.

    A text that the provider refuses does not stop the others. Memories of a namespace without budget are left out if
    they `may_wait`; otherwise raises BudgetExceeded.
    """
    if model.calls_network:
        # The cost of a call is attributed to one namespace, so each call embeds memories of one only.
        by_namespace = sorted(batch, key=lambda memory: memory.namespace_id)
        parts = [list(part) for _, part in groupby(by_namespace, key=lambda memory: memory.namespace_id)]
        return sum(_embed_and_insert_of(model, part, may_wait=may_wait) for part in parts)
    return _embed_and_insert_of(model, batch, may_wait=may_wait)


def _embed_and_insert_of(model: ActiveModel, batch: Sequence[_Pending], *, may_wait: bool) -> int:
    try:
        with caller.within_namespace(batch[0].namespace_id):
            vectors = model.embed([text for memory in batch for text in memory.passages])
    except BudgetExceeded as error:
        if not may_wait:
            raise
        # These memories wait for the budget, and other namespaces are not affected.
        log.warning("memories still wait for their vectors", extra={"memories": len(batch), "reason": error.message})
        return 0
    except EmbeddingRefused as error:
        if len(batch) == 1:
            extra = {"memory": str(batch[0].memory_id), "reason": error.message}
            log.warning("a memory stays without vector", extra=extra)
            return 0
        return sum(_embed_and_insert_of(model, [memory], may_wait=may_wait) for memory in batch)
    _insert_vectors(model.id, batch, vectors)
    return len(batch)


def _insert_vectors(model_id: int, batch: Sequence[_Pending], vectors: np.ndarray) -> None:
    places = [(memory, passage) for memory in batch for passage in range(len(memory.passages))]
    columns: list[list[Any]] = [
        [memory.memory_id for memory, _ in places],
        [memory.namespace_id for memory, _ in places],
        [memory.content_hash for memory, _ in places],
        ["{" + ",".join(map(str, memory.retired_spans)) + "}" for memory, _ in places],
        [memory.speaker for memory, _ in places],
        [memory.context for memory, _ in places],
        [passage for _, passage in places],
    ]
    queries.insert_missing_vectors(model_id, columns, vector_array(vectors))
