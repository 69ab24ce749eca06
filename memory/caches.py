"""What a process remembers for a while instead of asking again: one kind of cache, one call that forgets all."""

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
    """Values by key, shared by the threads of a process. No value is None, which stands for a key that is not known."""

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
        """Remembers the value, and returns it."""
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
    """A cache that forgets a value `seconds` after it was put; of more than `most`, the longest unasked go first."""
    return Cache(cachetools.TTLCache(most, seconds))


def up_to(size: int, *, size_of: Callable[[Any], int]) -> Cache[Any, Any]:
    """A cache of values that are `size` together, by `size_of`; what was not asked for longest goes first.

    A value that is larger by itself is remembered alone.
    """
    return Cache(cachetools.LRUCache(size, lambda value: min(size, size_of(value))))


def forget_all() -> None:
    """Empties every cache of the process: it is connected to another database, or a test begins."""
    for cache in list(_caches):
        cache.clear()
