"""Caches of a process: one kind of cache, and one call that clears them all."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from typing import Any, Generic, TypeVar

import cachetools

K = TypeVar("K")
V = TypeVar("V")

_MOST = 10_000


class Cache(Generic[K, V]):
    """A cache shared by the threads of a process. Values must not be None, which stands for a missing key."""

    def __init__(self, values: cachetools.Cache[K, V]) -> None:
        self._values = values
        self._lock = threading.Lock()
        _caches.add(self)

    def get(self, key: K) -> V | None:
        with self._lock:
            try:
                return self._values[key]
            except KeyError:
                return None

    def put(self, key: K, value: V) -> V:
        """Store the value and return it."""
        with self._lock:
            self._values[key] = value
        return value

    def forget(self, key: K) -> None:
        with self._lock:
            self._values.pop(key, None)

    def clear(self) -> None:
        with self._lock:
            self._values.clear()


_caches: weakref.WeakSet[Cache[Any, Any]] = weakref.WeakSet()


def for_seconds(seconds: float, *, most: int = _MOST) -> Cache[Any, Any]:
    """Return a cache that drops a value after `seconds`, and the least recently used ones beyond `most`."""
    return Cache(cachetools.TTLCache(most, seconds))


def up_to(size: int, *, size_of: Callable[[Any], int]) -> Cache[Any, Any]:
    """Return a cache of values with a total of `size` by `size_of`; the least recently used go first.

    A value that is larger on its own is cached alone.
    """
    return Cache(cachetools.LRUCache(size, lambda value: min(size, size_of(value))))


def forget_all() -> None:
    """Clear every cache of the process, for another database or a new test."""
    for cache in list(_caches):
        cache.clear()
