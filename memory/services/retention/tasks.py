"""Background jobs that archive faded and expired memories."""

from __future__ import annotations

import logging
from datetime import datetime

from django.conf import settings

from memory.services.jobs.registry import WORKER
from memory.services.retention import strength_counts, sweep

__all__ = ["sweep_memories"]

log = logging.getLogger("memos.tasks")


def sweep_memories(*, now: datetime) -> int:
    """Archive faded and expired memories; return how many. The rest waits for the next sweep.

    Afterwards counts the memories of large namespaces by strength, for the console.
    """
    swept = sweep.sweep(actor=WORKER, now=now, seconds=settings.MEMOS_JOB_TIMEOUT_SECONDS / 2)
    if swept.paused:
        log.warning("sweep paused", extra={"reason": swept.paused})
    for namespace, problem in swept.skipped.items():
        log.warning("sweep left a namespace out", extra={"namespace": namespace, "reason": problem})
    strength_counts.count_large(actor=WORKER, now=now, seconds=settings.MEMOS_JOB_TIMEOUT_SECONDS / 4)
    return swept.total.decayed + swept.total.expired
