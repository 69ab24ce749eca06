"""Numbers that cost seconds to count, kept in Redis for a while: how many, never which."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import orjson

from memory.errors import RedisAway
from memory.stores.redis import call
from memory.types import Access


def keep(namespace_id: int, name: str, figures: Any, *, seconds: int) -> None:
    """Keeps what was counted (JSON-able) of a namespace under a name. Raises RedisAway."""
    call(lambda client: client.set(_key(namespace_id, name), orjson.dumps(figures), ex=seconds))


def read(namespace_id: int, name: str) -> Any:
    """What is kept, None when it is not (any more). Raises RedisAway."""
    raw = call(lambda client: client.get(_key(namespace_id, name)))
    return None if raw is None else orjson.loads(raw)


def forget(namespace_id: int, name: str) -> None:
    """Has it counted anew. Raises RedisAway."""
    call(lambda client: client.delete(_key(namespace_id, name)))


def count_cached(access: Access, name: str, count: Callable[[], Any], *, seconds: int) -> Any:
    """What `count` gives (JSON-able) over all that is reached; what it gave at most `seconds` ago serves as well.

    For pages that renew themselves: all with the same reach count once together. Without Redis each counts.
    """
    reach = "all" if access.all_namespaces else repr(sorted(access.namespace_ids))
    key = _key(0, f"{name}:{hashlib.sha256(reach.encode()).hexdigest()}")
    try:
        raw = call(lambda client: client.get(key))
    except RedisAway:
        return count()
    if raw is not None:
        return orjson.loads(raw)
    found = count()
    with suppress(RedisAway):
        call(lambda client: client.set(key, orjson.dumps(found), ex=seconds))
    return found


def _key(namespace_id: int, name: str) -> str:
    return f"memos:figures:1:{namespace_id}:{name}"
