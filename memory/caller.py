"""The current caller (API key, request or job), to which model usage is attributed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TypeVar

Piece = TypeVar("Piece")


@dataclass(slots=True)
class Caller:
    """A caller; `request_id` is that of the request or job, `namespace_id` is 0 if row-level security provides it.

    `warnings` are codes that are appended to the answer's `degraded`.
    """

    request_id: str = ""
    key_id: int | None = None
    namespace_id: int = 0
    warnings: list[str] = field(default_factory=list)


_caller: ContextVar[Caller | None] = ContextVar("caller", default=None)


def current() -> Caller:
    """Return the current caller, or an empty one outside of requests and jobs."""
    return _caller.get() or Caller()


@contextmanager
def hold(caller: Caller) -> Iterator[None]:
    """Attribute the work in the block to this caller, then restore the previous one."""
    token = _caller.set(caller)
    try:
        yield
    finally:
        _caller.reset(token)


@contextmanager
def within_namespace(namespace_id: int) -> Iterator[None]:
    """Attribute the work in the block to one namespace, for jobs that go through many of them."""
    now = current()
    with hold(Caller(now.request_id, now.key_id, namespace_id, now.warnings)):
        yield


def carry(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """Yield `pieces`, each produced for the current caller, for answers that are generated while they are sent."""
    return _carry(iter(pieces), current())


def _carry(pieces: Iterator[Piece], caller: Caller) -> Iterator[Piece]:
    while True:
        with hold(caller):
            try:
                piece = next(pieces)
            except StopIteration:
                return
        yield piece
