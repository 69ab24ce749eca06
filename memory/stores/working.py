"""Working memory: which memories of a namespace are new, confident and worth keeping in mind, in Redis.

A sorted set of ids by the time at which MemOS learned of them. It holds no text: what it names is read from the
database, so that nothing of what was corrected, archived or erased since can be shown.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from memory.stores.redis import Step, call

# So many of a namespace are kept; the older ones make room.
NEWEST = 50


def noting(memories: Mapping[int, Sequence[uuid.UUID]], *, hours: Mapping[int, int], now: datetime) -> Step:
    """Adds memories to the working memory of their namespaces, which keeps each for `hours`: a step of a round trip."""

    def step(pipe: Any) -> None:
        for namespace_id, ids in memories.items():
            key = _key(namespace_id)
            # Of one moment, ids sort by time.
            pipe.zadd(key, {str(identity): now.timestamp() for identity in ids[-NEWEST:]})
            pipe.zremrangebyrank(key, 0, -NEWEST - 1)
            pipe.expire(key, hours[namespace_id] * 3600)

    return step


def newest(namespace_id: int, *, limit: int, hours: int, now: datetime) -> list[uuid.UUID]:
    """The newest memories of the namespace that are at most `hours` old, newest first. Raises RedisAway."""
    oldest = (now - timedelta(hours=hours)).timestamp()
    found = call(lambda client: client.zrevrangebyscore(_key(namespace_id), "+inf", oldest, start=0, num=limit))
    return [uuid.UUID(value.decode()) for value in found]


def everything(namespace_id: int) -> list[uuid.UUID]:
    """All memories that are named, whatever their age. Raises RedisAway."""
    found = call(lambda client: client.zrange(_key(namespace_id), 0, -1))
    return [uuid.UUID(value.decode()) for value in found]


def drop(namespace_id: int, memory_ids: Iterable[uuid.UUID]) -> int:
    """Removes memories; says how many were there. Raises RedisAway."""
    ids = [str(identity) for identity in memory_ids]
    return int(call(lambda client: client.zrem(_key(namespace_id), *ids))) if ids else 0


def forget(namespace_id: int) -> int:
    """Empties the working memory of a namespace; says how many keys that were. Raises RedisAway."""
    return int(call(lambda client: client.delete(_key(namespace_id))))


def _key(namespace_id: int) -> str:
    return f"memos:working:1:{namespace_id}"
