from __future__ import annotations

import gc
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created

from memory.postgresql import reach
from memory.services.jobs.broker import CLUSTERS
from memory.services.jobs.registry import load_tasks
from memory.services.webhooks.broker import CLUSTER as WEBHOOKS
from memos_site.worker import bind_forks, run_clusters


class Command(BaseCommand):
    help = "Starts the background workers. It ends when one of its processes is killed: have it started again."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--name",
            choices=[*(priority.label for priority in CLUSTERS), WEBHOOKS],
            help="start the workers of one cluster only, to have the others elsewhere",
        )

    def handle(self, *, name: str | None, **options: Any) -> None:
        clusters = {priority.label: cluster for priority, cluster in CLUSTERS.items()}
        if settings.MEMOS_WEBHOOK_WORKERS:
            clusters[WEBHOOKS] = WEBHOOKS
        elif name == WEBHOOKS:
            raise CommandError(
                "MEMOS_WEBHOOK_WORKERS is 0, so this cluster has no workers. Raise it, or do not start the cluster "
                "(docker compose up --scale worker-webhooks=0)."
            )
        bind_forks()
        reach.close_process()
        connection_created.connect(spare_processors)
        # Forked processes share the loaded modules as long as no garbage collection writes into their pages.
        load_tasks()
        gc.collect()
        gc.freeze()
        run_clusters([cluster for label, cluster in clusters.items() if name in (None, label)])


def spare_processors(connection: BaseDatabaseWrapper, **_signal: Any) -> None:
    """Limits the statements of a new connection to one PostgreSQL process each, to leave processors for requests."""
    with connection.cursor() as cursor:
        cursor.execute("SET max_parallel_workers_per_gather = 0")
