"""Limits the time of the statements of a search."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, OperationalError, connections
from psycopg.pq import TransactionStatus

from memory.errors import SearchTimedOut
from memory.postgresql.base import DatabaseWrapper, open_connection


@contextmanager
def limit_statements() -> Iterator[None]:
    """Limits each `fetch` inside to `settings.MEMOS_SEARCH_TIMEOUT_MS`.

    Raises SearchTimedOut if PostgreSQL cancels one.
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
            "server is less busy."
        ) from error
    finally:
        _limit.take_back()


class _Limit(threading.local):
    """Holds the limit of this thread's search in milliseconds, 0 outside of one, and the connection it was sent on.

    It is sent before the first statement of a search, once a connection.
    """

    milliseconds = 0
    sent_to: psycopg.Connection | None = None

    def send(self, raw: psycopg.Connection | None) -> None:
        if self.milliseconds and self.sent_to is not raw:
            _set(f"SET statement_timeout = {self.milliseconds:d}")
            self.sent_to = raw

    def take_back(self) -> None:
        sent_to, self.milliseconds, self.sent_to = self.sent_to, 0, None
        raw = connections[DEFAULT_DB_ALIAS].connection
        # A lost connection has no settings, and a failed transaction undoes them when it is rolled back.
        if (
            sent_to is not None
            and sent_to is raw
            and sent_to.info.transaction_status in (TransactionStatus.IDLE, TransactionStatus.INTRANS)
        ):
            _set("RESET statement_timeout")


_limit = _Limit()


def send_limit(database: DatabaseWrapper) -> None:
    """Sends the limit before the first statement of a search on this connection."""
    _limit.send(database.connection)


def _set(statement: str) -> None:
    database = open_connection()
    with database.wrap_database_errors, psycopg.Cursor(database.connection) as cursor:
        cursor.execute(statement, prepare=False)
