from __future__ import annotations

import gc
from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from django.db.backends.signals import connection_created

from memory.enums import JobPriority
from memory.postgresql import reach
from memory.services.jobs.pacing import spare_processors
from memos_site.worker import bind_forks, run_clusters


class Command(BaseCommand):
    help = "Starts the background workers. It ends when one of its processes is killed: have it started again."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--name",
            choices=[priority.label for priority in JobPriority],
            help="start the workers of one priority only, to have the others elsewhere",
        )

    def handle(self, *, name: str | None, **options: Any) -> None:
        bind_forks()
        reach.close_process()
        connection_created.connect(spare_processors)
        # Forked processes share the loaded memory until a garbage collection writes into it.
        gc.collect()
        gc.freeze()
        run_clusters([priority for priority in JobPriority if name in (None, priority.label)])
