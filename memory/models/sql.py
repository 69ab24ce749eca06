"""Runs the statements of the hot routes on Django's own connection, with parameters bound by the server."""

from __future__ import annotations

import select
from collections.abc import Mapping
from typing import Any

import psycopg
from django.conf import settings
from django.db import connection

from memory.errors import SearchTimedOut


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


def search(statement: str, parameters: Mapping[str, Any], *, prepared: bool, binary: bool = False) -> list[tuple]:
    """As `fetch`, for the statements of a search: PostgreSQL ends one that runs longer than MEMOS_SEARCH_TIMEOUT_MS.

    `binary` has values sent as they are stored: for long `bytea`. Raises SearchTimedOut.
    """
    if not connection.in_atomic_block:
        _renew_if_lost()
    connection.ensure_connection()
    raw = connection.connection
    # Sent together, so that the limit costs no round trip. When the statement fails, its setting is undone with it.
    with connection.wrap_database_errors, psycopg.Cursor(raw) as limit, psycopg.Cursor(raw) as cursor:
        try:
            with raw.pipeline():
                # Never prepared: when the search fails, psycopg would go on using a name that the server did not keep.
                limit.execute(f"SET statement_timeout = {settings.MEMOS_SEARCH_TIMEOUT_MS:d}", prepare=False)
                cursor.execute(statement, parameters, prepare=prepared, binary=binary)
                limit.execute("RESET statement_timeout", prepare=False)
                return cursor.fetchall()
        except psycopg.errors.QueryCanceled as error:
            raise SearchTimedOut(
                f"The search took longer than {settings.MEMOS_SEARCH_TIMEOUT_MS} ms and was ended. Ask with fewer "
                "words, or try again when the server is less busy; MEMOS_SEARCH_TIMEOUT_MS sets the limit."
            ) from error


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
