"""Numbers that cost seconds to count, kept in Redis for a while: how many, never which."""

from __future__ import annotations

from typing import Any

import orjson

from memory.stores.redis import call


def keep(namespace_id: int, name: str, figures: Any, *, seconds: int) -> None:
    """Keeps what was counted (JSON-able) of a namespace, 0 for several, under a name. Raises RedisAway."""
    call(lambda client: client.set(_key(namespace_id, name), orjson.dumps(figures), ex=seconds))


def read(namespace_id: int, name: str) -> Any:
    """What is kept, None when it is not (any more). Raises RedisAway."""
    raw = call(lambda client: client.get(_key(namespace_id, name)))
    return None if raw is None else orjson.loads(raw)


def forget(namespace_id: int, name: str) -> None:
    """Has it counted anew. Raises RedisAway."""
    call(lambda client: client.delete(_key(namespace_id, name)))


def _key(namespace_id: int, name: str) -> str:
    return f"memos:figures:1:{namespace_id}:{name}"
