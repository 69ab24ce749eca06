"""Reads and refreshes PostgreSQL's planner statistics, and looks up extensions."""

from __future__ import annotations

from django.db import connection

# Less growth hardly changes plans; autovacuum uses the same share.
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
    """Refreshes the statistics if these memories are a large share of all; returns whether it did.

    It is for a transaction that fills a namespace and searches it: autovacuum does not see its rows, and on a server
    that had few rows before, each look-up of one row would read the whole namespace. Tables that another session is
    analysing are skipped. Other sessions cannot vacuum the tables until the transaction ends. The statistics survive a
    rollback, after which `count` must be called again.
    """
    known = estimate_rows("memory_memory")
    is_outdated = memories > CHANGED_SHARE * max(known, 0)
    if is_outdated:
        count()
    return bool(is_outdated)


def count() -> None:
    """Refreshes the statistics of the tables."""
    with connection.cursor() as cursor:
        cursor.execute(f"ANALYZE (SKIP_LOCKED) {', '.join(_TABLES)}")


def estimate_rows(table: str) -> int:
    """Returns the estimated number of rows of a table by its last statistics, or -1 if there are none."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT reltuples::bigint FROM pg_class WHERE oid = %s::regclass", [table])
        return int(cursor.fetchone()[0])


def find_extension(name: str) -> tuple[str, str | None] | None:
    """Returns the available version of an extension and the one installed in this database; None if not available."""
    statement = "SELECT default_version, installed_version FROM pg_available_extensions WHERE name = %s"
    with connection.cursor() as cursor:
        cursor.execute(statement, [name])
        row: tuple[str, str | None] | None = cursor.fetchone()
    return row
