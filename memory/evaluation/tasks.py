"""Background jobs that evaluate."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from django.utils import timezone

from memory.evaluation import runner
from memory.services.evaluation import runs
from memory.services.jobs.runner import report

__all__ = ["evaluate", "fail_lost_evaluations"]

fail_lost_evaluations = runs.fail_lost


def evaluate(namespace_id: int, run_id: str, *, now: datetime) -> bool:
    """Carry out a requested run; return False if it is over or another worker runs it."""
    return runner.run_requested(namespace_id=namespace_id, run_id=UUID(run_id), now=timezone.now, progress=report)
