"""Django's backend for PostgreSQL, which sends the context of row-level security (`reach`) before a statement.

The context is set for the session of the connection, which a pool gives to one request after another. Therefore it is
recorded for the connection and not for the thread, and sent only if it has changed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import psycopg
from django.db import DEFAULT_DB_ALIAS, connections
from django.db.backends.postgresql import base
from psycopg.pq import TransactionStatus

from memory.postgresql import reach, row_security

# SET LOCAL would not do, because outside of a transaction, where searches run, it lasts for one statement.
_SEND = "SELECT set_config('role', %s, false), set_config('memos.namespaces', %s, false)"


def open_connection() -> DatabaseWrapper:
    """Returns Django's open connection of this thread, after its health check once a request or job, as in Django."""
    # `connection` is a proxy, which would look the connection up again for each attribute.
    database = connections[DEFAULT_DB_ALIAS]
    assert isinstance(database, DatabaseWrapper)
    database.close_if_health_check_failed()
    database.ensure_connection()
    return database


@dataclass(slots=True)
class _Session:
    """Holds the state of a connection.

    `sent`: the context that was sent; None if unknown, because a rollback may have undone it. `is_held`: whether the
    policies restrict the login; None until it was looked up.
    """

    sent: reach.Reach | None = reach.LOGIN
    is_held: bool | None = None


_sessions: WeakKeyDictionary[psycopg.Connection, _Session] = WeakKeyDictionary()


class DatabaseWrapper(base.DatabaseWrapper):
    """Represents a thread's connection. Without row-level security, it works as the login and sends no context."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._session = _Session()
        self.execute_wrappers.append(self._send_first)

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        """Returns a connection, new or from the pool, and finds the context that was sent on it."""
        raw = super().get_new_connection(conn_params)
        self._session = _sessions.setdefault(raw, _Session())
        return raw

    def _close(self) -> None:
        # The pool rolls back an open transaction.
        if self.connection is not None and self.connection.info.transaction_status != TransactionStatus.IDLE:
            self._session.sent = None
        super()._close()  # type: ignore[misc] # the stubs lack it

    def send_reach(self) -> None:
        """Sends the context for the next statement, if it has changed. The connection must be open."""
        wanted = reach.current()
        if wanted == self._session.sent:
            return
        # Only a rollback is possible in a failed transaction, and the context is sent again after that.
        if self.connection.info.transaction_status == TransactionStatus.INERROR:
            return
        self.validate_no_broken_transaction()
        is_held = self.is_held()
        with self.wrap_database_errors, psycopg.Cursor(self.connection) as cursor:
            if is_held:
                cursor.execute(_SEND, [wanted.role, wanted.namespaces], prepare=True)
        self._session.sent = wanted

    def is_held(self) -> bool:
        """Tells whether the policies restrict this login; looked up once a connection."""
        if self._session.is_held is None:
            self.ensure_connection()
            with self.wrap_database_errors, psycopg.Cursor(self.connection) as cursor:
                self._session.is_held = row_security.is_enforced(cursor)
        return self._session.is_held

    def row_security_state(self) -> row_security.Protection:
        """Returns what row-level security lacks to restrict requests and jobs, if anything."""
        self.ensure_connection()
        return row_security.state(self.connection)

    def set_up_row_security(self) -> row_security.Protection:
        """Runs `row_security.set_up`, after which the connection sends the context."""
        self.ensure_connection()
        state = row_security.set_up(self.connection)
        self._session.sent, self._session.is_held = None, None
        return state

    def _send_first(self, execute: Callable[..., Any], *arguments: Any) -> Any:
        self.send_reach()
        return execute(*arguments)

    def rollback(self) -> None:
        super().rollback()
        self._session.sent = None

    def savepoint_rollback(self, sid: str) -> None:
        super().savepoint_rollback(sid)
        self._session.sent = None
