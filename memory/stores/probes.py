"""What staff asked in the console, in Redis: a page's address names the question by an id and never quotes it.

A key a question, and a sorted set a namespace of their ids by the time at which they were asked, so that all of a
namespace can be forgotten at once. Both expire.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

import orjson

from memory.stores.redis import call

KEPT_SECONDS = 24 * 3600

# KEYS: the set. ARGV: what the questions' keys begin with. In one step, so that none is kept in between.
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
    """Keeps a question (JSON-able) for KEPT_SECONDS. Raises RedisAway."""

    def run(client: Any) -> None:
        with client.pipeline(transaction=True) as pipe:
            pipe.set(_key(namespace_id) + probe_id, orjson.dumps(asked), ex=KEPT_SECONDS)
            pipe.zadd(_ids_key(namespace_id), {probe_id: now.timestamp()})
            pipe.zremrangebyscore(_ids_key(namespace_id), "-inf", now.timestamp() - KEPT_SECONDS)
            pipe.expire(_ids_key(namespace_id), KEPT_SECONDS)
            pipe.execute()

    call(run)


def read(namespace_id: int, probe_id: str) -> dict[str, Any] | None:
    """The question, None when it has expired or was never asked in this namespace. Raises RedisAway."""
    raw = call(lambda client: client.get(_key(namespace_id) + probe_id))
    return None if raw is None else dict(orjson.loads(raw))


def count(namespace_id: int, *, until: datetime) -> int:
    """How many of the namespace's questions were asked by then. Raises RedisAway."""
    return int(call(lambda client: client.zcount(_ids_key(namespace_id), "-inf", until.timestamp())))


def forget(namespace_id: int) -> int:
    """Removes all questions of a namespace; says how many. Raises RedisAway."""
    return int(call(lambda client: client.eval(_FORGET, 1, _ids_key(namespace_id), _key(namespace_id))))


def _key(namespace_id: int) -> str:
    return f"memos:probe:1:{namespace_id}:"


def _ids_key(namespace_id: int) -> str:
    return f"memos:probes:1:{namespace_id}"
