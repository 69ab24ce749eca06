"""Memories that wait for their vectors."""

from __future__ import annotations

import uuid

from memory.enums import MemoryState
from memory.models import Memory
from memory.services.index import entries


def take_vectors(*memory_ids: uuid.UUID | str) -> None:
    """Leave the memories as an edit does while the embedding provider is away."""
    for memory in Memory.objects.across_namespaces().filter(pk__in=memory_ids):
        entries.replace_vectors(memory, None, searchable=memory.state == MemoryState.ACTIVE)
