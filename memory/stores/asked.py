"""Counts in Redis how often each session's questions recently found a memory: ids, session names and numbers."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from memory.stores.redis import call

# A session no longer keeps asking for a memory that it hasn't asked for this long.
FORGOTTEN_SECONDS = 3600


class AskedMemory(NamedTuple):
    """A memory that `times` more questions of a session have found, the last one `at`."""

    namespace_id: int
    session: str
    memory_id: uuid.UUID
    times: int
    at: datetime


def count(asked: Sequence[AskedMemory]) -> list[int]:
    """Add to the counts and return the new totals; a count expires after FORGOTTEN_SECONDS. Raise RedisAway."""

    def run(client: Any) -> list[int]:
        with client.pipeline(transaction=False) as pipe:
            for one in asked:
                key = _key(one.namespace_id, one.memory_id)
                pipe.hincrby(key, one.session, one.times)
                pipe.expire(key, FORGOTTEN_SECONDS)
            return [int(total) for total in pipe.execute()[::2]]

    return list(call(run)) if asked else []


def drop(namespace_id: int, memory_ids: Iterable[uuid.UUID]) -> int:
    """Delete the counts of memories; return how many had any. Raise RedisAway."""
    keys = [_key(namespace_id, one) for one in memory_ids]
    return int(call(lambda client: client.delete(*keys))) if keys else 0


def _key(namespace_id: int, memory_id: uuid.UUID) -> str:
    return f"memos:asked:1:{namespace_id}:{memory_id}"
