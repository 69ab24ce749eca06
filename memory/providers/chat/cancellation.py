"""Ends a model's answer from another thread when its caller has left."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextvars import ContextVar


class CallCancelled(BaseException):
    """Raised when the caller has left. It isn't an `Exception`, because the model didn't fail."""


class Cancellation:
    """Cancels the calls of a context; a call can be cancelled from the first byte of its answer on."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ends: set[Callable[[], None]] = set()
        self._is_cancelled = False

    def cancel(self) -> None:
        """End the answers that are being read, and later ones."""
        with self._lock:
            self._is_cancelled = True
            ends, self._ends = self._ends, set()
        for end in ends:
            end()

    def add(self, end: Callable[[], None]) -> None:
        """Register `end` to be called in the thread that cancels, or call it now if that has already happened."""
        with self._lock:
            if not self._is_cancelled:
                self._ends.add(end)
                return
        end()

    def remove(self, end: Callable[[], None]) -> None:
        """Unregister `end`."""
        with self._lock:
            self._ends.discard(end)


current: ContextVar[Cancellation | None] = ContextVar("cancellation", default=None)
