"""Caches numbers in Redis that take seconds to count: how many, but never which."""

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
    """Store JSON-serialisable figures of a namespace under a name. Raise RedisAway."""
    call(lambda client: client.set(_key(namespace_id, name), orjson.dumps(figures), ex=seconds))


def read(namespace_id: int, name: str) -> Any:
    """Return the stored figures, None if there are none or they have expired. Raise RedisAway."""
    raw = call(lambda client: client.get(_key(namespace_id, name)))
    return None if raw is None else orjson.loads(raw)


def forget(namespace_id: int, name: str) -> None:
    """Delete the figures, so that they are counted again. Raise RedisAway."""
    call(lambda client: client.delete(_key(namespace_id, name)))


def count_cached(access: Access, name: str, count: Callable[[], Any], *, seconds: int) -> Any:
    """Return the JSON-serialisable result of `count` for all that can be reached, cached for `seconds`.

    Pages that refresh themselves use this: all with the same reach share one count. Without Redis each counts.
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
