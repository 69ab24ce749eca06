"""The session window in Redis."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from unittest import mock

import pytest
import redis

from memory.errors import WindowUnavailable
from memory.stores import redis as redis_store
from memory.stores import window
from memory.types import WindowMessage

NAMESPACE = 987_654


def message(text: str) -> WindowMessage:
    return WindowMessage(f"id-{text}", "user", "Ann", text, 3, "2026-05-08T12:00:00+00:00")


def texts(session: str, namespace_id: int = NAMESPACE) -> list[str]:
    return [entry.text for entry in window.read(namespace_id, session)]


def time_to_live(session: str) -> int:
    return redis_store.call(lambda client: client.ttl(window._key(NAMESPACE, session)))


@pytest.fixture(autouse=True)
def _clean():
    yield
    redis_store.resume()
    redis_store.call(lambda client: [client.delete(key) for key in client.keys(f"memos:l1:{NAMESPACE}*")])


def test_messages_come_back_whole_and_oldest_first():
    window.append({(NAMESPACE, "s"): [message("a"), message("限流 😀")]})
    window.append({(NAMESPACE, "s"): [message("c")]})
    assert window.read(NAMESPACE, "s") == [message("a"), message("限流 😀"), message("c")]


def test_an_absent_window_is_empty():
    assert window.read(NAMESPACE, "nowhere") == []
    assert (window.exists(NAMESPACE, "nowhere"), window.forget(NAMESPACE, "nowhere")) == (0, 0)


def test_only_the_newest_are_kept(settings):
    settings.MEMOS_WINDOW_MESSAGES = 3
    window.append({(NAMESPACE, "s"): [message(str(number)) for number in range(10)]})
    assert texts("s") == ["7", "8", "9"]
    window.append({(NAMESPACE, "s"): [message("new")]})
    assert texts("s") == ["8", "9", "new"]


def test_every_message_renews_the_life(settings):
    settings.MEMOS_WINDOW_TTL_SECONDS = 50
    window.append({(NAMESPACE, "s"): [message("a")]})
    assert 0 < time_to_live("s") <= 50
    settings.MEMOS_WINDOW_TTL_SECONDS = 500
    window.append({(NAMESPACE, "s"): [message("b")]})
    assert 50 < time_to_live("s") <= 500


def test_sessions_and_namespaces_are_apart_whatever_their_names_hold():
    places = [(NAMESPACE, "a:b"), (NAMESPACE, "a"), (NAMESPACE, "b"), (NAMESPACE, "*"), (NAMESPACE * 10 + 1, "a")]
    places += [(NAMESPACE, "会话\n \x00"), (NAMESPACE, "x" * 128)]
    window.append({place: [message(str(number))] for number, place in enumerate(places)})
    for number, (namespace_id, session) in enumerate(places):
        assert texts(session, namespace_id) == [str(number)]
    assert window.forget(NAMESPACE, "*") == 1
    assert texts("a") == ["1"]
    window.forget(NAMESPACE * 10 + 1, "a")


def test_forgetting_removes_one_window_once():
    window.append({(NAMESPACE, "s"): [message("a")], (NAMESPACE, "t"): [message("b")]})
    assert (window.exists(NAMESPACE, "s"), window.forget(NAMESPACE, "s"), window.forget(NAMESPACE, "s")) == (1, 1, 0)
    assert texts("t") == ["b"]


def test_writers_at_once_lose_nothing(settings):
    settings.MEMOS_WINDOW_MESSAGES = 1000

    def write(number: int) -> None:
        for part in range(10):
            window.append({(NAMESPACE, "s"): [message(f"{number}-{part}-a"), message(f"{number}-{part}-b")]})

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(4)))
    found = texts("s")
    assert len(found) == len(set(found)) == 80
    # Messages that are appended together stay together.
    assert all(b == a[:-1] + "b" for a, b in zip(found[::2], found[1::2], strict=True))


def test_all_windows_are_written_or_none():

    def fails(pipe: redis.client.Pipeline) -> None:
        raise redis.ConnectionError("away")

    with (
        mock.patch.object(redis.client.Pipeline, "execute", fails),
        pytest.raises(WindowUnavailable),
    ):
        window.append({(NAMESPACE, "s"): [message("a")], (NAMESPACE, "z"): [message("b")]})
    redis_store.resume()
    assert texts("s") == texts("z") == []


@pytest.mark.parametrize(
    "operation",
    [
        lambda: window.read(NAMESPACE, "s"),
        lambda: window.append({(NAMESPACE, "s"): [message("a")]}),
        lambda: window.forget(NAMESPACE, "s"),
        lambda: window.exists(NAMESPACE, "s"),
        lambda: window.refuse(NAMESPACE, ["id-a"]),
        lambda: window.memory_ids_of(NAMESPACE, ["s"]),
        lambda: window.remove(NAMESPACE, "s", {"id-a"}),
    ],
    ids=["read", "append", "forget", "exists", "refuse", "held", "remove"],
)
def test_with_redis_away_every_operation_says_so(operation):
    away = mock.patch.object(redis_store, "get_redis_connection", side_effect=redis.ConnectionError("away"))
    with away, pytest.raises(WindowUnavailable, match="does not answer"):
        operation()


def test_messages_of_refused_memories_are_left_out():
    window.append({(NAMESPACE, "s"): [message("a"), message("b")]})
    window.refuse(NAMESPACE, ["id-b", "id-c"])
    window.append({(NAMESPACE, "s"): [message("b"), message("d")], (NAMESPACE, "t"): [message("c")]})

    # Earlier messages are removed by `remove`.
    assert (texts("s"), texts("t")) == (["a", "b", "d"], [])
    assert window.memory_ids_of(NAMESPACE, ["s", "t", "nowhere"]) == {"s": ["id-a", "id-b", "id-d"]}


def test_another_namespace_refuses_nothing():
    window.refuse(NAMESPACE + 1, ["id-a"])
    window.append({(NAMESPACE, "s"): [message("a")]})
    assert texts("s") == ["a"]
    redis_store.call(lambda client: client.delete(window._key_of_refused(NAMESPACE + 1)))


def test_messages_are_taken_out_by_their_memory():
    window.append({(NAMESPACE, "s"): [message("a"), message("b"), message("a")]})
    assert window.remove(NAMESPACE, "s", {"id-a", "id-z"}) == 2
    assert texts("s") == ["b"]
    assert window.remove(NAMESPACE, "nowhere", {"id-a"}) == 0
