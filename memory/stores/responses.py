"""Stores responses of the Responses API in Redis, with their messages and calls, for requests that continue from them.

All responses of a session are stored together, so that they can be deleted together. An item that several of them
share, as happens if a client sends the whole conversation with each request, is stored once.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import orjson

from memory.stores.redis import call

# A conversation can be continued for this long after its latest response.
KEPT_SECONDS = 24 * 3600
# The items of a larger conversation aren't stored, because Redis keeps them in memory.
MAX_BYTES = 2_000_000
_SESSION_CHARS = _DIGEST_BYTES = 16
_LATEST = "latest"


@dataclass(frozen=True, slots=True)
class StoredResponse:
    """A response: its `body`, and all `items` of the conversation up to and including its own output.

    `told` maps the memories that the conversation has become to a digest of their text.
    """

    session: str
    body: Mapping[str, Any]
    items: Sequence[Mapping[str, Any]]
    told: Mapping[str, str]


def name_response(session: str, unique: str) -> str:
    """Return the common part of the ids of a response and its items; it leads to the session's other responses."""
    return _digest(session.encode())[:_SESSION_CHARS] + unique


def keep(namespace_id: int, name: str, response: StoredResponse) -> bool:
    """Store a response and extend the session's life; return False if it is too large. Raise RedisAway."""
    items = {_digest(content): content for content in map(orjson.dumps, response.items)}
    if sum(map(len, items.values())) > MAX_BYTES:
        return False
    record = {**asdict(response), "items": [_digest(orjson.dumps(item)) for item in response.items]}
    key = _key(namespace_id, name)

    def run(client: Any) -> None:
        with client.pipeline(transaction=True) as pipe:
            pipe.hset(key, mapping={**items, name: orjson.dumps(record), _LATEST: name})
            pipe.expire(key, KEPT_SECONDS)
            pipe.execute()

    call(run)
    return True


def read(namespace_id: int, name: str) -> StoredResponse | None:
    """Return the response of that name, None if there is none. Raise RedisAway."""
    key = _key(namespace_id, name)
    raw = call(lambda client: client.hget(key, name))
    if raw is None:
        return None
    record = orjson.loads(raw)
    items = call(lambda client: client.hmget(key, record["items"])) if record["items"] else []
    return StoredResponse(**{**record, "items": [orjson.loads(item) for item in items]})


def find_latest(namespace_id: int, session: str) -> str | None:
    """Return the name of the session's latest response, None without one. Raise RedisAway."""
    name = call(lambda client: client.hget(_key(namespace_id, name_response(session, "")), _LATEST))
    return name.decode() if name else None


def delete(namespace_id: int, name: str) -> bool:
    """Delete a response with the items that no other one uses; return whether it existed. Raise RedisAway.

    The session's latest response is then the newest of the remaining ones.
    """
    key = _key(namespace_id, name)

    def run(pipe: Any) -> bool:
        # Items are named by their digest, responses by a longer name.
        names = [field.decode() for field in pipe.hkeys(key) if len(field) > 2 * _DIGEST_BYTES]
        if name not in names:
            return False
        records = {one: orjson.loads(raw) for one, raw in zip(names, pipe.hmget(key, names), strict=True) if raw}
        own = set(records.pop(name)["items"])
        kept = {item for record in records.values() for item in record["items"]}
        pipe.multi()
        pipe.hdel(key, name, *(own - kept), *([] if records else [_LATEST]))
        if records:
            pipe.hset(key, _LATEST, max(records, key=lambda one: records[one]["body"]["created_at"]))
        return True

    # A response that is stored meanwhile may use the same items; then the transaction is repeated.
    return bool(call(lambda client: client.transaction(run, key, value_from_callable=True)))


def forget(namespace_id: int, sessions: Sequence[str]) -> None:
    """Delete the responses of sessions. Raise RedisAway."""
    keys = [key_of(namespace_id, session) for session in sessions]
    if keys:
        call(lambda client: client.delete(*keys))


def key_of(namespace_id: int, session: str) -> str:
    """Return the key of a session's responses."""
    return _key(namespace_id, name_response(session, ""))


def _key(namespace_id: int, name: str) -> str:
    return f"memos:responses:1:{namespace_id}:{name[:_SESSION_CHARS]}"


def _digest(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=_DIGEST_BYTES).hexdigest()
