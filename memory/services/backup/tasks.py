"""Background jobs that make scheduled backups."""

from __future__ import annotations

from datetime import datetime

from memory.services.backup import scheduled
from memory.services.jobs.registry import WORKER

__all__ = ["back_up", "request_backup"]

request_backup = scheduled.request_due


def back_up(*, now: datetime) -> int:
    """Make a scheduled backup and delete expired ones; return its bytes."""
    return scheduled.back_up(actor=WORKER, now=now)
