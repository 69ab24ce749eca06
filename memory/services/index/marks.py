"""Compares `Memory.embedded` with the vectors that are stored, and sets it right.

Who stores or removes vectors keeps the mark in the same transaction. What is left to this: the switch to another model,
also one that was killed in its middle; a write that began before a switch and ends after it; and a process of an older
version that still runs after an upgrade.
"""

from __future__ import annotations

from django.db import transaction
from django.db.models import Exists, Subquery

from memory.enums import EmbeddingState
from memory.models import EmbeddingModel, Memory
from memory.models.memory import MemoryQuerySet
from memory.models.search import has_vector

BATCH = 5_000


def wrong() -> int:
    """How many memories are marked wrongly. Looks for the vectors of every memory."""
    return sum(rows.count() for rows in _wrong())


def correct_marks() -> int:
    """Marks anew what is marked wrongly, in batches that are each kept; returns how many memories."""
    return sum(_set_right(rows) for rows in _wrong())


def _set_right(wrong: MemoryQuerySet) -> int:
    changed, left = 0, wrong.order_by("pk").values_list("pk", flat=True)
    ids = list(left[:BATCH])
    while ids:
        rows = Memory.objects.across_namespaces().filter(pk__in=ids)
        with transaction.atomic():
            # Whoever changes vectors of a memory holds its row, and what they changed is seen once it is locked.
            list(rows.order_by("pk").select_for_update(no_key=True).values_list("pk", flat=True))
            changed += rows.exclude(embedded=_is_embedded()).update(embedded=_is_embedded())
        ids = list(left.filter(pk__gt=ids[-1])[:BATCH])
    return changed


def _wrong() -> tuple[MemoryQuerySet, MemoryQuerySet]:
    """Those marked as embedded that are not, and the other way round. Apart, so that the first is an anti-join."""
    known, rows = _is_embedded(), Memory.objects.across_namespaces()
    return rows.filter(embedded=True).filter(~known), rows.filter(embedded=False).filter(known)


def _is_embedded() -> Exists:
    """By the model that is active when the statement runs."""
    return has_vector(Subquery(EmbeddingModel.objects.filter(state=EmbeddingState.ACTIVE).values("pk")[:1]))
