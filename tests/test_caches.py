"""Caches of a process: how long and how much they keep, and that all can be cleared at once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from memory import caches
from memory.models import Namespace
from memory.retrieval import size
from memory.services.index import embedding_model
from memory.services.monitoring import health
from memory.services.tenancy import namespaces, policy
from memory.types import system_access


def test_a_value_is_known_for_its_seconds():
    long, short = caches.for_seconds(1_000), caches.for_seconds(0)
    assert long.put("key", 1) == short.put("key", 1) == 1
    assert long.get("key") == 1
    assert short.get("key") is None
    assert long.get("other") is None


def test_a_value_that_is_put_again_takes_the_place_of_the_former():
    cache = caches.for_seconds(1_000)
    cache.put("key", 1)
    cache.put("key", 2)
    assert cache.get("key") == 2


def test_one_key_is_forgotten_or_all_are():
    cache = caches.for_seconds(1_000)
    cache.put("a", 1)
    cache.put("b", 2)
    cache.forget("a")
    cache.forget("never there")
    assert (cache.get("a"), cache.get("b")) == (None, 2)
    cache.clear()
    assert cache.get("b") is None


def test_beyond_its_size_a_cache_drops_what_was_not_asked_for_longest():
    cache = caches.up_to(10, size_of=len)
    cache.put("a", "aaaa")
    cache.put("b", "bbbb")
    assert cache.get("a") == "aaaa"
    cache.put("c", "cccc")
    assert [cache.get(key) for key in "abc"] == ["aaaa", None, "cccc"]


def test_what_is_larger_than_the_cache_is_remembered_alone():
    cache = caches.up_to(10, size_of=len)
    cache.put("a", "a")
    cache.put("b", "b" * 100)
    assert [cache.get(key) for key in "ab"] == [None, "b" * 100]
    cache.put("c", "c")
    assert [cache.get(key) for key in "bc"] == [None, "c"]


@pytest.mark.parametrize("make", [lambda: caches.for_seconds(0.0001), lambda: caches.up_to(50, size_of=lambda _: 1)])
def test_threads_share_a_cache(make):
    cache = make()

    def work(start: int) -> None:
        for number in range(start, start + 2_000):
            key = number % 97
            assert cache.put(key, key) == key
            assert cache.get(key) in (key, None)
            cache.forget((number * 7) % 97)

    with ThreadPoolExecutor(8) as pool:
        for done in [pool.submit(work, start) for start in range(8)]:
            done.result()


def test_all_that_a_process_knows_is_forgotten_at_once(db):
    namespace = Namespace.objects.create(name="bakery")
    scope = namespaces.scope_for(system_access("tests"), name=namespace.name)

    def known() -> list[object]:
        return [
            namespaces._ids.get(scope.namespace),
            policy._in_force.get(scope.namespace_id),
            size._counts.get(scope.namespace_id),
            embedding_model._active.get(None),
            health._probed.get(None),
        ]

    in_force = policy.in_force(scope.namespace_id)
    assert not size.is_large(scope)
    model = embedding_model.active_model()
    assert health.report().checks["embedding"] == "ok"
    assert known() == [namespace.pk, in_force, 0, model, "ok"]
    caches.forget_all()
    assert known() == [None] * 5
