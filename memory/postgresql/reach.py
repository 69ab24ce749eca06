"""Whose rows the code that runs now may touch, as PostgreSQL is told: a role, and the namespaces its policies read.

A process that answers requests or does jobs reaches nothing outside of them, and neither does a new thread. Management
commands work as the login of the database, which owns the tables.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TypeVar

from memory.types import Access

Piece = TypeVar("Piece")

# Of one namespace, of several, and of all. Three, so that the policy of each is as simple as it can be: PostgreSQL
# plans a query of one namespace as it would without policies.
ROLE_OF_ONE = "memos_app_one"
ROLE_OF_SOME = "memos_app_some"
ROLE_OF_ALL = "memos_app_all"


# What jobs and audit events of no tenant have in the place of a namespace's id.
NO_NAMESPACE = 0


@dataclass(frozen=True, slots=True)
class Reach:
    """`role`: which role statements run as. `namespaces`: ids, joined by commas, that its policies let through."""

    role: str
    namespaces: str = ""


NOTHING = Reach(ROLE_OF_ONE)
EVERYTHING = Reach(ROLE_OF_ALL)
# The login itself, under its own rights.
LOGIN = Reach("none")

_reach: ContextVar[Reach | None] = ContextVar("reach", default=None)
_of_process = NOTHING


def current() -> Reach:
    """What holds now, in this thread."""
    return _reach.get() or _of_process


def only_namespace() -> int:
    """The namespace whose rows alone may be touched now; NO_NAMESPACE where there are several, or all."""
    now = current()
    return int(now.namespaces) if now.role == ROLE_OF_ONE and now.namespaces else NO_NAMESPACE


def open_process() -> None:
    """Outside of requests and jobs this process works as the login of the database: for management commands."""
    global _of_process  # noqa: PLW0603 - one a process
    _of_process = LOGIN


def close_process() -> None:
    """Outside of requests and jobs this process reaches nothing: for web server and worker."""
    global _of_process  # noqa: PLW0603 - one a process
    _of_process = NOTHING


@contextmanager
def hold(reach: Reach) -> Iterator[None]:
    """Inside, `reach`, and what `allow` makes of it; afterwards what held before."""
    token = _reach.set(reach)
    try:
        yield
    finally:
        _reach.reset(token)


def within(*namespace_ids: int) -> AbstractContextManager[None]:
    """Inside, the rows of these namespaces, and no others."""
    return hold(_reach_of(namespace_ids))


def across_namespaces() -> AbstractContextManager[None]:
    """Inside, the rows of every namespace, said outright: for background work, and for who may reach all."""
    return hold(EVERYTHING)


def within_access(access: Access) -> AbstractContextManager[None]:
    """Inside, the rows of the namespaces that the caller reaches."""
    return hold(_of(access))


def allow(access: Access) -> None:
    """From here to the end of the request: the rows of the namespaces that the caller reaches."""
    _reach.set(_of(access))


def narrow(namespace_ids: Iterable[int]) -> None:
    """From here to the end of the request: of what the caller reaches, the rows of these namespaces."""
    _reach.set(_reach_of(namespace_ids))


def carry(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """`pieces`, each made under what holds now: for an answer that is made while it is sent."""
    return _carry(iter(pieces), current())


def _carry(pieces: Iterator[Piece], reach: Reach) -> Iterator[Piece]:
    while True:
        with hold(reach):
            try:
                piece = next(pieces)
            except StopIteration:
                return
        yield piece


def _of(access: Access) -> Reach:
    return EVERYTHING if access.all_namespaces else _reach_of(access.namespace_ids)


def _reach_of(namespace_ids: Iterable[int]) -> Reach:
    ids = sorted(set(namespace_ids))
    return Reach(ROLE_OF_SOME if len(ids) > 1 else ROLE_OF_ONE, ",".join(map(str, ids)))
