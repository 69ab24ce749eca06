"""Runs the statements of the hot routes on Django's own connection, with parameters bound by the server."""

from __future__ import annotations

import math
import re
import select
import struct
import threading
import time
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import psycopg
from django.conf import settings
from django.core.exceptions import EmptyResultSet
from django.db import DEFAULT_DB_ALIAS, OperationalError, connections
from django.db.models import QuerySet
from psycopg.adapt import Dumper
from psycopg.pq import Format, TransactionStatus

from memory import tracing
from memory.errors import SearchTimedOut
from memory.postgresql.base import DatabaseWrapper
from memory.text.vectors import halfvec_literal

_halfvecs: weakref.WeakKeyDictionary[psycopg.Connection, int] = weakref.WeakKeyDictionary()


def fetch(
    statement: str,
    parameters: Mapping[str, Any],
    *,
    prepared: bool,
    binary: bool = False,
    of_tenants: bool = True,
    by_key: bool = False,
) -> list[tuple]:
    """The rows that `statement` returns; part of the current transaction, if there is one.

    `prepared` keeps the parsed statement on the connection. Not for statements whose best plan depends on how large the
    tenant is: PostgreSQL would go on using the plan that suited the first ones. `binary` has values sent as they are
    stored: quicker for times and long `bytea`. Errors are Django's database errors. A statement that is not
    `of_tenants` looks up who is calling, or the namespace of a name: it goes before PostgreSQL is told whose rows may
    be touched. One that reads a few rows `by_key` is not limited by `limit_statements`, which costs a round trip.
    """
    database = _ready()
    if of_tenants:
        database.send_reach()
    if not by_key:
        _limit.send(database.connection)
    with (
        database.wrap_database_errors,
        psycopg.Cursor(database.connection) as cursor,
        tracing.statement_span(statement),
    ):
        cursor.execute(statement, parameters, prepare=prepared, binary=binary)
        return cursor.fetchall()


def read_rows(statement: str, parameters: Mapping[str, Any] | Sequence[Any]) -> list[tuple[Any, ...]]:
    """Runs the statement on Django's cursor, which writes the parameters into it, and returns its rows."""
    with connections[DEFAULT_DB_ALIAS].cursor() as cursor:
        cursor.execute(statement, parameters)
        return cursor.fetchall()


def change_rows(statement: str, parameters: Mapping[str, Any] | Sequence[Any]) -> int:
    """Runs the statement as `read_rows` does, and returns how many rows it changed."""
    with connections[DEFAULT_DB_ALIAS].cursor() as cursor:
        cursor.execute(statement, parameters)
        return int(cursor.rowcount)


def read_clock() -> float:
    """PostgreSQL's time now, in seconds since the epoch: alike for all processes, whatever theirs say."""
    [(moment,)] = fetch("SELECT extract(epoch FROM clock_timestamp())::float8", {}, prepared=True, by_key=True)
    return float(moment)


def count_each(*rows: QuerySet[Any], most: int) -> list[int]:
    """How many rows each queryset has, each counted up to `most`, in one statement."""
    parts: list[str] = []
    parameters: list[Any] = []
    for one in rows:
        try:
            statement, values = one.order_by().values("pk")[:most].query.sql_with_params()
        except EmptyResultSet:
            parts.append("0")
            continue
        parts.append(f"(SELECT count(*) FROM ({statement}) AS counted)")  # noqa: S608 - Django's own SQL
        parameters += values
    with connections[DEFAULT_DB_ALIAS].cursor() as cursor:
        cursor.execute(f"SELECT {', '.join(parts)}", parameters)
        return [int(count) for count in cursor.fetchone()]


def positional(statement: str, parameters: Mapping[str, Any]) -> tuple[str, list[Any]]:
    """A statement with named parameters as Django's expressions take it: by place."""
    names: list[str] = []

    def place(match: re.Match[str]) -> str:
        names.append(match.group(1))
        return "%s"

    written = re.sub(r"%\((\w+)\)s", place, statement)
    return written, [parameters[name] for name in names]


def uuid_array(ids: Iterable[str]) -> str:
    """A parameter for `%(…)s::uuid[]`, written as PostgreSQL reads it: psycopg writes hundreds of ids one by one."""
    return "{" + ",".join(ids) + "}"


def number_array(values: Iterable[int | float]) -> str:
    """A parameter for `%(…)s::int[]` and the like, as `uuid_array`."""
    return "{" + ",".join(map(str, values)) + "}"


def text_array(values: Iterable[str]) -> str:
    """A parameter for `%(…)s::text[]`, as `uuid_array`."""
    escaped = (value.replace("\\", "\\\\").replace('"', '\\"') for value in values)
    return "{" + ",".join([f'"{value}"' for value in escaped]) + "}"


def vector_array(vectors: Iterable[np.ndarray]) -> str:
    """A parameter for `%(…)s::text[]`, each of whose elements casts to `halfvec`, of vectors float32 [dimensions]."""
    return "{" + ",".join(f'"{halfvec_literal(vector)}"' for vector in vectors) + "}"


class _HalfvecArray(bytes):
    """What PostgreSQL receives as `halfvec[]`."""


class _HalfvecArrayDumper(Dumper):
    """Sends it as it is; the statement says which type it has."""

    format = Format.BINARY
    oid = 0

    def dump(self, obj: _HalfvecArray) -> bytes:
        return obj


def halfvec_array(vectors: np.ndarray) -> bytes | str:
    """A parameter of `fetch` for `%(…)s::halfvec[]`, of vectors float32 [vectors, dimensions]: four times as quick as
    `vector_array`. For the connection on which this thread is now.
    """
    count, dimensions = vectors.shape
    if not count:
        return "{}"
    # https://github.com/pgvector/pgvector: halfvec_recv, in array_recv of PostgreSQL.
    array = struct.pack(">iiIii", 1, 0, _find_halfvec(), count, 1)
    element = struct.pack(">iHH", 4 + 2 * dimensions, dimensions, 0)
    elements = np.empty((count, len(element) + 2 * dimensions), np.uint8)
    elements[:, : len(element)] = np.frombuffer(element, np.uint8)
    elements[:, len(element) :] = vectors.astype(">f2").view(np.uint8)
    return _HalfvecArray(array + elements.tobytes())


def _find_halfvec() -> int:
    """The number that this database has given to the type."""
    connection = _ready().connection
    if connection not in _halfvecs:
        [(number,)] = fetch("SELECT 'halfvec'::regtype::oid::bigint", {}, prepared=False, by_key=True)
        connection = _ready().connection
        _halfvecs[connection] = number
        connection.adapters.register_dumper(_HalfvecArray, _HalfvecArrayDumper)
    return _halfvecs[connection]


@contextmanager
def limit_statements() -> Iterator[None]:
    """PostgreSQL ends each `fetch` within that runs longer than MEMOS_SEARCH_TIMEOUT_MS: for those of a search.

    Raises SearchTimedOut.
    """
    milliseconds = settings.MEMOS_SEARCH_TIMEOUT_MS
    _limit.milliseconds, _limit.sent_to = milliseconds, None
    try:
        yield
    except OperationalError as error:
        if not isinstance(error.__cause__, psycopg.errors.QueryCanceled):
            raise
        raise SearchTimedOut(
            f"The search took longer than {milliseconds} ms and was ended. Ask with fewer words, or try again when the "
            "server is less busy; MEMOS_SEARCH_TIMEOUT_MS sets the limit."
        ) from error
    finally:
        _limit.take_back()


class _Limit(threading.local):
    """How long a statement of a search may run; 0 outside of one. It is sent before the first that it is for, once a
    connection."""

    milliseconds = 0
    sent_to: psycopg.Connection | None = None

    def send(self, raw: psycopg.Connection | None) -> None:
        if self.milliseconds and self.sent_to is not raw:
            _set(f"SET statement_timeout = {self.milliseconds:d}")
            self.sent_to = raw

    def take_back(self) -> None:
        sent_to, self.milliseconds, self.sent_to = self.sent_to, 0, None
        raw = connections[DEFAULT_DB_ALIAS].connection
        # A lost connection has no settings; in a transaction that failed they are undone with it.
        if (
            sent_to is not None
            and sent_to is raw
            and sent_to.info.transaction_status in (TransactionStatus.IDLE, TransactionStatus.INTRANS)
        ):
            _set("RESET statement_timeout")


_limit = _Limit()


def _set(statement: str) -> None:
    database = _ready()
    with database.wrap_database_errors, psycopg.Cursor(database.connection) as cursor:
        cursor.execute(statement, prepare=False)


def _ready() -> DatabaseWrapper:
    """Django's connection of this thread, open."""
    # Not `connection`: that is a proxy, which looks it up again for each attribute.
    database = connections[DEFAULT_DB_ALIAS]
    assert isinstance(database, DatabaseWrapper)
    if not database.in_atomic_block and time.monotonic() - _seen_alive.at > _ALIVE_SECONDS:
        _renew_if_lost(database)
        _seen_alive.at = time.monotonic()
    database.ensure_connection()
    return database


# The statements of one request look for a lost connection once: that costs each of them as much as a small one.
_ALIVE_SECONDS = 0.05


class _SeenAlive(threading.local):
    at = -math.inf


_seen_alive = _SeenAlive()


def _renew_if_lost(database: DatabaseWrapper) -> None:
    """Closes a connection that the server has ended, so that the next use makes a new one.

    The server says nothing on an idle connection but that it is over: a look at the socket replaces the `SELECT 1` of
    Django's health check, which costs every request a round trip.
    """
    raw = database.connection
    if raw is None:
        return
    if raw.closed or _has_input(raw):
        database.close()
    else:
        database.health_check_done = True  # type: ignore[attr-defined]


def look_for_lost_connection(**_signal: Any) -> None:
    """At the start of a request, for statements that Django makes itself: pages of staff cost it a round trip less."""
    database = connections[DEFAULT_DB_ALIAS]
    if isinstance(database, DatabaseWrapper) and not database.in_atomic_block:
        _renew_if_lost(database)


def _has_input(raw: psycopg.Connection) -> bool:
    poll = select.poll()
    poll.register(raw.fileno(), select.POLLIN | select.POLLHUP | select.POLLERR)
    return bool(poll.poll(0))
