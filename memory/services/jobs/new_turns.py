"""Has new turns read for names and compared with earlier ones soon after they came, and not only every minute."""

from __future__ import annotations

import time
from datetime import datetime, timedelta

from memory.models.sql import fetch
from memory.postgresql import reach
from memory.services.jobs import early_runs

# A turn waits at most so long before its run is queued; a session that talks on is looked at no more often.
LOOK_SECONDS = 10.0
FOLLOWING = ("memory.tasks.index_entities", "memory.tasks.settle_memories")

_NEW_TURNS = "SELECT EXISTS (SELECT FROM memory_session WHERE message_count > settled_turn)"


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
    """Queues the runs of FOLLOWING now, unless they were queued less than LOOK_SECONDS ago; returns how many."""
    return early_runs.queue_runs(FOLLOWING, apart=timedelta(seconds=LOOK_SECONDS), now=now)
