"""Parts of files, megabytes each, on their way into the database."""

from __future__ import annotations

from typing import Any

import psycopg
from django.db import models
from psycopg import sql

from memory.postgresql.base import open_connection


def add_part(model: type[models.Model], **values: Any) -> None:
    """Adds a row of the model, `values` by its columns; bytes are sent beside the statement, as they are.

    Django writes values into the text of a statement, bytes as twice as many digits; and psycopg remembers the last
    hundred texts of a connection, to prepare those that come again: of parts of files, 200 MB.
    """
    database = open_connection()
    database.send_reach()
    holders = [sql.SQL("%b") if isinstance(value, bytes) else sql.SQL("%s") for value in values.values()]
    statement = sql.SQL("INSERT INTO {} ({}) VALUES ({})").format(
        sql.Identifier(model._meta.db_table),
        sql.SQL(", ").join(sql.Identifier(name) for name in values),
        sql.SQL(", ").join(holders),
    )
    with database.wrap_database_errors, psycopg.Cursor(database.connection) as cursor:
        cursor.execute(statement, list(values.values()))
