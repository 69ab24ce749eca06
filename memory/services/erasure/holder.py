"""What an erasure is about, and how one table says what it holds of that, and clears it."""

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
from memory.types import Scope


@dataclass(frozen=True, slots=True)
class Erased:
    """What an erasure is about. `session` is empty unless a session is forgotten."""

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
        """The sessions that it touches."""
        rows = ErasedSession.objects.in_scope(self.scope).filter(erasure_id=self.id)
        return set(rows.values_list("session", flat=True))

    def ids(self) -> set[bytes]:
        """The 16 bytes of each memory's id."""
        return {identity.bytes for batch in self.batches() for identity in batch}

    def batches(self) -> Iterator[list[uuid.UUID]]:
        """The memories' ids in their order, _IDS at a time.

        A statement that joins the list of ids may be planned as a loop of every memory in every id, where the
        statistics are older than the list. One that is given ids looks each of them up.
        """
        rows = ErasedMemory.objects.in_scope(self.scope).filter(erasure_id=self.id).order_by("memory_id")
        ids = rows.values_list("memory_id", flat=True)
        batch = list(ids[:_IDS])
        while batch:
            yield batch
            batch = list(ids.filter(memory_id__gt=batch[-1])[:_IDS]) if len(batch) == _IDS else []


_IDS = 2_000
Count = Callable[[Erased], int]
# A sweep that clears more than its own table says how much of each.
Sweep = Callable[[Erased], "int | Counter[str]"]
ClearBatch = Callable[[Erased, Sequence[uuid.UUID], datetime], int]


@dataclass(frozen=True, slots=True)
class Holder:
    """`name`: the table. `count`: how much it holds of what is erased; 0 when it is done.

    `clear` removes what it holds of some memories, inside the transaction that deletes these; the memories' own rows
    are there until their holder's turn. `sweep` removes all of an erasure, once, after the last memory is gone, and
    the rest of what `clear` may have missed. Both say how much that was. One that has neither is cleared by `run`,
    with the sessions.
    """

    name: str
    count: Count
    clear: ClearBatch | None = None
    sweep: Sweep | None = None


def execute(statement: str, erased: Erased, **more: Any) -> Any:
    """The first value of its first row, or how many rows it changed. `more`: its further parameters."""
    parameters = {
        "namespace_id": erased.scope.namespace_id,
        "erasure_id": erased.id,
        "session": erased.session,
        "whole": erased.whole_namespace,
        "asked_at": erased.asked_at,
        **more,
    }
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return cursor.fetchone()[0] if cursor.description else cursor.rowcount


ERASED = "memory_erasedmemory e WHERE e.namespace_id = %(namespace_id)s AND e.erasure_id = %(erasure_id)s"


def is_erased(memory_id: str) -> str:
    """SQL: whether the erasure names the memory, by a look-up of its key. (EXISTS may be planned as a join of all.)"""
    return f"coalesce((SELECT true FROM {ERASED} AND e.memory_id = {memory_id}), false)"


def count_with(statement: str) -> Count:
    """What the statement counts or changes, of a whole erasure."""
    return partial(execute, statement)


def _count_by_ids(statement: str) -> Count:
    """Adds up what the statement says of all memories; it names some of them as `memory_ids`."""
    return lambda erased: sum(int(execute(statement, erased, memory_ids=ids)) for ids in erased.batches())


def clear_with(statement: str) -> ClearBatch:
    """How many rows the statement changes of some memories, which it names as `memory_ids`, at the moment `now`."""

    def clear(erased: Erased, memory_ids: Sequence[uuid.UUID], now: datetime) -> int:
        return int(execute(statement, erased, memory_ids=list(memory_ids), now=now))

    return clear


def holder_of_memory(table: str, column: str = "memory_id") -> Holder:
    """A table of a tenant whose rows belong to the memory in `column`."""
    rows = f"FROM {table} t WHERE t.namespace_id = %(namespace_id)s AND t.{column} = ANY(%(memory_ids)s::uuid[])"
    delete = f"DELETE {rows}"
    return Holder(table, _count_by_ids(f"SELECT count(*) {rows}"), clear_with(delete), _count_by_ids(delete))


def delete_in_order(table: str, alias: str, rows: str) -> Count:
    """Deletes `rows` of `table`, locked in the order of their ids: two erasures at once do not wait for each other."""
    return count_with(
        f"WITH gone AS (SELECT {alias}.id FROM {rows} ORDER BY {alias}.id FOR UPDATE OF {alias}) "
        f"DELETE FROM {table} t USING gone "
        f"WHERE t.namespace_id = %(namespace_id)s AND t.id = gone.id"
    )


def holder_of_pair(table: str, columns: tuple[str, str]) -> Holder:
    """A table whose rows name two memories, and whose reasons may tell of both."""
    erased = " OR ".join(is_erased(f"t.{column}") for column in columns)
    named = " OR ".join(f"t.{column} = ANY(%(memory_ids)s::uuid[])" for column in columns)
    rows = f"FROM {table} t WHERE t.namespace_id = %(namespace_id)s AND"
    return Holder(
        table,
        count_with(f"SELECT count(*) {rows} ({erased})"),
        clear_with(f"DELETE {rows} ({named})"),
        count_with(f"DELETE {rows} ({erased})"),
    )
