"""Responses of the Responses API, in Redis: what was said and called in each, for the request that goes on from it.

What a session's responses hold lies together, so that it can be forgotten together. An item that several of them hold,
as those do whose clients send the whole talk with each request, is stored once.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import orjson

from memory.stores.redis import call

# A talk can be taken up within this time of its latest response.
KEPT_SECONDS = 24 * 3600
# The items of a larger talk are not kept: Redis holds them in memory.
MAX_BYTES = 2_000_000
_SESSION_CHARS = _DIGEST_BYTES = 16
_LATEST = "latest"


@dataclass(frozen=True, slots=True)
class StoredResponse:
    """Holds a response: its `body`, and all `items` of the talk up to it, its own output included.

    `told` maps the memories that the talk has become to a digest of what they say.
    """

    session: str
    body: Mapping[str, Any]
    items: Sequence[Mapping[str, Any]]
    told: Mapping[str, str]


def name_response(session: str, unique: str) -> str:
    """Returns what the ids of a response and its items have in common; it leads to the session's other responses."""
    return _digest(session.encode())[:_SESSION_CHARS] + unique


def keep(namespace_id: int, name: str, response: StoredResponse) -> bool:
    """Keeps a response, and the life of the session's others; says whether it is not too large. Raises RedisAway."""
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
    """Returns the response of that name; None when it is not there. Raises RedisAway."""
    key = _key(namespace_id, name)
    raw = call(lambda client: client.hget(key, name))
    if raw is None:
        return None
    record = orjson.loads(raw)
    items = call(lambda client: client.hmget(key, record["items"])) if record["items"] else []
    return StoredResponse(**{**record, "items": [orjson.loads(item) for item in items]})


def find_latest(namespace_id: int, session: str) -> str | None:
    """Returns the name of the session's latest response; None without one. Raises RedisAway."""
    name = call(lambda client: client.hget(_key(namespace_id, name_response(session, "")), _LATEST))
    return name.decode() if name else None


def delete(namespace_id: int, name: str) -> bool:
    """Deletes a response with the items that no other one holds; tells whether it was there. Raises RedisAway.

    The session's latest response is then the newest of those that are left.
    """
    key = _key(namespace_id, name)

    def run(pipe: Any) -> bool:
        # An item is named by its digest, a response by a longer name.
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

    # Another response that is kept meanwhile may hold the same items: then it is looked again.
    return bool(call(lambda client: client.transaction(run, key, value_from_callable=True)))


def forget(namespace_id: int, sessions: Sequence[str]) -> None:
    """Forgets the responses of sessions. Raises RedisAway."""
    keys = [key_of(namespace_id, session) for session in sessions]
    if keys:
        call(lambda client: client.delete(*keys))


def key_of(namespace_id: int, session: str) -> str:
    """Returns the key that holds the responses of a session."""
    return _key(namespace_id, name_response(session, ""))


def _key(namespace_id: int, name: str) -> str:
    return f"memos:responses:1:{namespace_id}:{name[:_SESSION_CHARS]}"


def _digest(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=_DIGEST_BYTES).hexdigest()
