"""Slows background work down while requests are answered."""

from __future__ import annotations

import time

from memory.models.queries.jobs import are_requests_answered

# A job rests for so many times as long as it has worked, and at most for so many seconds.
REST = 2.0
MAX_REST_SECONDS = 2.0
# Looking for requests costs two round trips to the database: work shorter than this is added up.
LOOK_SECONDS = 0.02


class Throttle:
    """Lets a long job rest between two pieces of its work. Call `rest` outside of transactions."""

    def __init__(self) -> None:
        self._since = time.monotonic()

    def rest(self) -> None:
        """Pause for REST times the time that passed since the last call, if a request has just been answered."""
        worked = time.monotonic() - self._since
        if worked < LOOK_SECONDS:
            return
        if are_requests_answered():
            time.sleep(min(REST * worked, MAX_REST_SECONDS))
        self._since = time.monotonic()
