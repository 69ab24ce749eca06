"""Migrations one by one: those of new databases stand aside, which replace the others at once."""

from __future__ import annotations

from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader


class Steps(MigrationLoader):
    """The migrations without those that replace others."""

    def load_disk(self) -> None:
        super().load_disk()
        self.disk_migrations = {name: one for name, one in self.disk_migrations.items() if not one.replaces}


def step_to(name: str | None) -> None:
    """Migrate the test database, forwards or backwards, to the step `name` of `memory`; None: before the first."""
    executor = MigrationExecutor(connection)
    executor.loader = Steps(connection)
    executor.migrate([("memory", name)])
