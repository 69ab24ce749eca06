"""Writes `distribute.sql`, by which Citus spreads the tables of a migrated database.

DATABASE_URL=postgresql://… python -m deploy.citus.distribute > deploy/citus/distribute.sql
"""

from __future__ import annotations

import os
from typing import Any

import psycopg

from deploy.citus.tables import COLUMN, FIRST, REFERENCE, list_foreign_keys, list_spread

SHARDS = 32

_HEAD = f"""\
-- Spreads the tables of tenants by {COLUMN}, on a coordinator with Citus, after `manage.py migrate`.
-- Written by deploy/citus/distribute.py from the schema; a test holds it in step. What it needs: README.md beside it.

BEGIN;

-- Triggers note what a process that holds an index must read again, and keep the audit log from changes.
SET LOCAL citus.enable_unsafe_triggers = on;
SET LOCAL citus.shard_count = {SHARDS};
-- After parallel work Citus makes no foreign key to a table that is on every node, within the same transaction.
SET LOCAL citus.multi_shard_modify_mode = 'sequential';
"""


def list_statements(cursor: psycopg.Cursor[Any]) -> str:
    """Return the content of the file, for the schema that the cursor sees."""
    spread = list_spread(cursor)
    keys = list_foreign_keys(cursor, [*spread, *REFERENCE])
    parts = [
        _HEAD,
        "-- Foreign keys are taken off while one of their two tables is known to Citus and the other is not yet. With",
        "-- its key, memory_procedure would become a local table beside memory_namespace, and stay one: its id is an",
        "-- identity.",
        *(f"ALTER TABLE {key.table} DROP CONSTRAINT {key.name};" for key in keys),
        "",
        "-- Rows of no tenant: whole on every node.",
        *(f"SELECT create_reference_table('{table}');" for table in REFERENCE),
        "",
        "-- Rows of a tenant: those of one namespace are on one node, whatever their table.",
        f"SELECT create_distributed_table('{FIRST}', '{COLUMN}');",
        *(
            f"SELECT create_distributed_table('{table}', '{COLUMN}', colocate_with => '{FIRST}');"
            for table in spread
            if table != FIRST
        ),
        "",
        *(f"ALTER TABLE {key.table} ADD CONSTRAINT {key.name} {key.definition};" for key in keys),
        "",
        "COMMIT;",
    ]
    return "\n".join(parts) + "\n"


def main() -> None:
    with psycopg.connect(os.environ["DATABASE_URL"], autocommit=True) as connection, connection.cursor() as cursor:
        print(list_statements(cursor), end="")  # noqa: T201


if __name__ == "__main__":
    main()
