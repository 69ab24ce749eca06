"""Django's cache of staff logins (CACHES["sessions"] in the settings); it appears empty while Redis is away."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

from django_redis.cache import RedisCache

from memory.errors import RedisAway
from memory.stores.redis import call


class SessionCache(RedisCache):
    """Caches an entry for at most TIMEOUT seconds, however long the session lasts.

    A login that ends is deleted here, too. The limit covers what that misses: a login that ended while Redis didn't
    answer, or between another request's read from the database and its write to the cache.
    """

    def get(self, key: str, *arguments: Any, **options: Any) -> Any:
        return _ask(lambda: super(SessionCache, self).get(key, *arguments, **options))

    def set(self, key: str, value: Any, timeout: float, *arguments: Any, **options: Any) -> Any:
        lasting = min(timeout, self.default_timeout)
        return _ask(lambda: super(SessionCache, self).set(key, value, lasting, *arguments, **options))

    def delete(self, key: str, *arguments: Any, **options: Any) -> bool:
        return bool(_ask(lambda: super(SessionCache, self).delete(key, *arguments, **options)))

    def has_key(self, key: str, *arguments: Any, **options: Any) -> bool:
        return bool(_ask(lambda: super(SessionCache, self).has_key(key, *arguments, **options)))


def hash_key(key: str, prefix: str, version: int) -> str:
    """Return the name of an entry in Redis, which hides the session's key, because anyone who knows it is logged in."""
    return f"{prefix}:session:{version}:{hashlib.sha256(key.encode()).hexdigest()}"


def _ask(operation: Callable[[], Any]) -> Any:
    """Return the result of the operation, None while Redis is away (and not called for a while, see `call`)."""
    try:
        return call(lambda _client: operation())
    except RedisAway:
        return None
