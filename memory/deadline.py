"""How long an answer may take: asked for between the steps of a request, all of them before anything is written.

A thread cannot be ended from outside without losing what it holds, so a step that has begun goes on: one text through
the gate or the splitter (seconds for the longest), one call of a model (its own time limit), one statement
(`statement_timeout`, `memos_site.web`). Outside a request (`within`) there is no limit.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from memory.errors import DeadlineExceeded

# The moment of time.monotonic() at which the request's time is over, and how long it was.
_limit: ContextVar[tuple[float, float] | None] = ContextVar("deadline", default=None)


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Inside, `check` refuses to go on after so many seconds."""
    token = _limit.set((time.monotonic() + seconds, seconds))
    try:
        yield
    finally:
        _limit.reset(token)


@contextmanager
def without_limit() -> Iterator[None]:
    """Inside, `check` never refuses: around the call of a model that has a time limit of its own, and what follows."""
    token = _limit.set(None)
    try:
        yield
    finally:
        _limit.reset(token)


def check() -> None:
    """Raises DeadlineExceeded when the request's time is over. Never after a write: what was written is answered."""
    limit = _limit.get()
    if limit is not None and time.monotonic() >= limit[0]:
        raise DeadlineExceeded(
            f"The request took longer than {limit[1]:g} seconds (MEMOS_REQUEST_SECONDS) and was ended. Nothing was "
            "written. Send fewer or shorter items, or try again when the server is less busy."
        )
