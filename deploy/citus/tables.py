"""Lists the tables to distribute by `namespace_id`, from the catalog of a migrated database."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import psycopg

COLUMN = "namespace_id"
# The other tables are colocated with this one: all rows of a namespace are on one node.
FIRST = "memory_memory"
# Tables without a tenant that statements on a tenant's rows refer to, by foreign keys or in joins. Every node has a
# copy.
REFERENCE = ("memory_embeddingmodel", "memory_namespace", "memory_procedure")

# A tenant table has a non-null namespace_id, with which its primary key begins.
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
    """A constraint of `table`; `definition` is the part after ADD CONSTRAINT name."""

    table: str
    name: str
    definition: str


def list_spread(cursor: psycopg.Cursor[Any]) -> list[str]:
    """List the tables whose rows each belong to one namespace, with FIRST at the beginning."""
    return [name for (name,) in cursor.execute(_SPREAD, [COLUMN, FIRST]).fetchall()]


def list_foreign_keys(cursor: psycopg.Cursor[Any], tables: list[str]) -> list[ForeignKey]:
    """List the foreign keys from and to these tables."""
    return [ForeignKey(*row) for row in cursor.execute(_FOREIGN_KEYS, {"tables": tables}).fetchall()]


def list_unspreadable(cursor: psycopg.Cursor[Any], spread: list[str]) -> list[str]:
    """List unique indexes of these tables without `namespace_id`, which a single node cannot enforce."""
    return [name for (name,) in cursor.execute(_WITHOUT_COLUMN, [COLUMN, spread]).fetchall()]
