"""L1: the newest messages of a session in Redis."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import orjson
from django.conf import settings

from memory.errors import RedisAway, WindowUnavailable
from memory.stores import responses
from memory.stores.redis import Step, call, together
from memory.types import WindowMessage

# Adds messages to a window unless `refuse` got their memories. It is atomic, so that neither a message nor a refusal is
# added in between. KEYS: the window, the refused. ARGV: maximum length, seconds, then id, message, …
_APPEND = """
local added = false
for place = 3, #ARGV, 2 do
    if redis.call('SISMEMBER', KEYS[2], ARGV[place]) == 0 then
        redis.call('RPUSH', KEYS[1], ARGV[place + 1])
        added = true
    end
end
if added then
    redis.call('LTRIM', KEYS[1], -ARGV[1], -1)
    redis.call('EXPIRE', KEYS[1], ARGV[2])
end
"""
# Longer than any request takes between its commit and its window.
REFUSED_SECONDS = 3600


def append(messages: Mapping[tuple[int, str], Sequence[WindowMessage]]) -> None:
    """Add messages to the windows of their (namespace_id, session), all or none, and extend the windows' life.

    Messages whose memories were passed to `refuse` are left out. Raise WindowUnavailable.
    """
    try:
        together(appending(messages))
    except RedisAway as error:
        raise WindowUnavailable("The session window (Redis) does not answer.") from error


def appending(messages: Mapping[tuple[int, str], Sequence[WindowMessage]]) -> Step:
    """Return `append` as a step of a larger round trip."""

    def step(pipe: Any) -> None:
        for (namespace_id, session), items in messages.items():
            newest = items[-settings.MEMOS_WINDOW_MESSAGES :]
            pipe.eval(
                _APPEND,
                2,
                _key(namespace_id, session),
                _key_of_refused(namespace_id),
                settings.MEMOS_WINDOW_MESSAGES,
                settings.MEMOS_WINDOW_TTL_SECONDS,
                *(part for item in newest for part in (item.memory_id, orjson.dumps(item))),
            )

    return step


def read(namespace_id: int, session: str) -> list[WindowMessage]:
    """Return the window's messages, oldest first; [] if it has expired. Raise WindowUnavailable."""
    rows = _call_window(lambda client: client.lrange(_key(namespace_id, session), 0, -1))
    return [WindowMessage(**orjson.loads(row)) for row in rows]


def forget(namespace_id: int, session: str) -> int:
    """Delete the window and the stored responses; return the number of deleted keys. Raise WindowUnavailable."""
    return int(_call_window(lambda client: client.delete(*_keys(namespace_id, session))))


def refuse(namespace_id: int, memory_ids: Sequence[str]) -> None:
    """Keep memories out of the namespace's windows for REFUSED_SECONDS.

    This is for memories that are being erased, because a writer may be between its commit and `append`. Raise
    WindowUnavailable.
    """

    def run(client: Any) -> None:
        with client.pipeline(transaction=True) as pipe:
            pipe.sadd(_key_of_refused(namespace_id), *memory_ids)
            pipe.expire(_key_of_refused(namespace_id), REFUSED_SECONDS)
            pipe.execute()

    if memory_ids:
        _call_window(run)


def memory_ids_of(namespace_id: int, sessions: Sequence[str]) -> dict[str, list[str]]:
    """Return the ids of the memories in each session's window, without empty ones. Raise WindowUnavailable."""

    def run(client: Any) -> list[list[bytes]]:
        with client.pipeline(transaction=False) as pipe:
            for session in sessions:
                pipe.lrange(_key(namespace_id, session), 0, -1)
            return list(pipe.execute())

    rows = zip(sessions, _call_window(run), strict=True)
    return {session: [orjson.loads(entry)["memory_id"] for entry in entries] for session, entries in rows if entries}


def remove(namespace_id: int, session: str, memory_ids: Collection[str]) -> int:
    """Remove the messages of memories from a window; return how many. Messages that arrive meanwhile are kept.

    Raise WindowUnavailable.
    """
    return int(_call_window(lambda client: _drop(client, _key(namespace_id, session), memory_ids)))


def exists(namespace_id: int, session: str) -> int:
    """Return how many keys `forget` would delete (0 to 2). Raise WindowUnavailable."""
    return int(_call_window(lambda client: client.exists(*_keys(namespace_id, session))))


def _drop(client: Any, key: str, memory_ids: Collection[str]) -> int:
    # Removal by value loses no message that is added after the read.
    entries = [raw for raw in client.lrange(key, 0, -1) if orjson.loads(raw)["memory_id"] in memory_ids]
    return sum(client.lrem(key, 0, raw) for raw in entries)


def _key_of_refused(namespace_id: int) -> str:
    return f"memos:l1:refused:{namespace_id}"


def _key(namespace_id: int, session: str) -> str:
    # A digest limits the length of the key, and escapes names that contain separators.
    digest = hashlib.blake2b(session.encode(), digest_size=16).hexdigest()
    # The 1 is the version of the messages' format.
    return f"memos:l1:1:{namespace_id}:{digest}"


def _keys(namespace_id: int, session: str) -> tuple[str, str]:
    return _key(namespace_id, session), responses.key_of(namespace_id, session)


def _call_window(operation: Any) -> Any:
    try:
        return call(operation)
    except RedisAway as error:
        raise WindowUnavailable("The session window (Redis) does not answer.") from error
