"""A drill for Citus on a plain PostgreSQL: every table of tenants in parts, by the hash of `namespace_id`.

Citus keeps the rows of a namespace in one shard of each table, and PostgreSQL's own partitions make the same demands:
unique constraints hold `namespace_id`, foreign keys lead with it, and a statement that names no namespace looks into
every part. Nothing here needs Citus.

    DATABASE_URL=postgresql://… python -m deploy.citus.partition [PARTS]

The database is migrated, nobody else uses it, and the login owns its tables. Rows are kept. Run `manage.py migrate`
afterwards, which gives the parts their row-level security; there is no way back but a restored backup,
from an interruption neither.
"""

from __future__ import annotations

import os
import sys
from typing import Any

import psycopg
from psycopg import sql

from deploy.citus.tables import COLUMN, ForeignKey, list_foreign_keys, list_spread, list_unspreadable

PARTS = 32

_INDEXES = """
SELECT pg_get_indexdef(i.indexrelid)
FROM pg_index i
WHERE i.indrelid = %s::regclass AND NOT EXISTS (SELECT FROM pg_constraint k WHERE k.conindid = i.indexrelid
  AND k.conrelid = i.indrelid)
"""
# Checks come with LIKE, foreign keys wait for the tables that they refer to.
_KEYS = """
SELECT k.conname::text, pg_get_constraintdef(k.oid) FROM pg_constraint k
WHERE k.conrelid = %s::regclass AND k.contype IN ('p', 'u')
"""
_TRIGGERS = """
SELECT pg_get_triggerdef(t.oid), (t.tgtype & 32) <> 0
FROM pg_trigger t WHERE t.tgrelid = %s::regclass AND NOT t.tgisinternal
"""
_STATISTICS = (
    "SELECT attname::text, attstattarget FROM pg_attribute WHERE attrelid = %s::regclass AND attstattarget >= 0"
)
_OPTIONS = "SELECT coalesce(array_to_string(reloptions, ', '), '') FROM pg_class WHERE oid = %s::regclass"
_IS_WHOLE = "SELECT relkind = 'r' FROM pg_class WHERE oid = %s::regclass"


class Unspreadable(RuntimeError):
    """The schema has a unique index that no part could keep alone."""


def partition(connection: psycopg.Connection[Any], parts: int = PARTS) -> list[str]:
    """Makes each table of tenants anew in so many parts, with its rows; returns the tables.

    `connection` is in autocommit: a transaction for each table keeps the server's table of locks small.
    """
    with connection.cursor() as cursor:
        spread = list_spread(cursor)
        if lacking := list_unspreadable(cursor, spread):
            raise Unspreadable(
                f"These unique indexes lack {COLUMN}: {', '.join(lacking)}. Add it to each by a migration."
            )
        whole = [table for table in spread if _one(cursor, _IS_WHOLE, table)]
        keys = list_foreign_keys(cursor, whole)
        for key in keys:
            cursor.execute(sql.SQL("ALTER TABLE {} DROP CONSTRAINT {}").format(*_identifiers(key.table, key.name)))
        for table in whole:
            with connection.transaction():
                _rebuild(cursor, table, parts)
        for key in keys:
            _add(cursor, key)
    return whole


def name_part(table: str, number: int) -> str:
    """What the part of a table is called."""
    return f"{table}_p{number:02d}"


def _rebuild(cursor: psycopg.Cursor[Any], table: str, parts: int) -> None:
    """One table of the same name, with the same rows, columns, keys, indexes and triggers, in parts."""
    indexes = cursor.execute(_INDEXES, [table]).fetchall()
    keys = cursor.execute(_KEYS, [table]).fetchall()
    triggers = cursor.execute(_TRIGGERS, [table]).fetchall()
    statistics = cursor.execute(_STATISTICS, [table]).fetchall()
    options = _one(cursor, _OPTIONS, table)
    name, old = _identifiers(table, f"{table}_whole")
    cursor.execute(sql.SQL("ALTER TABLE {} RENAME TO {}").format(name, old))
    cursor.execute(
        sql.SQL("CREATE TABLE {} (LIKE {} INCLUDING ALL EXCLUDING INDEXES) PARTITION BY HASH ({})").format(
            name, old, sql.Identifier(COLUMN)
        )
    )
    for number in range(parts):
        made = sql.SQL("CREATE TABLE {} PARTITION OF {} FOR VALUES WITH (MODULUS {}, REMAINDER {})").format(
            sql.Identifier(name_part(table, number)), name, sql.Literal(parts), sql.Literal(number)
        )
        cursor.execute(made + sql.SQL(f" WITH ({options})") if options else made)
    cursor.execute(sql.SQL("INSERT INTO {} SELECT * FROM {}").format(name, old))
    cursor.execute(sql.SQL("DROP TABLE {}").format(old))
    for column, target in statistics:
        cursor.execute(
            sql.SQL("ALTER TABLE {} ALTER COLUMN {} SET STATISTICS {}").format(
                name, sql.Identifier(column), sql.Literal(target)
            )
        )
    for key, definition in keys:
        cursor.execute(
            sql.SQL("ALTER TABLE {} ADD CONSTRAINT {} ").format(name, sql.Identifier(key)) + sql.SQL(definition)
        )
    for (definition,) in indexes:
        cursor.execute(definition)
    for definition, is_of_truncate in triggers:
        cursor.execute(definition)
        if is_of_truncate:  # That of the table does not see a part emptied.
            for number in range(parts):
                cursor.execute(definition.replace(f".{table} ", f".{name_part(table, number)} "))


def _add(cursor: psycopg.Cursor[Any], key: ForeignKey) -> None:
    statement = sql.SQL("ALTER TABLE {} ADD CONSTRAINT {} ").format(*_identifiers(key.table, key.name))
    cursor.execute(statement + sql.SQL(key.definition))


def _identifiers(*names: str) -> list[sql.Identifier]:
    return [sql.Identifier(name) for name in names]


def _one(cursor: psycopg.Cursor[Any], statement: str, table: str) -> Any:
    row = cursor.execute(statement, [table]).fetchone()
    assert row is not None
    return row[0]


def main(arguments: list[str]) -> None:
    parts = int(arguments[0]) if arguments else PARTS
    with psycopg.connect(os.environ["DATABASE_URL"], autocommit=True) as connection:
        made = partition(connection, parts)
    print(f"{len(made)} tables in {parts} parts each. Now run `manage.py migrate`.")  # noqa: T201


if __name__ == "__main__":
    main(sys.argv[1:])
