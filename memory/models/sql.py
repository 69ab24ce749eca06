"""Runs the statements of the hot routes on Django's own connection, with parameters bound by the server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import psycopg
from django.db import connection


def fetch(statement: str, parameters: Mapping[str, Any], *, prepared: bool) -> list[tuple]:
    """The rows that `statement` returns; part of the current transaction, if there is one.

    `prepared` keeps the parsed statement on the connection. Not for statements whose best plan depends on how large the
    tenant is: PostgreSQL would go on using the plan that suited the first ones. Errors are Django's database errors.
    """
    connection.ensure_connection()
    with connection.wrap_database_errors, psycopg.Cursor(connection.connection) as cursor:
        cursor.execute(statement, parameters, prepare=prepared)
        return cursor.fetchall()
