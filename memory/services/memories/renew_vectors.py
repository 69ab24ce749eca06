"""Embeds memories whose vectors are doubted again, with the active model."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from datetime import datetime

from django.db import transaction

from memory import audit
from memory.enums import AuditEvent, MemoryState
from memory.models import Memory
from memory.services.index import entries
from memory.services.index.embedding import embed_or_none, passages_to_embed
from memory.services.index.searchable_text import searchable_texts
from memory.services.jobs import queue
from memory.services.memories.change import check_reason
from memory.types import Access, Scope

# The number of memories that are embedded together, which takes seconds of CPU time.
BATCH = 32


def renew_vectors(
    access: Access, *, memory_ids: Iterable[uuid.UUID], reason: str, now: datetime, request_id: str = ""
) -> list[uuid.UUID]:
    """Embed memories again and replace their vectors of every model; return their ids.

    The worker embeds a memory whose text changes meanwhile, and all of them when the provider is away; until then they
    are found only by their words. Raises InvalidInput.
    """
    reason = check_reason(reason)
    ordered = sorted(set(memory_ids))
    renewed: list[uuid.UUID] = []
    for start in range(0, len(ordered), BATCH):
        renewed += _renew(access, ordered[start : start + BATCH], reason, now=now, request_id=request_id)
    return renewed


def _renew(
    access: Access, memory_ids: list[uuid.UUID], reason: str, *, now: datetime, request_id: str
) -> list[uuid.UUID]:
    rows = Memory.objects.reachable_by(access).filter(pk__in=memory_ids).order_by("pk")
    columns = ("id", "namespace_id", "session", "text", "retired_spans", "speaker", "context", "state")
    before = list(rows.only(*columns))
    texts = searchable_texts(before)
    embedded = embed_or_none([passages_to_embed(texts[row.pk], row.speaker, row.context) for row in before])
    said = {row.pk: (place, texts[row.pk], row.speaker, row.context) for place, row in enumerate(before)}
    with transaction.atomic():
        locked = list(rows.select_related("namespace").select_for_update(of=("self",)))
        late, texts = embedded is None, searchable_texts(locked)
        for memory in locked:
            place, *known = said.get(memory.pk, (0,))
            own = None
            if embedded is not None and known == [texts[memory.pk], memory.speaker, memory.context]:
                own = embedded.only([place])
            late = late or own is None
            entries.replace_vectors(memory, own, searchable=memory.state == MemoryState.ACTIVE)
        audit.record_many(
            [
                audit.fields(
                    Scope(memory.namespace_id, memory.namespace.name, access.actor, request_id),
                    AuditEvent.MEMORY_REEMBED,
                    session=memory.session,
                    subject=str(memory.pk),
                    details={"reason": reason},
                    now=now,
                )
                for memory in locked
            ]
        )
        if late and locked:
            queue.enqueue(queue.EMBED_PENDING)
    return [memory.pk for memory in locked]
