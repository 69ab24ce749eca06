"""Runs the statements of the hot routes on Django's own connection, with parameters bound by the server."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import psycopg
from django.core.exceptions import EmptyResultSet
from django.db import DEFAULT_DB_ALIAS, connections
from django.db.models import QuerySet

from memory import tracing
from memory.postgresql.base import open_connection
from memory.postgresql.time_limit import send_limit


def fetch(
    statement: str,
    parameters: Mapping[str, Any],
    *,
    prepared: bool,
    binary: bool = False,
    of_tenants: bool = True,
    by_key: bool = False,
) -> list[tuple]:
    """Runs the statement, within the current transaction if there is one, and returns its rows.

    - `prepared`: keep the parsed statement on the connection. It must be False if the best plan depends on the size of
      the tenant, because PostgreSQL goes on using the plan that suited the first executions.
    - `binary`: have values sent in binary form, which is faster for times and long `bytea`.
    - `of_tenants`: False for statements that look up the caller or a namespace's name; these run before row-level
      security is told the namespaces that may be reached.
    - `by_key`: the statement reads a few rows by key, and is not subject to `limit_statements`, which would cost a
      round trip.

    Raises Django's database errors.
    """
    database = open_connection()
    if of_tenants:
        database.send_reach()
    if not by_key:
        send_limit(database)
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
    """Reads PostgreSQL's time in seconds since the epoch, which is the same for all processes."""
    [(moment,)] = fetch("SELECT extract(epoch FROM clock_timestamp())::float8", {}, prepared=True, by_key=True)
    return float(moment)


def count_each(*rows: QuerySet[Any], most: int) -> list[int]:
    """Counts the rows of each queryset up to `most`, in one statement."""
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
    """Converts named parameters of a statement to positional ones, as Django's expressions take them."""
    names: list[str] = []

    def place(match: re.Match[str]) -> str:
        names.append(match.group(1))
        return "%s"

    written = re.sub(r"%\((\w+)\)s", place, statement)
    return written, [parameters[name] for name in names]
