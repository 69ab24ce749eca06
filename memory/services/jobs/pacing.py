"""Paces background work: it pauses between its steps while requests run, and ends early for other namespaces."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db.backends.base.base import BaseDatabaseWrapper
from django.utils import timezone

from memory.enums import JobPriority
from memory.errors import RedisAway
from memory.models.sql import fetch
from memory.postgresql import reach
from memory.services.jobs.lag import longest_lag
from memory.stores import request_load

# Fewer requests in flight than this, on average, count as none.
QUIET = 0.1
# Background work gets this share of its time while at least one request is in flight; below, in proportion.
BUSY_SHARE = 0.12
# Background work gets this share while the load is unknown.
UNKNOWN_SHARE = 0.5
# While new turns have waited longer than PATIENT_LAG, all work gets more time, and from URGENT_LAG on all of it,
# whatever the load: the turns would wait for the pauses of other jobs, too.
PATIENT_LAG = timedelta(seconds=120)
URGENT_LAG = timedelta(seconds=240)
# Shorter pauses are added up; during a long one the job checks every LOOK_SECONDS whether it still has to wait.
SHORTEST_PAUSE_SECONDS = 0.01
LONGEST_PAUSE_SECONDS = 10.0
LOOK_SECONDS = 1.0
# A step uses the time of PostgreSQL and the embedding model besides its CPU time. Time beyond this multiple of its CPU
# time counts as waiting: for a language model, or for a busy processor.
WORK_PER_OWN = 3.0
# Cache lifetimes of the load, queue and lag readings.
LOAD_SECONDS = 1.0
OTHERS_SECONDS = 1.0
LAG_SECONDS = 10.0

# Only jobs that were never begun count, so that a job between two attempts stops no other. Other priorities have
# separate workers.
_OTHERS = """
SELECT EXISTS (
    SELECT FROM memory_job
    WHERE state = 'queued' AND started_at IS NULL AND priority = %(priority)s AND namespace_id <> %(namespace_id)s
)
"""


def share_of(load: float | None, lag: timedelta = timedelta()) -> float:
    """Returns the share of its time that work may take (0 to 1) with `load` requests in flight; None: unknown load."""
    if load is None:
        share = UNKNOWN_SHARE
    elif load < QUIET:
        share = 1.0
    else:
        share = max(BUSY_SHARE, 1.0 - (1.0 - BUSY_SHARE) * load)
    late = (lag - PATIENT_LAG) / (URGENT_LAG - PATIENT_LAG)
    return share + (1.0 - share) * min(1.0, max(0.0, late))


@dataclass(slots=True)
class LoadReader:
    """Averages the requests in flight between two readings of the sum in Redis. The load is 0 before the second one."""

    load: float | None = 0.0
    _seconds: float | None = None
    _read_at: float = field(default=float("-inf"))

    def read(self) -> float | None:
        """Returns the average over LOAD_SECONDS or more; None while Redis is away."""
        now = time.monotonic()
        if now - self._read_at < LOAD_SECONDS:
            return self.load
        try:
            seconds = request_load.read()
        except RedisAway:
            self.load, self._seconds, self._read_at = None, None, now
            return None
        # The sum in an emptied Redis starts from 0 again.
        known = self._seconds is not None and seconds >= self._seconds
        self.load = (seconds - (self._seconds or 0.0)) / (now - self._read_at) if known else 0.0
        self._seconds, self._read_at = seconds, now
        return self.load


@dataclass(slots=True)
class _Process:
    """Caches the load and the lag of new turns in this process, and the pause that the last job left to the next."""

    reader: LoadReader = field(default_factory=LoadReader)
    owed: float = 0.0
    lag: timedelta = timedelta()
    _lag_at: float = field(default=float("-inf"))

    def look_at_lag(self) -> None:
        if time.monotonic() - self._lag_at > LAG_SECONDS:
            self.lag, self._lag_at = longest_lag(now=timezone.now()), time.monotonic()


_process = _Process()


class Pace:
    """Represents the pace of one job. A job that a person waits for never pauses."""

    def __init__(self, *, priority: JobPriority, namespace_id: int) -> None:
        self._priority = priority
        self._namespace_id = namespace_id
        self._begun_at = self._others_at = time.monotonic()
        self._resume()
        self._others_wait = False
        self.gave_way = False

    def begin(self) -> None:
        """Pauses for the previous job."""
        if self._priority is not JobPriority.INTERACTIVE:
            _process.look_at_lag()
            self._pause()
        self._begun_at = time.monotonic()

    def give_way(self, *, at_least: float = 5.0) -> bool:
        """Pauses as the load requires; returns whether the job should end here and continue later, because it has run
        `at_least` seconds and a job of its priority waits in another namespace. `gave_way` keeps the result.

        Call it between two steps, outside of transactions.
        """
        if self._priority is JobPriority.INTERACTIVE:
            return False
        _process.look_at_lag()
        self._reckon()
        self._pause()
        self.gave_way = time.monotonic() - self._begun_at > at_least and self._look_at_others()
        return self.gave_way

    def end(self) -> None:
        """Leaves the pause for the last step to the next job."""
        if self._priority is not JobPriority.INTERACTIVE:
            self._reckon()

    def _reckon(self) -> None:
        """Adds the pause for the work since the last one."""
        share = share_of(_process.reader.read(), _process.lag)
        pause = self._take_work() * (1.0 / share - 1.0)
        # The pause counts towards the job's time limit.
        longest = min(LONGEST_PAUSE_SECONDS, settings.MEMOS_JOB_TIMEOUT_SECONDS / 6)
        _process.owed = min(longest, _process.owed + pause) if pause else 0.0

    def _take_work(self) -> float:
        """Returns the seconds of work since the last call."""
        seconds = time.monotonic() - self._resumed_at
        own = time.process_time() - self._used
        self._resume()
        return min(seconds, WORK_PER_OWN * own)

    def _resume(self) -> None:
        self._resumed_at, self._used = time.monotonic(), time.process_time()

    def _pause(self) -> None:
        """Waits for the owed pause, as long as there is load."""
        while _process.owed >= SHORTEST_PAUSE_SECONDS:
            step = min(LOOK_SECONDS, _process.owed)
            time.sleep(step)
            is_quiet = share_of(_process.reader.read(), _process.lag) == 1.0
            _process.owed = 0.0 if is_quiet else _process.owed - step
        self._resume()

    def _look_at_others(self) -> bool:
        now = time.monotonic()
        if now - self._others_at > OTHERS_SECONDS:
            self._others_at = now
            with reach.across_namespaces():
                parameters = {"priority": self._priority, "namespace_id": self._namespace_id}
                [(self._others_wait,)] = fetch(_OTHERS, parameters, prepared=False)
        return self._others_wait


def spare_processors(connection: BaseDatabaseWrapper, **_signal: Any) -> None:
    """Limits each statement of a new connection to one processor of PostgreSQL: the others are for requests."""
    with connection.cursor() as cursor:
        cursor.execute("SET max_parallel_workers_per_gather = 0")
