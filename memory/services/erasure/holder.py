"""Defines the subject of an erasure, and how one table counts and clears its rows about it."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, Self

from django.db import connection

from memory.enums import ErasureTarget
from memory.models import ErasedMemory, ErasedSession, Erasure
from memory.models.queries import erasure_holders as sql
from memory.services.jobs import queue
from memory.types import Scope


@dataclass(frozen=True, slots=True)
class Erased:
    """The subject of an erasure. `session` is '' unless a session is erased."""

    scope: Scope
    id: uuid.UUID
    session: str
    whole_namespace: bool
    asked_at: datetime

    @classmethod
    def of(cls, erasure: Erasure) -> Self:
        scope = Scope(erasure.namespace_id, erasure.namespace, erasure.actor, erasure.request_id)
        whole = erasure.target == ErasureTarget.NAMESPACE
        return cls(scope, erasure.id, erasure.session, whole, erasure.created_at)

    def sessions(self) -> set[str]:
        """Return the sessions that the erasure touches."""
        rows = ErasedSession.objects.in_scope(self.scope).filter(erasure_id=self.id)
        return set(rows.values_list("session", flat=True))

    def ids(self) -> set[bytes]:
        """Return the 16 bytes of each memory's id."""
        return {identity.bytes for batch in self.batches() for identity in batch}

    def batches(self) -> Iterator[list[uuid.UUID]]:
        """Yield the memories' ids in order, _IDS at a time.

        A statement that joins the list of ids may be planned as a loop of every memory over every id while the
        statistics are older than the list. A statement that gets the ids as a parameter looks each of them up.
        """
        rows = ErasedMemory.objects.in_scope(self.scope).filter(erasure_id=self.id).order_by("memory_id")
        ids = rows.values_list("memory_id", flat=True)
        batch = list(ids[:_IDS])
        while batch:
            yield batch
            batch = list(ids.filter(memory_id__gt=batch[-1])[:_IDS]) if len(batch) == _IDS else []


_IDS = 2_000
Count = Callable[[Erased], int]
# A sweep that clears several tables returns the count of each.
Sweep = Callable[[Erased], "int | Counter[str]"]
ClearBatch = Callable[[Erased, Sequence[uuid.UUID], datetime], int]


@dataclass(frozen=True, slots=True)
class Holder:
    """A place that may hold erased data. `name`: the table. `count`: how much of it is left; 0 when it is done.

    `clear` removes the data of some memories, inside the transaction that deletes these; the memories' own rows exist
    until their holder's turn. `sweep` removes all data of an erasure, once, after the last memory is gone, including
    what `clear` may have missed. Both return how much they removed. A holder with neither is cleared by `run`, with the
    sessions.
    """

    name: str
    count: Count
    clear: ClearBatch | None = None
    sweep: Sweep | None = None


def execute(statement: str, erased: Erased, **more: Any) -> Any:
    """Run the statement; return the first value of its first row, or the number of changed rows. `more`: further
    parameters."""
    parameters = {
        "namespace_id": erased.scope.namespace_id,
        "erasure_id": erased.id,
        "session": erased.session,
        "whole": erased.whole_namespace,
        "asked_at": erased.asked_at,
        "change_kind": queue.CHANGE_MEMORIES.name,
        "import_kind": queue.IMPORT.name,
        "load_kind": queue.LOAD_CUBE.name,
        "session_kinds": [kind.name for kind in queue.OF_SESSION],
        **more,
    }
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return cursor.fetchone()[0] if cursor.description else cursor.rowcount


def count(rows: str) -> Count:
    """Return a function that counts these rows (SQL after FROM) for a whole erasure."""
    return change(sql.count_rows(rows))


def delete(rows: str) -> Count:
    """Return a function that deletes these rows for a whole erasure, and counts them."""
    return change(sql.delete_rows(rows))


def delete_in_order(table: str, alias: str, rows: str) -> Count:
    """Return a function that deletes these rows for a whole erasure in the order of their ids, and counts them."""
    return change(sql.delete_rows_in_order(table, alias, rows))


def change(statement: str) -> Count:
    """Return a function that runs the statement for a whole erasure, and returns its count."""
    return partial(execute, statement)


def _count_by_ids(statement: str) -> Count:
    """Return a function that adds up the counts of the statement over batches of all memories, given as
    `memory_ids`."""
    return lambda erased: sum(int(execute(statement, erased, memory_ids=ids)) for ids in erased.batches())


def clear_with(statement: str) -> ClearBatch:
    """Return a function that runs the statement for some memories (`memory_ids`) at `now`, and counts the changed
    rows."""

    def clear(erased: Erased, memory_ids: Sequence[uuid.UUID], now: datetime) -> int:
        return int(execute(statement, erased, memory_ids=list(memory_ids), now=now))

    return clear


def holder_of_memory(table: str, column: str = "memory_id") -> Holder:
    """Return the holder of a tenant's table whose rows belong to the memory in `column`."""
    rows = sql.rows_of_memories(table, column)
    deletion = sql.delete_rows(rows)
    return Holder(table, _count_by_ids(sql.count_rows(rows)), clear_with(deletion), _count_by_ids(deletion))


def holder_of_pair(table: str, columns: tuple[str, str]) -> Holder:
    """Return the holder of a table whose rows name two memories, with reasons that may quote both."""
    erased = sql.rows_of_pairs(table, columns, batch=False)
    batch = sql.rows_of_pairs(table, columns, batch=True)
    return Holder(table, count(erased), clear_with(sql.delete_rows(batch)), delete(erased))
