from __future__ import annotations

from typing import Any

from django.core.management.commands import migrate
from django.db import connections

from memory.errors import BackupError, RestoreRefused
from memory.postgresql import reach
from memory.postgresql.base import DatabaseWrapper
from memory.services.backup.postgres import prepare_scratch


class Command(migrate.Command):
    help = "Brings the tables to this version, and sets up row-level security on those of tenants that are new."

    def handle(self, *arguments: Any, **options: Any) -> None:
        database = connections[options["database"]]
        assert isinstance(database, DatabaseWrapper)
        with reach.hold(reach.LOGIN):
            super().handle(*arguments, **options)
            if options["plan"] or options["check_unapplied"]:
                return
            state = database.set_up_row_security()
        if state.lacks and options["verbosity"]:
            self.stdout.write(f"Row-level security does not hold ({state.lacks}). {state.fix}")
        try:
            prepare_scratch()
        except (BackupError, RestoreRefused) as error:
            if options["verbosity"]:
                self.stdout.write(f"Backups cannot be verified: {error}")
