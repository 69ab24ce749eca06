"""Which tables are spread by `namespace_id`, read from the catalog of a migrated database."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import psycopg

COLUMN = "namespace_id"
# The table that the others are laid beside: rows of one namespace are on one node, whatever their table.
FIRST = "memory_memory"
# Rows of no tenant that statements about a tenant's rows refer to, by foreign keys or in a join: whole on every node.
REFERENCE = ("memory_embeddingmodel", "memory_namespace", "memory_procedure")

# A table of tenants: every row is of a namespace, and its primary key begins with it.
_SPREAD = """
SELECT c.relname::text
FROM pg_class c
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = %s AND a.attnotnull
JOIN pg_index i ON i.indrelid = c.oid AND i.indisprimary AND i.indkey[0] = a.attnum
WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
  AND starts_with(c.relname, 'memory_')
ORDER BY c.relname <> %s, c.relname
"""
_FOREIGN_KEYS = """
SELECT k.conrelid::regclass::text, k.conname::text, pg_get_constraintdef(k.oid)
FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid
WHERE k.contype = 'f' AND k.conparentid = 0 AND c.relnamespace = current_schema()::regnamespace
  AND NOT c.relispartition AND (c.relname = ANY (%(tables)s) OR k.confrelid::regclass::text = ANY (%(tables)s))
ORDER BY 1, 2
"""
_WITHOUT_COLUMN = """
SELECT i.indexrelid::regclass::text
FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = %s
WHERE i.indisunique AND c.relname = ANY (%s) AND a.attnum <> ALL ((i.indkey::int2[])[0:i.indnkeyatts - 1])
ORDER BY 1
"""


@dataclass(frozen=True, slots=True)
class ForeignKey:
    """A constraint of `table`; `definition` is what follows ADD CONSTRAINT name."""

    table: str
    name: str
    definition: str


def list_spread(cursor: psycopg.Cursor[Any]) -> list[str]:
    """The tables whose rows each belong to one namespace, FIRST leading."""
    return [name for (name,) in cursor.execute(_SPREAD, [COLUMN, FIRST]).fetchall()]


def list_foreign_keys(cursor: psycopg.Cursor[Any], tables: list[str]) -> list[ForeignKey]:
    """The foreign keys from and to these tables."""
    return [ForeignKey(*row) for row in cursor.execute(_FOREIGN_KEYS, {"tables": tables}).fetchall()]


def list_unspreadable(cursor: psycopg.Cursor[Any], spread: list[str]) -> list[str]:
    """Unique indexes of these tables that lack `namespace_id`, and so cannot be kept by each part alone."""
    return [name for (name,) in cursor.execute(_WITHOUT_COLUMN, [COLUMN, spread]).fetchall()]
