from __future__ import annotations

import gc
from typing import Any

from django.db.backends.signals import connection_created
from django_q import cluster
from django_q.management.commands import qcluster

from memory.postgresql import reach
from memory.services.jobs.pacing import spare_processors
from memos_site.worker import CrashOnlySentinel, bind_forks


class Command(qcluster.Command):
    help = "Starts the background worker. It ends when one of its processes is killed: have it started again."

    def handle(self, *arguments: Any, **options: Any) -> None:
        # Looked up by name when the cluster starts; there is no setting for it.
        cluster.Sentinel = CrashOnlySentinel
        bind_forks()
        reach.close_process()
        connection_created.connect(spare_processors)
        # Its processes share what is loaded, as long as no collection writes into it.
        gc.collect()
        gc.freeze()
        super().handle(*arguments, **options)
