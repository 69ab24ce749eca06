"""How often each session's questions brought a memory back lately, in Redis: ids, names of sessions and numbers."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from memory.stores.redis import call

# What nobody asked for so long is no longer what a session keeps asking for.
FORGOTTEN_SECONDS = 3600


class AskedMemory(NamedTuple):
    """`times` more questions of a session have brought the memory back, the last one `at`."""

    namespace_id: int
    session: str
    memory_id: uuid.UUID
    times: int
    at: datetime


def count(asked: Sequence[AskedMemory]) -> list[int]:
    """Adds what was asked; returns how often each was within FORGOTTEN_SECONDS of one time to the next. Raises
    RedisAway."""

    def run(client: Any) -> list[int]:
        with client.pipeline(transaction=False) as pipe:
            for one in asked:
                key = _key(one.namespace_id, one.memory_id)
                pipe.hincrby(key, one.session, one.times)
                pipe.expire(key, FORGOTTEN_SECONDS)
            return [int(total) for total in pipe.execute()[::2]]

    return list(call(run)) if asked else []


def drop(namespace_id: int, memory_ids: Iterable[uuid.UUID]) -> int:
    """Forgets how often memories were asked for; says of how many anything was known. Raises RedisAway."""
    keys = [_key(namespace_id, one) for one in memory_ids]
    return int(call(lambda client: client.delete(*keys))) if keys else 0


def _key(namespace_id: int, memory_id: uuid.UUID) -> str:
    return f"memos:asked:1:{namespace_id}:{memory_id}"
