"""The context of row-level security of the current thread: a role, and the namespaces that its policies allow.

Outside of requests and jobs, web and worker processes reach no rows, and neither do new threads. Management commands
work as the login of the database, which owns the tables.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TypeVar

from memory.types import Access

Piece = TypeVar("Piece")

# There is a role for one namespace, for several, and for all, so that each policy is as simple as possible: PostgreSQL
# plans a query of one namespace as it would without policies.
ROLE_OF_ONE = "memos_app_one"
ROLE_OF_SOME = "memos_app_some"
ROLE_OF_ALL = "memos_app_all"


# The namespace id of jobs and audit events that belong to no tenant.
NO_NAMESPACE = 0


@dataclass(frozen=True, slots=True)
class Reach:
    """Holds the role that statements run as, and the ids of the namespaces that its policies allow, comma-separated."""

    role: str
    namespaces: str = ""


NOTHING = Reach(ROLE_OF_ONE)
EVERYTHING = Reach(ROLE_OF_ALL)
# Statements run as the login itself, with its own rights.
LOGIN = Reach("none")

_reach: ContextVar[Reach | None] = ContextVar("reach", default=None)
_of_process = NOTHING


def current() -> Reach:
    """Returns the context of this thread."""
    return _reach.get() or _of_process


def only_namespace() -> int:
    """Returns the only namespace that may be reached now; NO_NAMESPACE if there are none, several, or all."""
    now = current()
    return int(now.namespaces) if now.role == ROLE_OF_ONE and now.namespaces else NO_NAMESPACE


def open_process() -> None:
    """Makes this process work as the database's login outside of requests and jobs, for management commands."""
    global _of_process  # noqa: PLW0603 - one a process
    _of_process = LOGIN


def close_process() -> None:
    """Makes this process reach nothing outside of requests and jobs, for web server and worker."""
    global _of_process  # noqa: PLW0603 - one a process
    _of_process = NOTHING


@contextmanager
def hold(reach: Reach) -> Iterator[None]:
    """Sets the context inside, where `allow` may change it, and restores the previous one afterwards."""
    token = _reach.set(reach)
    try:
        yield
    finally:
        _reach.reset(token)


def within(*namespace_ids: int) -> AbstractContextManager[None]:
    """Allows inside only the rows of these namespaces."""
    return hold(_reach_of(namespace_ids))


def across_namespaces() -> AbstractContextManager[None]:
    """Allows inside the rows of all namespaces explicitly, for background work and callers who may reach all."""
    return hold(EVERYTHING)


def within_access(access: Access) -> AbstractContextManager[None]:
    """Allows inside the rows of the namespaces that the caller reaches."""
    return hold(_of(access))


def allow(access: Access) -> None:
    """Allows the rows of the namespaces that the caller reaches, until the end of the request."""
    _reach.set(_of(access))


def narrow(namespace_ids: Iterable[int]) -> None:
    """Narrows the context to these namespaces, which the caller must reach, until the end of the request."""
    _reach.set(_reach_of(namespace_ids))


def carry(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """Yields `pieces`, each computed in the current context, for an answer that is computed while it is sent."""
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
