"""Compares `Memory.embedded` with the stored vectors, and corrects it.

Code that stores or removes vectors sets the mark in the same transaction. This module handles the other cases: the
switch to another model, even if it was interrupted; a write that began before a switch and ended after it; and a
process of an older version that still runs after an upgrade.
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
    """Counts the memories with a wrong mark. It looks for the vectors of all memories."""
    return sum(rows.count() for rows in _wrong())


def correct_marks() -> int:
    """Corrects wrong marks, in batches that are committed one by one; returns the number of memories."""
    return sum(_set_right(rows) for rows in _wrong())


def _set_right(wrong: MemoryQuerySet) -> int:
    changed, left = 0, wrong.order_by("pk").values_list("pk", flat=True)
    ids = list(left[:BATCH])
    while ids:
        rows = Memory.objects.across_namespaces().filter(pk__in=ids)
        with transaction.atomic():
            # Writers of vectors hold the memory's row, so their changes are visible once it is locked here.
            list(rows.order_by("pk").select_for_update(no_key=True).values_list("pk", flat=True))
            changed += rows.exclude(embedded=_is_embedded()).update(embedded=_is_embedded())
        ids = list(left.filter(pk__gt=ids[-1])[:BATCH])
    return changed


def _wrong() -> tuple[MemoryQuerySet, MemoryQuerySet]:
    """Returns the memories that are wrongly marked as embedded, and the ones that wrongly are not.

    They are two queries, so that PostgreSQL plans the first as an anti-join.
    """
    known, rows = _is_embedded(), Memory.objects.across_namespaces()
    return rows.filter(embedded=True).filter(~known), rows.filter(embedded=False).filter(known)


def _is_embedded() -> Exists:
    """Returns an expression that tells whether a memory has a vector of the model active when the statement runs."""
    return has_vector(Subquery(EmbeddingModel.objects.filter(state=EmbeddingState.ACTIVE).values("pk")[:1]))
