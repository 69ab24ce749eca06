from __future__ import annotations

from memory.stores import last_writes
from memory.stores.redis import call


def read(actor: str = "", *namespace_ids: int) -> int | None:
    return last_writes.read_position(actor=actor, namespace_ids=namespace_ids)


def test_a_redis_that_has_forgotten_says_so() -> None:
    assert read("key:a", 1) is None
    last_writes.raise_position(7, actor="key:a", namespace_ids=[1])
    assert read("key:a", 1) is None
    last_writes.raise_floor(3)
    assert read("key:a", 1) == 7


def test_who_wrote_and_who_reads_the_namespace_wait_for_it_and_no_others() -> None:
    last_writes.raise_floor(3)
    last_writes.raise_position(9, actor="key:a", namespace_ids=[1, 2])
    assert [read("key:a"), read("key:b", 2), read("key:b", 3), read("key:b")] == [9, 9, 3, 3]
    last_writes.raise_floor(20)
    assert read("key:b", 3) == 20


def test_the_later_of_two_writers_counts_whoever_speaks_last() -> None:
    last_writes.raise_floor(1)
    # Beyond 32 bits, as a log of some gigabytes is.
    for position in (5_000_000_000_017, 5_000_000_000_009):
        last_writes.raise_position(position, actor="key:a", namespace_ids=[1])
        last_writes.raise_floor(position - 5_000_000_000_000)
    assert read("key:a", 1) == 5_000_000_000_017
    assert read() == 17


def test_positions_expire_and_the_floor_stays() -> None:
    last_writes.raise_floor(1)
    last_writes.raise_position(2, actor="key:a", namespace_ids=[1])
    keys = call(lambda client: {key.decode(): client.ttl(key) for key in client.scan_iter("memos:written:*")})
    floor = keys.pop("memos:written:1:floor")
    assert floor == -1
    assert len(keys) == 2
    assert all(0 < seconds <= last_writes.LEASE_SECONDS for seconds in keys.values())
