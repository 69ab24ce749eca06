"""Renews the stored terms of memories after a change of the analyser, once for each version."""

from __future__ import annotations

import time
from datetime import datetime
from uuid import UUID

from django.db import transaction

from memory.enums import MemoryState
from memory.models import Memory, UpkeepMark
from memory.services.index import entries
from memory.services.index.entries import Indexed
from memory.services.index.searchable_text import searchable_texts
from memory.text.analysis import VERSION

BATCH = 500
_BEFORE_ALL = UUID(int=0)


def renew_terms(*, now: datetime, seconds: float = float("inf")) -> int:
    """Renews the terms of memories that another version of the analyser made, oldest first; returns their number.

    It commits each batch, ends after about `seconds`, and continues in the next run. After all are renewed, a run only
    reads one row.
    """
    deadline = time.monotonic() + seconds
    mark, _ = UpkeepMark.objects.get_or_create(name=f"terms {VERSION}")
    renewed = 0
    while mark.trusted_at is None and time.monotonic() < deadline:
        with transaction.atomic():
            mark = UpkeepMark.objects.select_for_update().get(pk=mark.pk)
            rows = Memory.objects.across_namespaces().filter(pk__gt=mark.position or _BEFORE_ALL).order_by("pk")
            batch = list(rows.select_for_update(no_key=True)[:BATCH])
            renewed += _renew(batch)
            if batch:
                mark.position = batch[-1].pk
            else:
                mark.trusted_at = now
            mark.save(update_fields=["position", "trusted_at"])
    return renewed


def _renew(memories: list[Memory]) -> int:
    """Renews the terms of locked memories; returns the number that differed.

    Archived memories have terms, but no postings.
    """
    names, texts = entries.names_of(memories), searchable_texts(memories)
    changed: list[Memory] = []
    for memory in memories:
        entry = Indexed.of(memory, text=texts[memory.pk], names=names.get(memory.pk, ()))
        if memory.length == entry.length and set(memory.terms) == entry.frequencies.keys():
            continue
        if memory.state == MemoryState.ACTIVE:
            entries.index_anew(memory, entry)
        else:
            memory.terms, memory.length = list(entry.frequencies), entry.length
        changed.append(memory)
    namespace_ids = {memory.namespace_id for memory in changed}
    Memory.objects.filter(namespace_id__in=namespace_ids).bulk_update(changed, ["terms", "length"])
    return len(changed)
