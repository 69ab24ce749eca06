"""The raw Redis client behind django-redis, and what counts as Redis being away."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import redis
from django_redis import get_redis_connection

from memory.errors import RedisAway

# Of every key, Django's cache included (CACHES in the settings).
PREFIX = "memos"
# After a failure Redis is left alone this long, so that an outage costs one timeout and not one a request.
PAUSE_SECONDS = 2.0

_paused_until = 0.0


# Puts commands into a pipeline.
Step = Callable[[Any], None]


def call(operation: Any) -> Any:
    """Runs `operation(client)`; raises RedisAway instead of the client's errors."""
    global _paused_until  # noqa: PLW0603 - one breaker a process
    if time.monotonic() < _paused_until:
        raise RedisAway("Redis did not answer a moment ago")
    try:
        return operation(get_redis_connection("default"))
    except redis.RedisError as error:
        # Not only lost connections: a Redis that is full, read-only or loading serves as little.
        _paused_until = time.monotonic() + PAUSE_SECONDS
        raise RedisAway(str(error)) from error


def together(*steps: Step) -> None:
    """Carries out all steps in one round trip and one transaction. Raises RedisAway."""

    def run(client: Any) -> None:
        with client.pipeline(transaction=True) as pipe:
            for step in steps:
                step(pipe)
            pipe.execute()

    call(run)


def ping() -> None:
    """Raises RedisAway unless Redis answers now, whatever it did a moment ago."""
    resume()
    call(lambda client: client.ping())


def forget_everything() -> int:
    """Deletes all that MemOS keeps in Redis; returns how many keys. Nothing that was accepted is only there.

    Raises RedisAway.
    """

    def run(client: Any) -> int:
        keys = list(client.scan_iter(f"{PREFIX}:*", count=1_000))
        return sum(client.delete(*keys[start : start + 1_000]) for start in range(0, len(keys), 1_000))

    return int(call(run))


def resume() -> None:
    """Forgets an earlier failure: the next call tries Redis again."""
    global _paused_until  # noqa: PLW0603 - one breaker a process
    _paused_until = 0.0
