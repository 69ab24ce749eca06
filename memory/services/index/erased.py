"""Deletes what the index holds of erased memories. `services/erasure` says which, and when."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from django.db import connection, transaction

from memory.types import Scope

_CLEAR_VECTORS = """
DELETE FROM memory_memoryvector v WHERE v.namespace_id = %(namespace_id)s AND v.memory_id = ANY(%(memory_ids)s::uuid[])
"""
# By the whole key, as `entries` deletes them; the memories' own rows are there still.
_CLEAR_POSTINGS = """
WITH keys AS MATERIALIZED (
    SELECT m.id, t.term FROM memory_memory m, unnest(m.terms) AS t (term)
    WHERE m.namespace_id = %(namespace_id)s AND m.id = ANY(%(memory_ids)s::uuid[])
)
DELETE FROM memory_posting p USING keys k
WHERE p.namespace_id = %(namespace_id)s AND p.term = k.term AND p.memory_id = k.id
"""
_SWEEP_POSTINGS = """
DELETE FROM memory_posting p WHERE p.namespace_id = %(namespace_id)s AND p.memory_id IN (
    SELECT e.memory_id FROM memory_erasedmemory e
    WHERE e.namespace_id = %(namespace_id)s AND e.erasure_id = %(erasure_id)s)
"""
# Words that no searchable memory of the namespace says any longer.
UNSAID = """
memory_commonterm t WHERE t.namespace_id = %(namespace_id)s
  AND NOT EXISTS (SELECT FROM memory_posting p WHERE p.namespace_id = t.namespace_id AND p.term = t.term)
"""


def clear_vectors(scope: Scope, *, memory_ids: Sequence[uuid.UUID]) -> int:
    """Deletes the vectors of memories, under every model; returns how many."""
    return _run(_CLEAR_VECTORS, scope, memory_ids=list(memory_ids))


def clear_postings(scope: Scope, *, memory_ids: Sequence[uuid.UUID]) -> int:
    """Deletes the postings of memories that are there still; returns how many."""
    return _run(_CLEAR_POSTINGS, scope, memory_ids=list(memory_ids))


def sweep_postings(scope: Scope, *, erasure_id: uuid.UUID) -> int:
    """Deletes the postings of all memories that the erasure names; returns how many."""
    with reading_once():
        return _run(_SWEEP_POSTINGS, scope, erasure_id=erasure_id)


def sweep_common_terms(scope: Scope) -> int:
    """Deletes the counts of words that no searchable memory says any longer; returns how many."""
    return _run(f"DELETE FROM {UNSAID}", scope)  # noqa: S608 - the constant above


@contextmanager
def reading_once() -> Iterator[None]:
    """Reads all postings of the namespace once; PostgreSQL may plan one reading for each memory instead."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_nestloop = off")
        yield
        cursor.execute("SET LOCAL enable_nestloop = on")


def _run(statement: str, scope: Scope, **values: Any) -> int:
    with connection.cursor() as cursor:
        cursor.execute(statement, {"namespace_id": scope.namespace_id, **values})
        return int(cursor.rowcount)
