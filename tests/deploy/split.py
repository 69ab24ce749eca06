"""Splits the tables of a database into parts, and looks at its schema before and after."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from django.core.management import call_command
from psycopg.conninfo import make_conninfo

import deploy.citus.partition
from deploy.citus import tables
from memory.postgresql.base import DatabaseWrapper, open_connection

COLUMNS = """
SELECT c.relname, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attidentity, a.attstattarget,
       a.attcollation, pg_get_expr(d.adbin, d.adrelid)
FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND starts_with(c.relname, 'memory_')
"""
CONSTRAINTS = """
SELECT c.relname, k.conname, pg_get_constraintdef(k.oid) FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid
WHERE NOT c.relispartition AND k.conparentid = 0 AND starts_with(c.relname, 'memory_')
"""
# Written out and read again, lists of values in a condition are cast one by one.
INDEXES = """
SELECT c.relname, i.relname, regexp_replace(replace(pg_get_indexdef(i.oid), ' ON ONLY ', ' ON '),
       '::(character varying|text)(\\[\\])?|[()]', '', 'g')
FROM pg_index x JOIN pg_class c ON c.oid = x.indrelid JOIN pg_class i ON i.oid = x.indexrelid
WHERE NOT c.relispartition AND starts_with(c.relname, 'memory_')
"""
TRIGGERS = """
SELECT c.relname, pg_get_triggerdef(t.oid) FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
WHERE NOT t.tgisinternal AND NOT c.relispartition
"""
POLICIES = """
SELECT c.relname, c.relrowsecurity, p.polname, pg_get_expr(p.polqual, c.oid), pg_get_expr(p.polwithcheck, c.oid)
FROM pg_policy p JOIN pg_class c ON c.oid = p.polrelid WHERE NOT c.relispartition
"""
RIGHTS = """
SELECT table_name, grantee, privilege_type FROM information_schema.role_table_grants
WHERE table_schema = 'public' AND table_name !~ '_p[0-9][0-9]$'
"""
SCHEMA = (COLUMNS, CONSTRAINTS, INDEXES, TRIGGERS, POLICIES, RIGHTS)


@dataclass(frozen=True)
class Parted:
    """A database whose `tables` of tenants are in so many `parts`; `before` and `after` are its schema, and `kept` the
    names of the sessions that it had before and has now."""

    tables: frozenset[str]
    parts: int
    before: list[set[Any]]
    after: list[set[Any]]
    kept: set[str]


def url_of(database: DatabaseWrapper) -> str:
    """What libpq needs to be where Django is."""
    ours = ("prepare_threshold",)
    named = {name: value for name, value in database.get_connection_params().items() if isinstance(value, str | int)}
    return make_conninfo(**{name: value for name, value in named.items() if name not in ours})


def split(parts: int) -> Parted:
    """Splits the database that Django is connected to, as its page says, and looks at it before and after."""
    database = open_connection()
    with database.connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO memory_namespace (id, name, description, created_at) VALUES (900001, 'kept', '', now())"
        )
        cursor.execute(
            "INSERT INTO memory_session (namespace_id, name, message_count, summarised_turn, first_message_at, "
            "last_message_at) SELECT 900001, 's' || n, 0, 0, now(), now() FROM generate_series(1, 3) n"
        )
        before = [set(cursor.execute(statement).fetchall()) for statement in SCHEMA]
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("DATABASE_URL", url_of(database))
            deploy.citus.partition.main([str(parts)])
        call_command("migrate", verbosity=0)
        after = [set(cursor.execute(statement).fetchall()) for statement in SCHEMA]
        kept = {name for (name,) in cursor.execute("DELETE FROM memory_session RETURNING name").fetchall()}
        cursor.execute("DELETE FROM memory_namespace WHERE id = 900001")
        return Parted(frozenset(tables.list_spread(cursor)), parts, before, after, kept)
