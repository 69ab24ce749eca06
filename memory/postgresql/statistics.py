"""Reads and refreshes PostgreSQL's statistics, by which it plans statements, and reads which extensions it has."""

from __future__ import annotations

from django.db import connection

# Growth by less leaves the plans as they are; autovacuum uses the same share.
CHANGED_SHARE = 0.1
_TABLES = (
    "memory_memory",
    "memory_memoryvector",
    "memory_posting",
    "memory_memorylink",
    "memory_retiredstatement",
    "memory_entitymention",
)


def refresh(*, memories: int) -> bool:
    """Has PostgreSQL count again when these memories are a good part of all there are; says whether it did.

    For a transaction that fills a namespace and searches it: autovacuum does not see its rows, and on a server that
    had few until then each look-up of one row would read all of the namespace. A table that somebody else is counting
    is left to them. Until the transaction ends nobody else vacuums the tables, and the figures outlive it when it is
    rolled back: then `count` once more.
    """
    known = estimate_rows("memory_memory")
    is_outdated = memories > CHANGED_SHARE * max(known, 0)
    if is_outdated:
        count()
    return bool(is_outdated)


def count() -> None:
    """Has PostgreSQL count what is in the tables."""
    with connection.cursor() as cursor:
        cursor.execute(f"ANALYZE (SKIP_LOCKED) {', '.join(_TABLES)}")


def estimate_rows(table: str) -> int:
    """Returns about how many rows the table has, as it was counted last; -1 when it was not."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT reltuples::bigint FROM pg_class WHERE oid = %s::regclass", [table])
        return int(cursor.fetchone()[0])


def find_extension(name: str) -> tuple[str, str | None] | None:
    """Finds the version of an extension that the server has, and the one that is installed in this database."""
    statement = "SELECT default_version, installed_version FROM pg_available_extensions WHERE name = %s"
    with connection.cursor() as cursor:
        cursor.execute(statement, [name])
        row: tuple[str, str | None] | None = cursor.fetchone()
    return row
