"""Whether the database has the tables of this version, and what a command says that met others."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator

from django.db import ProgrammingError, connection
from django.db.migrations.executor import MigrationExecutor
from psycopg.errors import UndefinedColumn, UndefinedTable


def is_migrated() -> bool:
    """Tells whether the tables are those of this version."""
    executor = MigrationExecutor(connection)
    return not executor.migration_plan(executor.loader.graph.leaf_nodes())


@contextlib.contextmanager
def refuse_unmigrated() -> Iterator[None]:
    """Ends the process in a sentence when what is inside lacks tables that a migration makes.

    It looks only once something has failed: a command that finds its tables waits for nothing.
    """
    try:
        yield
    except ProgrammingError as error:
        if not isinstance(error.__cause__, UndefinedTable | UndefinedColumn) or is_migrated():
            raise
        sys.exit(
            "The database does not have the tables of this version of MemOS: run `manage.py migrate`, and then this "
            "command again."
        )
