"""Counts that pages share for some seconds."""

from __future__ import annotations

import pytest

from memory.errors import RedisAway
from memory.stores import figures
from memory.stores.redis import call, resume
from memory.types import Access, system_access

HARBOUR = Access(actor="staff:ann", namespace_ids=frozenset({1, 2}))


class Counter:
    def __init__(self) -> None:
        self.times = 0

    def __call__(self) -> dict[str, int]:
        self.times += 1
        return {"n": self.times}


def test_it_is_counted_once_for_all_who_reach_the_same():
    count = Counter()
    again = Access(actor="staff:ben", namespace_ids=frozenset({2, 1}))
    assert [figures.count_cached(one, "things", count, seconds=5) for one in (HARBOUR, again)] == [{"n": 1}, {"n": 1}]
    [key] = call(lambda client: list(client.scan_iter("memos:figures:*")))
    assert 0 < call(lambda client: client.ttl(key)) <= 5


@pytest.mark.parametrize("other", [system_access("x"), Access(actor="staff:ann", namespace_ids=frozenset({1}))])
def test_another_reach_or_another_count_is_its_own(other):
    count = Counter()
    figures.count_cached(HARBOUR, "things", count, seconds=5)
    assert figures.count_cached(other, "things", count, seconds=5) == {"n": 2}
    assert figures.count_cached(HARBOUR, "others", count, seconds=5) == {"n": 3}


def test_without_redis_each_counts(settings):
    settings.CACHES = {"default": {**settings.CACHES["default"], "LOCATION": "redis://127.0.0.1:1/0"}}
    count = Counter()
    assert [figures.count_cached(HARBOUR, "things", count, seconds=5)["n"] for _ in range(2)] == [1, 2]
    with pytest.raises(RedisAway):
        figures.read(1, "things")
    resume()
