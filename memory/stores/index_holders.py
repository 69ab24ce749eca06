"""Which processes hold the index of a namespace in memory, and up to when each has taken in what changed.

A process says so each second. Moments are those of PostgreSQL's clock, in seconds since the epoch: what was committed
before such a moment, the process has taken in.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Collection
from typing import Any

from memory.errors import RedisAway
from memory.stores.redis import PREFIX, call, together

log = logging.getLogger("memos.columns")

# What could not be confirmed to be current for so long, a process has forgotten.
LEASE_SECONDS = 10.0
_POLL_SECONDS = 0.1


def confirm(holder: str, namespace_ids: Collection[int], moment: float) -> None:
    """`holder` has taken in what was committed in these namespaces before `moment`; it holds them LEASE_SECONDS at most
    without saying so again. With Redis away nothing is said, and who waits for it waits that long."""

    def note(pipe: Any) -> None:
        for namespace_id in namespace_ids:
            pipe.zadd(_key(namespace_id), {holder: moment})
            # Processes that are gone, which leave without a word.
            pipe.zremrangebyscore(_key(namespace_id), "-inf", moment - 2 * LEASE_SECONDS)
            pipe.expire(_key(namespace_id), int(LEASE_SECONDS) + 1)

    try:
        together(note)
    except RedisAway as error:
        log.warning("what is held was not said", extra={"reason": str(error)})


def leave(holder: str, namespace_ids: Collection[int]) -> None:
    """`holder` holds nothing of these namespaces any longer."""

    def note(pipe: Any) -> None:
        for namespace_id in namespace_ids:
            pipe.zrem(_key(namespace_id), holder)

    try:
        together(note)
    except RedisAway as error:
        log.warning("what is held no longer was not said", extra={"reason": str(error)})


def wait_until_confirmed(namespace_id: int, moment: float) -> None:
    """Returns when every process that holds the namespace has taken in what was committed before `moment`.

    After LEASE_SECONDS none holds what it had then: whoever could not say so has forgotten it.
    """
    end = time.monotonic() + LEASE_SECONDS
    while time.monotonic() < end and _is_anyone_behind(namespace_id, moment):
        time.sleep(_POLL_SECONDS)


def _is_anyone_behind(namespace_id: int, moment: float) -> bool:
    key = _key(namespace_id)
    try:
        return bool(call(lambda client: client.zrangebyscore(key, moment - LEASE_SECONDS, f"({moment}")))
    except RedisAway:
        return True


def _key(namespace_id: int) -> str:
    return f"{PREFIX}:index-holders:{namespace_id}"
