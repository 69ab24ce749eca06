"""The pause after a failure of Redis."""

from __future__ import annotations

from unittest import mock

import pytest
import redis

from memory.errors import RedisAway
from memory.stores import redis as redis_store
from memory.stores.redis import PAUSE_SECONDS, call, ping

FAILURES = [redis.ConnectionError("x"), redis.TimeoutError("x"), redis.exceptions.BusyLoadingError("x")]


@pytest.fixture
def clock(monkeypatch):
    """Return a clock that the test moves: clock[0] is now."""
    now = [1000.0]
    monkeypatch.setattr(redis_store.time, "monotonic", lambda: now[0])
    return now


@pytest.mark.parametrize("failure", FAILURES, ids=[type(entry).__name__ for entry in FAILURES])
def test_after_a_failure_redis_is_left_alone_for_a_while(clock, failure):
    with pytest.raises(RedisAway):
        call(mock.Mock(side_effect=failure))

    operation = mock.Mock(return_value=7)
    clock[0] += PAUSE_SECONDS - 0.01
    with pytest.raises(RedisAway, match="a moment ago"):
        call(operation)
    operation.assert_not_called()

    clock[0] += 0.02
    assert call(operation) == 7
    operation.assert_called_once()


def test_resuming_ends_the_pause(clock):
    with pytest.raises(RedisAway):
        call(mock.Mock(side_effect=redis.ConnectionError("x")))
    redis_store.resume()
    assert call(lambda client: client.ping()) is True


def test_a_ping_asks_anew_and_ends_the_pause(clock):
    with pytest.raises(RedisAway):
        call(mock.Mock(side_effect=redis.ConnectionError("x")))
    ping()
    assert call(lambda client: client.ping()) is True


def test_a_redis_that_refuses_is_away_too(clock):
    with pytest.raises(RedisAway, match="unknown command"):
        call(lambda client: client.execute_command("NO-SUCH-COMMAND"))
