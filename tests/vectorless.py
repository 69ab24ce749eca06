"""Memories that wait for their vectors."""

from __future__ import annotations

import uuid

from memory.enums import MemoryState
from memory.models import Memory
from memory.services.index import entries


def take_vectors(*memory_ids: uuid.UUID | str) -> None:
    """Put the memories into the state after an edit while the embedding provider is unavailable."""
    for memory in Memory.objects.across_namespaces().filter(pk__in=memory_ids):
        entries.replace_vectors(memory, None, searchable=memory.state == MemoryState.ACTIVE)
