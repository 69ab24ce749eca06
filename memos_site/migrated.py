"""Checks whether the database has the tables of this version, and explains it if a command fails because of that."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator

from django.db import ProgrammingError, connection
from django.db.migrations.executor import MigrationExecutor
from psycopg.errors import UndefinedColumn, UndefinedTable


def is_migrated() -> bool:
    """Tells whether all migrations of this version have been applied."""
    executor = MigrationExecutor(connection)
    return not executor.migration_plan(executor.loader.graph.leaf_nodes())


@contextlib.contextmanager
def refuse_unmigrated() -> Iterator[None]:
    """Ends the process with a message if the code inside fails because tables of a migration are missing.

    It checks only after a failure, so that it costs other commands no time.
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
