"""The raw Redis client behind django-redis, and what counts as Redis being away."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import redis
from django_redis import get_redis_connection

from memory.errors import RedisAway

# Prefix of every key, including those of Django's cache (CACHES in the settings).
PREFIX = "memos"
# After a failure Redis isn't called for this long, so that an outage costs one timeout and not one per request.
PAUSE_SECONDS = 2.0

_paused_until = 0.0


# Adds commands to a pipeline.
Step = Callable[[Any], None]


def call(operation: Any) -> Any:
    """Run `operation(client)`; raise RedisAway instead of the client's errors."""
    global _paused_until  # noqa: PLW0603 - one breaker per process
    if time.monotonic() < _paused_until:
        raise RedisAway("Redis did not answer a moment ago")
    try:
        return operation(get_redis_connection("default"))
    except redis.RedisError as error:
        # Not only lost connections: a Redis that is full, read-only or loading is just as useless.
        _paused_until = time.monotonic() + PAUSE_SECONDS
        raise RedisAway(str(error)) from error


def together(*steps: Step) -> None:
    """Run all steps in one round trip and one transaction. Raise RedisAway."""

    def run(client: Any) -> None:
        with client.pipeline(transaction=True) as pipe:
            for step in steps:
                step(pipe)
            pipe.execute()

    call(run)


def ping() -> None:
    """Raise RedisAway unless Redis answers now, regardless of an earlier failure."""
    resume()
    call(lambda client: client.ping())


def forget_everything() -> int:
    """Delete everything that MemOS stores in Redis; return the number of keys. No accepted data is only there.

    Raise RedisAway.
    """

    def run(client: Any) -> int:
        keys = list(client.scan_iter(f"{PREFIX}:*", count=1_000))
        return sum(client.delete(*keys[start : start + 1_000]) for start in range(0, len(keys), 1_000))

    return int(call(run))


def resume() -> None:
    """Clear an earlier failure, so that the next call tries Redis again."""
    global _paused_until  # noqa: PLW0603 - one breaker per process
    _paused_until = 0.0
