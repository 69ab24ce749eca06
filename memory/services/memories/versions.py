"""Keeps what a memory said before it is changed: nothing is overwritten silently."""

from __future__ import annotations

from datetime import datetime

from memory.models import Memory, MemoryVersion
from memory.types import Access


def keep_version(access: Access, memory: Memory, reason: str, *, now: datetime) -> None:
    """Keeps what the memory says now; inside the transaction that changes it."""
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
