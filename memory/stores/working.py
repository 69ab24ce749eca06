"""Working memory: which memories of a namespace are new, or asked for again and again, and worth keeping in mind.

A sorted set of ids in Redis by the time at which MemOS learned of them, or at which they were asked for last; beside
it, for the latter, by which session and how often. It holds no text: what it names is read from the database, so that
nothing of what was corrected, archived or erased since can be shown.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson

from memory.stores.redis import Step, call

# So many of a namespace are kept; the older ones make room.
NEWEST = 50


@dataclass(frozen=True, slots=True)
class RepeatedAsking:
    """That a session's questions brought a memory back `times` times, the last time `at`."""

    session: str
    times: int
    at: datetime


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


def keep(namespace_id: int, askings: Mapping[uuid.UUID, RepeatedAsking], *, hours: int) -> None:
    """Has working memory name memories that were asked for, from the last time on, and say why. Raises RedisAway."""

    def run(client: Any) -> None:
        key, why = _key(namespace_id), _key_of_askings(namespace_id)
        with client.pipeline(transaction=True) as pipe:
            # One that was learned of later keeps its time.
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
    """Of the memories that are named because they were asked for, by whom. Raises RedisAway."""
    found = call(lambda client: client.hgetall(_key_of_askings(namespace_id)))
    values = ((uuid.UUID(key.decode()), *orjson.loads(value)) for key, value in found.items())
    return {one: RepeatedAsking(name, times, datetime.fromtimestamp(at, UTC)) for one, name, times, at in values}


def everything(namespace_id: int) -> list[uuid.UUID]:
    """All memories that are named, whatever their age. Raises RedisAway."""
    found = call(lambda client: client.zrange(_key(namespace_id), 0, -1))
    return [uuid.UUID(value.decode()) for value in found]


def drop(namespace_id: int, memory_ids: Iterable[uuid.UUID]) -> int:
    """Removes memories; says how many were there. Raises RedisAway."""
    ids = [str(identity) for identity in memory_ids]

    def run(client: Any) -> int:
        with client.pipeline(transaction=True) as pipe:
            pipe.zrem(_key(namespace_id), *ids)
            pipe.hdel(_key_of_askings(namespace_id), *ids)
            return int(pipe.execute()[0])

    return int(call(run)) if ids else 0


def forget(namespace_id: int) -> int:
    """Empties the working memory of a namespace; says how many keys that were. Raises RedisAway."""
    return int(call(lambda client: client.delete(_key(namespace_id), _key_of_askings(namespace_id))))


def _key(namespace_id: int) -> str:
    return f"memos:working:1:{namespace_id}"


def _key_of_askings(namespace_id: int) -> str:
    return f"memos:working:askings:1:{namespace_id}"
