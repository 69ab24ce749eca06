"""Deletes what the index holds of erased memories. `services/erasure` says which, and when."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from django.db import connection, transaction
from django.db.models import Exists, OuterRef

from memory.models import CommonTerm, ErasedMemory, MemoryVector, Posting
from memory.models.queries import index as queries
from memory.models.scoped import ScopedQuerySet
from memory.types import Scope


def clear_vectors(scope: Scope, *, memory_ids: Sequence[uuid.UUID]) -> int:
    """Deletes the vectors of memories, under every model; returns how many."""
    return int(MemoryVector.objects.in_scope(scope).filter(memory_id__in=memory_ids).delete()[0])


def clear_postings(scope: Scope, *, memory_ids: Sequence[uuid.UUID]) -> int:
    """Deletes the postings of memories that are there still; returns how many."""
    return queries.clear_postings(scope.namespace_id, memory_ids)


def sweep_postings(scope: Scope, *, erasure_id: uuid.UUID) -> int:
    """Deletes the postings of all memories that the erasure names; returns how many."""
    with reading_once():
        erased = ErasedMemory.objects.in_scope(scope).filter(erasure_id=erasure_id).values("memory_id")
        return int(Posting.objects.in_scope(scope).filter(memory_id__in=erased).delete()[0])


def sweep_common_terms(scope: Scope) -> int:
    """Deletes the counts of words that no searchable memory says any longer; returns how many."""
    return int(_unsaid(scope).delete()[0])


def count_unsaid_terms(scope: Scope) -> int:
    """Counts such words."""
    return _unsaid(scope).count()


def _unsaid(scope: Scope) -> ScopedQuerySet[CommonTerm]:
    said = Posting.objects.filter(namespace_id=OuterRef("namespace_id"), term=OuterRef("term"))
    return CommonTerm.objects.in_scope(scope).filter(~Exists(said))


@contextmanager
def reading_once() -> Iterator[None]:
    """Reads all postings of the namespace once; PostgreSQL may plan one reading for each memory instead."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_nestloop = off")
        yield
        cursor.execute("SET LOCAL enable_nestloop = on")
