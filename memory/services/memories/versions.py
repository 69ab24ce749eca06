"""Keeps a memory's content before it changes, so that nothing is overwritten silently."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from datetime import datetime

from django.db.models import Max

from memory.models import Memory, MemoryVersion
from memory.types import Access, Scope


def keep_version(access: Access, memory: Memory, reason: str, *, now: datetime) -> None:
    """Store the memory's present content as a version; to be called in the transaction that changes it."""
    MemoryVersion.objects.create(
        namespace_id=memory.namespace_id,
        memory_id=memory.pk,
        text=memory.text,
        metadata=memory.metadata,
        speaker=memory.speaker,
        occurred_at=memory.occurred_at,
        revision=memory.revision,
        reason=reason,
        actor=access.actor,
        replaced_at=now,
    )


def find_last_changes(scope: Scope, memory_ids: Sequence[uuid.UUID]) -> dict[uuid.UUID, datetime]:
    """Return when each of the namespace's memories was last corrected; memories that never were are left out."""
    versions = MemoryVersion.objects.in_scope(scope).filter(memory_id__in=memory_ids).order_by()
    return dict(versions.values_list("memory_id").annotate(Max("replaced_at")))
