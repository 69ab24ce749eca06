"""Records which processes hold the index of a namespace in memory, and up to which time each is current.

Processes confirm that every second. Times are those of PostgreSQL's clock in seconds since the epoch: the process has
read everything that was committed before such a time.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Collection
from typing import Any

from memory.errors import RedisAway
from memory.stores.redis import PREFIX, call, together

log = logging.getLogger("memos.columns")

# A process drops an index that it couldn't confirm to be current for this long.
LEASE_SECONDS = 10.0
_POLL_SECONDS = 0.1


def confirm(holder: str, namespace_ids: Collection[int], moment: float) -> None:
    """Record that `holder` has read what was committed in these namespaces before `moment`.

    Without another confirmation it holds them for LEASE_SECONDS at most. While Redis is away nothing is recorded, and
    waiting for the holder takes that long.
    """

    def note(pipe: Any) -> None:
        for namespace_id in namespace_ids:
            pipe.zadd(_key(namespace_id), {holder: moment})
            # Remove processes that ended without leaving.
            pipe.zremrangebyscore(_key(namespace_id), "-inf", moment - 2 * LEASE_SECONDS)
            pipe.expire(_key(namespace_id), int(LEASE_SECONDS) + 1)

    try:
        together(note)
    except RedisAway as error:
        log.warning("the held indexes could not be confirmed", extra={"reason": str(error)})


def leave(holder: str, namespace_ids: Collection[int]) -> None:
    """Record that `holder` no longer holds these namespaces."""

    def note(pipe: Any) -> None:
        for namespace_id in namespace_ids:
            pipe.zrem(_key(namespace_id), holder)

    try:
        together(note)
    except RedisAway as error:
        log.warning("the dropped indexes could not be reported", extra={"reason": str(error)})


def wait_until_confirmed(namespace_id: int, moment: float) -> None:
    """Wait until every process that holds the namespace has read what was committed before `moment`.

    After LEASE_SECONDS the wait ends: a process that couldn't confirm has dropped the index by then.
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
