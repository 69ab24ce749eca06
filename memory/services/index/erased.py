"""Deletes the index entries of erased memories, for `services/erasure`."""

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
    """Deletes the vectors of memories under all models; returns their number."""
    return int(MemoryVector.objects.in_scope(scope).filter(memory_id__in=memory_ids).delete()[0])


def clear_postings(scope: Scope, *, memory_ids: Sequence[uuid.UUID]) -> int:
    """Deletes the postings of memories that still exist; returns their number."""
    return queries.clear_postings(scope.namespace_id, memory_ids)


def sweep_postings(scope: Scope, *, erasure_id: uuid.UUID) -> int:
    """Deletes the postings of all memories that the erasure names; returns their number."""
    with reading_once():
        erased = ErasedMemory.objects.in_scope(scope).filter(erasure_id=erasure_id).values("memory_id")
        return int(Posting.objects.in_scope(scope).filter(memory_id__in=erased).delete()[0])


def sweep_common_terms(scope: Scope) -> int:
    """Deletes the counts of terms that no searchable memory has any longer; returns their number."""
    return int(_unsaid(scope).delete()[0])


def count_unsaid_terms(scope: Scope) -> int:
    """Counts the terms that `sweep_common_terms` would delete."""
    return _unsaid(scope).count()


def _unsaid(scope: Scope) -> ScopedQuerySet[CommonTerm]:
    said = Posting.objects.filter(namespace_id=OuterRef("namespace_id"), term=OuterRef("term"))
    return CommonTerm.objects.in_scope(scope).filter(~Exists(said))


@contextmanager
def reading_once() -> Iterator[None]:
    """Prevents nested loops inside, so that PostgreSQL reads the namespace's postings once and not for each memory."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_nestloop = off")
        yield
        cursor.execute("SET LOCAL enable_nestloop = on")
