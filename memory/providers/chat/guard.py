"""Limits how many calls of a model a process makes at once, and makes none while the model keeps failing.

A library's circuit breaker was compared with this: pybreaker 1.4.1 holds its lock while `call` runs, so that one slow
answer makes all others wait; its `calling()` lets every caller in when only one should try; and it uses the wall clock.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import cachetools
from django.conf import settings

from memory.caches import Cache
from memory.errors import BudgetExceeded, LLMBusy, LLMRefused, LLMUnavailable

log = logging.getLogger("memos.llm")

# Maximum time that a call waits for another to end when too many run.
WAIT_SECONDS = 1.0


class CallGuard:
    """A circuit breaker and concurrency limit for calls of one model.

    After some consecutive failures it opens, and refuses calls for a while. Then a single call tries, and closes it or
    opens it again.
    """

    def __init__(self, label: str) -> None:
        self._label = label
        self._changed = threading.Condition()
        self._running = 0
        self._failures = 0
        self._opened_at: float | None = None
        self._last_failure = ""
        self._trying = False

    @contextmanager
    def admit(self) -> Iterator[None]:
        """Run the block as one call; raise LLMUnavailable while the guard is open, LLMBusy if too many calls run.

        LLMUnavailable in the block counts as a failure, unless it is about this one request (LLMRefused). Other
        endings, such as a reader that leaves or a spent budget, say nothing about the model.
        """
        trying = self._enter()
        healthy: bool | None = None
        try:
            yield
            healthy = True
        except LLMRefused:
            healthy = True
            raise
        except BudgetExceeded:
            raise
        except LLMUnavailable as error:
            healthy = False
            self._last_failure = error.message
            raise
        finally:
            self._leave(trying, healthy)

    def _enter(self) -> bool:
        """Take a place; return whether this call probes a model that kept failing."""
        limit = settings.MEMOS_LLM_CONCURRENCY
        with self._changed:
            if not self._changed.wait_for(lambda: self._running < limit or self._refuses(), WAIT_SECONDS):
                raise LLMBusy(
                    f"{self._label} is answering {limit} calls of this process already (MEMOS_LLM_CONCURRENCY): try "
                    "again in a moment.",
                    retry_after=2,
                )
            if self._refuses():
                raise LLMUnavailable(
                    f"{self._label} failed {self._failures} times in a row and is left alone for "
                    f"{settings.MEMOS_LLM_BREAKER_SECONDS:g} s. Last: {self._last_failure}",
                    retry_after=max(1, math.ceil(self._seconds_left())),
                )
            self._running += 1
            if self._opened_at is None:
                return False
            self._trying = True
            return True

    def _leave(self, trying: bool, healthy: bool | None) -> None:
        with self._changed:
            self._running -= 1
            if trying:
                self._trying = False
            if healthy:
                if self._opened_at is not None:
                    log.warning("the language model answers again", extra={"model": self._label})
                self._failures, self._opened_at = 0, None
            elif healthy is False:
                self._failures += 1
                most = settings.MEMOS_LLM_BREAKER_FAILURES
                if most and (trying or (self._failures >= most and self._opened_at is None)):
                    self._opened_at = time.monotonic()
                    log.warning(
                        "the language model keeps failing and is left alone for a while",
                        extra={"model": self._label, "failures": self._failures, "reason": self._last_failure},
                    )
            self._changed.notify()

    def _refuses(self) -> bool:
        return self._opened_at is not None and (self._trying or self._seconds_left() > 0)

    def _seconds_left(self) -> float:
        return (self._opened_at or 0.0) + settings.MEMOS_LLM_BREAKER_SECONDS - time.monotonic()


_guards: Cache[tuple[str, str], CallGuard] = Cache(cachetools.LRUCache(1_000))
_making = threading.Lock()


def guard_of(label: str, base_url: str) -> CallGuard:
    """Return the guard of a model at an address, which the whole process shares."""
    with _making:
        key = (label, base_url)
        return _guards.get(key) or _guards.put(key, CallGuard(label))
