"""Ends a model's answer, from another thread, when nobody waits for it any more."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextvars import ContextVar


class CallCancelled(BaseException):
    """Nobody waits for the answer any more. No Exception: it is no failure of the model, and nobody is to mend it."""


class Cancellation:
    """What a call in this context is ended by; only its answer can be, from its first byte on."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ends: set[Callable[[], None]] = set()
        self._is_cancelled = False

    def cancel(self) -> None:
        """Ends the answers that are being read, and those to come."""
        with self._lock:
            self._is_cancelled = True
            ends, self._ends = self._ends, set()
        for end in ends:
            end()

    def add(self, end: Callable[[], None]) -> None:
        """Has `end` called, in the thread that cancels."""
        with self._lock:
            if not self._is_cancelled:
                self._ends.add(end)
                return
        end()

    def remove(self, end: Callable[[], None]) -> None:
        """Has `end` not called any more."""
        with self._lock:
            self._ends.discard(end)


current: ContextVar[Cancellation | None] = ContextVar("cancellation", default=None)
