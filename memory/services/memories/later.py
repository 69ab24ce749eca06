"""Finds later memories that may end or update an older one that arrived after them."""

from __future__ import annotations

import uuid

from django.db.models import Q

from memory.enums import Role
from memory.models import Memory
from memory.models.memory import MemoryQuerySet
from memory.services.index import neighbours
from memory.services.index.embedding_model import active_model
from memory.services.memories.comparison import select_said_by_people
from memory.types import Scope

# This many of the nearest memories are read; those of a later time are compared again.
_MAX_NEAR = 30


def read_overtaken(scope: Scope, memory_id: uuid.UUID, *, anew: bool) -> Memory | None:
    """Return the memory if it holds and later memories exist; otherwise None.

    Without `anew`, only memories stored before it count: mostly there are none, because memories arrive in the order of
    their times.
    """
    memory = Memory.objects.in_scope(scope).active().filter(pk=memory_id, superseded_by=None, turn__gt=0).first()
    return memory if memory is not None and _select_later(scope, memory, anew=anew).exists() else None


def find_later(scope: Scope, memory: Memory, *, anew: bool) -> list[uuid.UUID]:
    """Find the memories near `memory` in meaning that people said later, oldest first. `anew`: see `read_overtaken`.

    Raises EmbeddingUnavailable.
    """
    model = active_model()
    [near] = neighbours.near_each(scope, model.embed([memory.text]), model_id=model.id, limit=_MAX_NEAR)
    rows = select_said_by_people(_select_later(scope, memory, anew=anew)).filter(pk__in=near)
    return list(rows.order_by("occurred_at", "pk").values_list("pk", flat=True))


def _select_later(scope: Scope, memory: Memory, *, anew: bool) -> MemoryQuerySet:
    rows = Memory.objects.in_scope(scope).filter(
        Q(occurred_at__gt=memory.occurred_at) | Q(occurred_at=memory.occurred_at, pk__gt=memory.pk),
        role=Role.USER,
        turn__gt=0,
    )
    return rows if anew else rows.filter(pk__lt=memory.pk)
