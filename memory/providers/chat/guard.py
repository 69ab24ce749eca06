"""How many calls of a model a process makes at once, and when it makes none because the model keeps failing.

A library's breaker was measured against this: pybreaker 1.4.1 holds its lock while `call` runs, so that one slow answer
would make all others wait; its `calling()` lets every caller in when one should try; and it reads the wall clock.
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

# How long a call waits for another one to end when too many run.
WAIT_SECONDS = 1.0


class CallGuard:
    """Lets calls of one model in. It opens (and refuses) after some failures in a row, for a while;
    then one call tries, and closes it or opens it anew."""

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
        """The block is one call. LLMUnavailable in it counts as a failure, unless it is of this one request
        (LLMRefused); what ends it otherwise, such as a reader that leaves or a budget that is spent, says nothing
        about the model.

        Raises LLMUnavailable while the guard is open, LLMBusy when MEMOS_LLM_CONCURRENCY calls run.
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
        """Takes a place; whether this call tries a model that kept failing."""
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
    """The guard of a model at an address, the same for all of this process."""
    with _making:
        key = (label, base_url)
        return _guards.get(key) or _guards.put(key, CallGuard(label))
