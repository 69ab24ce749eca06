"""Runs the statements of the hot routes on Django's own connection, with parameters bound by the server."""

from __future__ import annotations

import select
from collections.abc import Mapping
from typing import Any

import psycopg
from django.db import connection


def fetch(statement: str, parameters: Mapping[str, Any], *, prepared: bool) -> list[tuple]:
    """The rows that `statement` returns; part of the current transaction, if there is one.

    `prepared` keeps the parsed statement on the connection. Not for statements whose best plan depends on how large the
    tenant is: PostgreSQL would go on using the plan that suited the first ones. Errors are Django's database errors.
    """
    if not connection.in_atomic_block:
        _renew_if_lost()
    connection.ensure_connection()
    with connection.wrap_database_errors, psycopg.Cursor(connection.connection) as cursor:
        cursor.execute(statement, parameters, prepare=prepared)
        return cursor.fetchall()


def _renew_if_lost() -> None:
    """Closes a connection that the server has ended, so that the next use makes a new one.

    The server says nothing on an idle connection but that it is over: a look at the socket replaces the `SELECT 1` of
    Django's health check, which costs every request a round trip.
    """
    raw = connection.connection
    if raw is None:
        return
    if raw.closed or _has_input(raw):
        connection.close()
    else:
        connection.health_check_done = True  # type: ignore[attr-defined]


def _has_input(raw: psycopg.Connection) -> bool:
    poll = select.poll()
    poll.register(raw.fileno(), select.POLLIN | select.POLLHUP | select.POLLERR)
    return bool(poll.poll(0))
