"""Django's cache of the logins of staff (CACHES["sessions"] in the settings); while Redis is away it is empty."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

from django_redis.cache import RedisCache

from memory.errors import RedisAway
from memory.stores.redis import call


class SessionCache(RedisCache):
    """Keeps an entry at most TIMEOUT seconds, however long the session lasts.

    A login that is ended is deleted here as well. The limit is for what that misses: a login that was ended while Redis
    did not answer, or between another request's reading it from the database and keeping it here.
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
    """The name of an entry in Redis. It does not show the session's key: who knows that is signed in."""
    return f"{prefix}:session:{version}:{hashlib.sha256(key.encode()).hexdigest()}"


def _ask(operation: Callable[[], Any]) -> Any:
    """What the operation returns; None while Redis is away, which then is left alone for a while (see `call`)."""
    try:
        return call(lambda _client: operation())
    except RedisAway:
        return None
