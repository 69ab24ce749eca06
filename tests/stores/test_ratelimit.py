"""Counting the requests per minute of one key."""

from __future__ import annotations

import uuid
from concurrent.futures import ThreadPoolExecutor
from unittest import mock

import pytest
import redis

from memory.stores import ratelimit
from memory.stores import redis as redis_store
from memory.stores.ratelimit import count_request

MINUTE = 29_000_000


@pytest.fixture
def key() -> str:
    return f"key:{uuid.uuid4().hex}"


def shared(key: str, minute: int = MINUTE) -> int:
    return redis_store.call(lambda client: int(client.get(f"memos:rate:{key}:{minute}") or 0))


def other_process(key: str, requests: int) -> None:
    redis_store.call(lambda client: client.incrby(f"memos:rate:{key}:{MINUTE}", requests))


@pytest.mark.parametrize("limit", [1, 60, 2000])
def test_small_limits_are_counted_one_by_one(key, limit):
    for number in range(1, 6):
        assert count_request(key, minute=MINUTE, limit=limit) == number
        assert shared(key) == number


def test_small_limits_see_the_other_processes_at_once(key):
    count_request(key, minute=MINUTE, limit=60)
    other_process(key, 40)
    assert count_request(key, minute=MINUTE, limit=60) == 42


def test_large_limits_are_reported_in_steps(key):
    # 60,000 a minute: every 30th request reports.
    counts = [count_request(key, minute=MINUTE, limit=60_000) for _ in range(29)]
    assert counts == list(range(1, 30))
    assert shared(key) == 0
    other_process(key, 500)
    assert count_request(key, minute=MINUTE, limit=60_000) == 530
    assert shared(key) == 530
    assert count_request(key, minute=MINUTE, limit=60_000) == 531


def test_a_new_minute_starts_at_one(key):
    for _ in range(3):
        count_request(key, minute=MINUTE, limit=60)
    assert count_request(key, minute=MINUTE + 1, limit=60) == 1
    assert (shared(key), shared(key, MINUTE + 1)) == (3, 1)


def test_keys_are_counted_apart(key):
    count_request(key, minute=MINUTE, limit=60)
    assert count_request(key + "-other", minute=MINUTE, limit=60) == 1


def test_counts_do_not_stay_in_redis(key):
    count_request(key, minute=MINUTE, limit=60)
    left = redis_store.call(lambda client: client.ttl(f"memos:rate:{key}:{MINUTE}"))
    assert 0 < left <= 120


def test_requests_at_once_are_each_counted(key):
    with ThreadPoolExecutor(8) as pool:
        counts = list(pool.map(lambda _: count_request(key, minute=MINUTE, limit=2000), range(200)))
    assert shared(key) == 200
    assert max(counts) == 200


def test_with_redis_away_the_process_goes_on_counting_alone(key):
    away = mock.patch.object(redis_store, "get_redis_connection", side_effect=redis.ConnectionError("away"))
    count_request(key, minute=MINUTE, limit=60)
    with away:
        assert [count_request(key, minute=MINUTE, limit=60) for _ in range(3)] == [2, 3, 4]


def test_what_is_remembered_is_bounded(key, monkeypatch):
    monkeypatch.setattr(ratelimit, "_counts", {str(number): mock.Mock() for number in range(10_001)})
    count_request(key, minute=MINUTE, limit=60)
    assert list(ratelimit._counts) == [key]
