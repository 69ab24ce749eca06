"""Working memory: memories of a namespace that are new or asked for repeatedly, and worth keeping in mind.

It is a sorted set of ids in Redis, by the time at which MemOS learned them or was last asked for them. For the latter,
a hash has the session and the count. No text is stored: it is read from the database, so that nothing that was
corrected, archived or erased since can be shown.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson

from memory.stores.redis import Step, call

# Maximum number of memories of a namespace; the oldest make room.
NEWEST = 50


@dataclass(frozen=True, slots=True)
class RepeatedAsking:
    """The fact that a session's questions found a memory `times` times, the last time `at`."""

    session: str
    times: int
    at: datetime


def noting(memories: Mapping[int, Sequence[uuid.UUID]], *, hours: Mapping[int, int], now: datetime) -> Step:
    """Return a step that adds memories to the working memory of their namespaces, where each stays for `hours`."""

    def step(pipe: Any) -> None:
        for namespace_id, ids in memories.items():
            key = _key(namespace_id)
            # Ids with equal times are sorted by their own time.
            pipe.zadd(key, {str(identity): now.timestamp() for identity in ids[-NEWEST:]})
            pipe.zremrangebyrank(key, 0, -NEWEST - 1)
            pipe.expire(key, hours[namespace_id] * 3600)

    return step


def newest(namespace_id: int, *, limit: int, hours: int, now: datetime) -> list[uuid.UUID]:
    """Return the newest memories of the namespace within the last `hours`, newest first. Raise RedisAway."""
    oldest = (now - timedelta(hours=hours)).timestamp()
    found = call(lambda client: client.zrevrangebyscore(_key(namespace_id), "+inf", oldest, start=0, num=limit))
    return [uuid.UUID(value.decode()) for value in found]


def keep(namespace_id: int, askings: Mapping[uuid.UUID, RepeatedAsking], *, hours: int) -> None:
    """Add memories that were asked for, from their last time on, with the reason. Raise RedisAway."""

    def run(client: Any) -> None:
        key, why = _key(namespace_id), _key_of_askings(namespace_id)
        with client.pipeline(transaction=True) as pipe:
            # A memory that was learned later keeps its time.
            pipe.zadd(key, {str(one): asking.at.timestamp() for one, asking in askings.items()}, gt=True)
            pipe.zremrangebyrank(key, 0, -NEWEST - 1)
            pipe.expire(key, hours * 3600)
            pipe.hset(
                why,
                mapping={
                    str(one): orjson.dumps([asking.session, asking.times, asking.at.timestamp()])
                    for one, asking in askings.items()
                },
            )
            pipe.expire(why, hours * 3600)
            pipe.zrange(key, 0, -1)
            pipe.hkeys(why)
            *_, named, explained = pipe.execute()
        if gone := set(explained) - set(named):
            client.hdel(why, *gone)

    call(run)


def askings(namespace_id: int) -> dict[uuid.UUID, RepeatedAsking]:
    """Return who asked for the memories that were added because of that. Raise RedisAway."""
    found = call(lambda client: client.hgetall(_key_of_askings(namespace_id)))
    values = ((uuid.UUID(key.decode()), *orjson.loads(value)) for key, value in found.items())
    return {one: RepeatedAsking(name, times, datetime.fromtimestamp(at, UTC)) for one, name, times, at in values}


def everything(namespace_id: int) -> list[uuid.UUID]:
    """Return all memories in it, whatever their age. Raise RedisAway."""
    found = call(lambda client: client.zrange(_key(namespace_id), 0, -1))
    return [uuid.UUID(value.decode()) for value in found]


def drop(namespace_id: int, memory_ids: Iterable[uuid.UUID]) -> int:
    """Remove memories; return how many it contained. Raise RedisAway."""
    ids = [str(identity) for identity in memory_ids]

    def run(client: Any) -> int:
        with client.pipeline(transaction=True) as pipe:
            pipe.zrem(_key(namespace_id), *ids)
            pipe.hdel(_key_of_askings(namespace_id), *ids)
            return int(pipe.execute()[0])

    return int(call(run)) if ids else 0


def forget(namespace_id: int) -> int:
    """Empty the working memory of a namespace; return the number of deleted keys. Raise RedisAway."""
    return int(call(lambda client: client.delete(_key(namespace_id), _key_of_askings(namespace_id))))


def _key(namespace_id: int) -> str:
    return f"memos:working:1:{namespace_id}"


def _key_of_askings(namespace_id: int) -> str:
    return f"memos:working:askings:1:{namespace_id}"
