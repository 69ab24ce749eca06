"""Stores questions that staff asked in the console in Redis, so that URLs contain an id and not the question.

Each question has a key, and each namespace a sorted set of ids by the time of asking, so that all questions of a
namespace can be deleted together. Both expire.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

import orjson

from memory.stores.redis import call

KEPT_SECONDS = 24 * 3600

# KEYS: the set. ARGV: the prefix of the questions' keys. It is atomic, so that no question is added in between.
_FORGET = """
local held = redis.call('ZRANGE', KEYS[1], 0, -1)
local gone = 0
for _, id in ipairs(held) do
    gone = gone + redis.call('DEL', ARGV[1] .. id)
end
redis.call('DEL', KEYS[1])
return gone
"""


def keep(namespace_id: int, probe_id: str, asked: dict[str, Any], *, now: datetime) -> None:
    """Store a JSON-serialisable question for KEPT_SECONDS. Raise RedisAway."""

    def run(client: Any) -> None:
        with client.pipeline(transaction=True) as pipe:
            pipe.set(_key(namespace_id) + probe_id, orjson.dumps(asked), ex=KEPT_SECONDS)
            pipe.zadd(_ids_key(namespace_id), {probe_id: now.timestamp()})
            pipe.zremrangebyscore(_ids_key(namespace_id), "-inf", now.timestamp() - KEPT_SECONDS)
            pipe.expire(_ids_key(namespace_id), KEPT_SECONDS)
            pipe.execute()

    call(run)


def read(namespace_id: int, probe_id: str) -> dict[str, Any] | None:
    """Return the question, None if it has expired or wasn't asked in this namespace. Raise RedisAway."""
    raw = call(lambda client: client.get(_key(namespace_id) + probe_id))
    return None if raw is None else dict(orjson.loads(raw))


def count(namespace_id: int, *, until: datetime) -> int:
    """Return how many of the namespace's questions were asked until then. Raise RedisAway."""
    return int(call(lambda client: client.zcount(_ids_key(namespace_id), "-inf", until.timestamp())))


def forget(namespace_id: int) -> int:
    """Delete all questions of a namespace; return how many there were. Raise RedisAway."""
    return int(call(lambda client: client.eval(_FORGET, 1, _ids_key(namespace_id), _key(namespace_id))))


def _key(namespace_id: int) -> str:
    return f"memos:probe:1:{namespace_id}:"


def _ids_key(namespace_id: int) -> str:
    return f"memos:probes:1:{namespace_id}"
