"""Counts the requests per minute of an API key in Redis, or in this process while Redis is away."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any

from memory.errors import RedisAway
from memory.stores.redis import call

# A process reports to Redis in steps of this share of the limit, so that most requests need no round trip.
STEP = 0.0005


@dataclass(slots=True)
class _Count:
    """A key's requests in one minute: the shared total at the last report, and those not reported yet."""

    minute: int
    total: int = 0
    unreported: int = 0


_counts: dict[str, _Count] = {}
_lock = threading.Lock()


def count_request(key: str, *, minute: int, limit: int, requests: int = 1) -> int:
    """Count `requests` of `key` in the given minute (Unix time // 60) and return the new total.

    It is exact for limits up to 2,000 a minute; above, each process may lag behind by STEP of the limit.
    """
    step = max(1, int(limit * STEP))
    with _lock:
        count = _counts.get(key)
        if count is None or count.minute != minute:
            if len(_counts) > 10_000:
                _counts.clear()
            count = _counts[key] = _Count(minute)
        count.unreported += requests
        if count.unreported < step:
            return count.total + count.unreported
        reported, count.unreported = count.unreported, 0
    total = _report(key, minute, reported)
    with _lock:
        count.total = count.total + reported if total is None else total
        return count.total + count.unreported


def _report(key: str, minute: int, requests: int) -> int | None:
    """Add to the shared count and return it, None while Redis is away."""

    def run(client: Any) -> int:
        name = f"memos:rate:{key}:{minute}"
        with client.pipeline(transaction=False) as pipe:
            pipe.incrby(name, requests)
            pipe.expire(name, 120)
            return int(pipe.execute()[0])

    try:
        return int(call(run))
    except RedisAway:
        return None
