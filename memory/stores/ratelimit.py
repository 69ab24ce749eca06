"""Requests a minute of one API key, counted in Redis; in this process while Redis is away."""

from __future__ import annotations

import threading
from typing import Any

from memory.stores.redis import RedisAway, call

_local: dict[str, tuple[int, int]] = {}
_local_lock = threading.Lock()


def count_request(key: str, *, minute: int) -> int:
    """Counts one request of `key` in the given minute (Unix time // 60) and returns how many that makes."""

    def run(client: Any) -> int:
        name = f"memos:rate:{key}:{minute}"
        with client.pipeline(transaction=False) as pipe:
            pipe.incr(name)
            pipe.expire(name, 120)
            return int(pipe.execute()[0])

    try:
        return int(call(run))
    except RedisAway:
        with _local_lock:
            known_minute, count = _local.get(key, (minute, 0))
            count = count + 1 if known_minute == minute else 1
            _local[key] = (minute, count)
            return count
