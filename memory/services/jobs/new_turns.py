"""Has new turns read for names and compared with earlier ones soon after they came, and not only every minute."""

from __future__ import annotations

import time
from datetime import datetime, timedelta
from typing import Any

from django.db import connection, transaction
from django_q.brokers.orm import ORM
from django_q.tasks import async_task

from memory.models.sql import fetch
from memory.postgresql import reach
from memory.services.jobs.lanes import CLOCK_KEY

# A turn waits at most so long before its run is queued; a session that talks on is looked at no more often.
LOOK_SECONDS = 10.0
FOLLOWING = ("memory.tasks.index_entities", "memory.tasks.settle_memories")

_NEW_TURNS = "SELECT EXISTS (SELECT FROM memory_session WHERE message_count > settled_turn)"
# The row's lock has one node bring a run forward, and the clock's next one is a period later.
_BRING_FORWARD = """
UPDATE django_q_schedule SET next_run = %(now)s + make_interval(mins => minutes)
WHERE func = ANY(%(following)s) AND name LIKE 'memos: %%'
  AND next_run < %(now)s + make_interval(mins => minutes) - %(apart)s
RETURNING func, name
"""


class NewTurns:
    """Looks every LOOK_SECONDS whether turns came, and queues what follows them."""

    def __init__(self) -> None:
        self._looked_at = float("-inf")

    def look(self, *, now: datetime) -> int:
        """Queues the runs that are due early; returns how many. Mostly it only looks at the time."""
        if time.monotonic() - self._looked_at < LOOK_SECONDS:
            return 0
        self._looked_at = time.monotonic()
        with reach.across_namespaces():
            [(there_are_some,)] = fetch(_NEW_TURNS, {}, prepared=False)
        return bring_forward(now=now) if there_are_some else 0


def bring_forward(*, now: datetime) -> int:
    """Queues the runs of FOLLOWING now, unless they were less than LOOK_SECONDS ago; returns how many."""
    parameters: dict[str, Any] = {"now": now, "following": list(FOLLOWING), "apart": timedelta(seconds=LOOK_SECONDS)}
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(_BRING_FORWARD, parameters)
        rows = cursor.fetchall()
        for func, name in rows:
            async_task(func, schedule=name, q_options={"broker": ORM(CLOCK_KEY), "group": name})
    return len(rows)
