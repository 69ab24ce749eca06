"""Up to where a read replica must have replayed for whom: positions in PostgreSQL's log, in Redis.

A writer raises the position of itself and of the namespaces it wrote in, each for LEASE_SECONDS; by then a replica that
is read from has passed it. Beside them stands a floor for everyone. It is missing in a Redis that has forgotten what
was said before, and whoever finds it missing puts the end of the log there.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from memory.stores.redis import call

LEASE_SECONDS = 120

_FLOOR = "memos:written:1:floor"

# KEYS: whose position it is. ARGV: the position, and for how many seconds; 0: for good. What is higher stays.
_RAISE = """
for _, key in ipairs(KEYS) do
    if tonumber(redis.call('GET', key) or '-1') < tonumber(ARGV[1]) then
        if ARGV[2] == '0' then
            redis.call('SET', key, ARGV[1])
        else
            redis.call('SET', key, ARGV[1], 'EX', ARGV[2])
        end
    end
end
"""


def raise_position(position: int, *, actor: str, namespace_ids: Iterable[int]) -> None:
    """What they read from now on has replayed `position`. Raises RedisAway."""
    keys = _keys(actor, namespace_ids)
    if keys:
        call(lambda client: client.eval(_RAISE, len(keys), *keys, position, LEASE_SECONDS))


def raise_floor(position: int) -> None:
    """What anyone reads from now on has replayed `position`. Raises RedisAway."""
    call(lambda client: client.eval(_RAISE, 1, _FLOOR, position, 0))


def read_position(*, actor: str, namespace_ids: Collection[int]) -> int | None:
    """The position that a replica must have replayed for them; None when Redis does not know. Raises RedisAway."""
    floor, *others = call(lambda client: client.mget([_FLOOR, *_keys(actor, namespace_ids)]))
    return None if floor is None else max(int(value) for value in (floor, *others) if value is not None)


def _keys(actor: str, namespace_ids: Iterable[int]) -> list[str]:
    keys = [f"memos:written:1:namespace:{namespace_id}" for namespace_id in sorted(namespace_ids)]
    return [f"memos:written:1:actor:{actor}", *keys] if actor else keys
