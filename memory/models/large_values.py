"""Stores parts of files, which have megabytes each, without copies of them in statements."""

from __future__ import annotations

from typing import Any

import psycopg
from django.db import models
from psycopg import sql

from memory.postgresql.base import open_connection


def add_part(model: type[models.Model], **values: Any) -> None:
    """Inserts a row of the model, with `values` by column; bytes are sent as binary parameters.

    Django would write the values into the text of the statement, bytes as twice as many hexadecimal digits, and psycopg
    keeps the last hundred texts of a connection to prepare repeated ones, which took 200 MB for parts of files.
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
