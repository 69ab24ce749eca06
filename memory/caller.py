"""On whose behalf the code works now: which key, which request or job. Calls of models are put down to them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TypeVar

Piece = TypeVar("Piece")


@dataclass(slots=True)
class Caller:
    """`request_id`: of the request, or the job's id. `namespace_id`: where row-level security does not say it, else 0.

    `warnings`: codes that the answer's `degraded` ends with.
    """

    request_id: str = ""
    key_id: int | None = None
    namespace_id: int = 0
    warnings: list[str] = field(default_factory=list)


_caller: ContextVar[Caller | None] = ContextVar("caller", default=None)


def current() -> Caller:
    """Who it is; outside of requests and jobs nobody."""
    return _caller.get() or Caller()


@contextmanager
def hold(caller: Caller) -> Iterator[None]:
    """Inside, the work is this caller's; afterwards whose it was before."""
    token = _caller.set(caller)
    try:
        yield
    finally:
        _caller.reset(token)


@contextmanager
def within_namespace(namespace_id: int) -> Iterator[None]:
    """Inside, the work is for one namespace: for jobs that go through many of them."""
    now = current()
    with hold(Caller(now.request_id, now.key_id, namespace_id, now.warnings)):
        yield


def carry(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """`pieces`, each made for who calls now: for an answer that is made while it is sent."""
    return _carry(iter(pieces), current())


def _carry(pieces: Iterator[Piece], caller: Caller) -> Iterator[Piece]:
    while True:
        with hold(caller):
            try:
                piece = next(pieces)
            except StopIteration:
                return
        yield piece
