"""Limits how long an answer may take, checked between the steps of a request before anything is written.

A thread can't be ended from outside without losing what it holds, so a step that has begun continues: one text through
the gate or the splitter (seconds for the longest), one call of a model (with its own time limit), one statement
(`statement_timeout`, `memos_site.web`). Outside of `within` there is no limit.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from memory.errors import DeadlineExceeded

# The deadline as a time of time.monotonic(), and the seconds until then at the start.
_limit: ContextVar[tuple[float, float] | None] = ContextVar("deadline", default=None)


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Make `check` raise after this many seconds in the block."""
    token = _limit.set((time.monotonic() + seconds, seconds))
    try:
        yield
    finally:
        _limit.reset(token)


@contextmanager
def without_limit() -> Iterator[None]:
    """Disable `check` in the block, around a call of a model with its own time limit and what follows."""
    token = _limit.set(None)
    try:
        yield
    finally:
        _limit.reset(token)


def check() -> None:
    """Raise DeadlineExceeded if the request's time is over. Never call it after a write, which must be answered."""
    limit = _limit.get()
    if limit is not None and time.monotonic() >= limit[0]:
        raise DeadlineExceeded(
            f"The request took longer than {limit[1]:g} seconds (MEMOS_REQUEST_SECONDS) and was ended. Nothing was "
            "written. Send fewer or shorter items, or try again when the server is less busy."
        )
