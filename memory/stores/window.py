"""L1: the newest messages of a session, in Redis."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import orjson
from django.conf import settings

from memory.errors import WindowUnavailable
from memory.stores.redis import RedisAway, Step, call, together
from memory.types import WindowMessage


def append(messages: Mapping[tuple[int, str], Sequence[WindowMessage]]) -> None:
    """Adds messages to the windows of their (namespace_id, session), all or none, and renews the windows' life.

    Raises WindowUnavailable.
    """
    try:
        together(appending(messages))
    except RedisAway as error:
        raise WindowUnavailable("The session window (Redis) does not answer.") from error


def appending(messages: Mapping[tuple[int, str], Sequence[WindowMessage]]) -> Step:
    """What `append` does, as a step of a round trip that does more."""

    def step(pipe: Any) -> None:
        for (namespace_id, session), items in messages.items():
            key = _key(namespace_id, session)
            pipe.rpush(key, *(orjson.dumps(item) for item in items[-settings.MEMOS_WINDOW_MESSAGES :]))
            pipe.ltrim(key, -settings.MEMOS_WINDOW_MESSAGES, -1)
            pipe.expire(key, settings.MEMOS_WINDOW_TTL_SECONDS)

    return step


def read(namespace_id: int, session: str) -> list[WindowMessage]:
    """The window's messages, oldest first; empty when it has expired. Raises WindowUnavailable."""
    rows = _guarded(lambda client: client.lrange(_key(namespace_id, session), 0, -1))
    return [WindowMessage(**orjson.loads(row)) for row in rows]


def forget(namespace_id: int, session: str) -> int:
    """Removes the window; says how many keys that were. Raises WindowUnavailable."""
    return int(_guarded(lambda client: client.delete(_key(namespace_id, session))))


def exists(namespace_id: int, session: str) -> int:
    """How many keys the window has (0 or 1). Raises WindowUnavailable."""
    return int(_guarded(lambda client: client.exists(_key(namespace_id, session))))


def _key(namespace_id: int, session: str) -> str:
    # A digest bounds the key and keeps names that hold separators apart.
    digest = hashlib.blake2b(session.encode(), digest_size=16).hexdigest()
    # The 1 is the version of what a message holds.
    return f"memos:l1:1:{namespace_id}:{digest}"


def _guarded(operation: Any) -> Any:
    try:
        return call(operation)
    except RedisAway as error:
        raise WindowUnavailable("The session window (Redis) does not answer.") from error
