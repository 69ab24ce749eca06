"""Runs of the clock that are queued before their time: for new turns, and for what the run before has left."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db import connection, transaction
from django_q.brokers.orm import ORM
from django_q.tasks import async_task

from memory.services.jobs.lanes import CLOCK_KEY

# The row's lock has one node bring a run forward, and the clock's next one is a period later.
_BRING_FORWARD = """
UPDATE django_q_schedule SET next_run = %(now)s + make_interval(mins => minutes)
WHERE (func = ANY(%(functions)s::text[]) AND name LIKE 'memos: %%' OR name = %(schedule)s)
  AND next_run < %(now)s + make_interval(mins => minutes) - %(apart)s
RETURNING func, name
"""


def queue_runs(functions: Sequence[str], *, apart: timedelta, now: datetime) -> int:
    """Queues the runs of the schedules that call `functions`, unless they were queued less than `apart` ago; returns
    how many."""
    return _queue({"functions": list(functions), "schedule": None, "apart": apart, "now": now})


def go_on(schedule: str, *, now: datetime) -> None:
    """Queues another run of a schedule, for the one that ends here has left something. In the caller's transaction."""
    _queue({"functions": [], "schedule": schedule, "apart": timedelta(), "now": now})


def _queue(parameters: dict[str, Any]) -> int:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(_BRING_FORWARD, parameters)
        rows = cursor.fetchall()
        for func, name in rows:
            async_task(func, schedule=name, q_options={"broker": ORM(CLOCK_KEY), "group": name})
    return len(rows)
