"""Django's backend for PostgreSQL, which sends whose rows a statement may touch (`reach`) before it, if that changed.

What was sent stays with the connection, so a thread that goes on with the same namespace sends nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg
from django.db import DEFAULT_DB_ALIAS, connections
from django.db.backends.postgresql import base
from psycopg.pq import TransactionStatus

from memory.postgresql import reach, row_security

# Not SET LOCAL: outside of a transaction, where searches are, that lasts for one statement.
_SEND = "SELECT set_config('role', %s, false), set_config('memos.namespaces', %s, false)"


def open_connection() -> DatabaseWrapper:
    """Django's connection of this thread, open."""
    # Not `connection`: that is a proxy, which looks it up again for each attribute.
    database = connections[DEFAULT_DB_ALIAS]
    assert isinstance(database, DatabaseWrapper)
    database.ensure_connection()
    return database


class DatabaseWrapper(base.DatabaseWrapper):
    """One thread's connection. Where row-level security does not hold, it works as the login and sends nothing."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        # None: unknown, for a rollback may have taken back what was sent.
        self._sent: reach.Reach | None = reach.LOGIN
        self._is_held: bool | None = None
        self.execute_wrappers.append(self._send_first)

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        """A connection that has been told nothing."""
        self._sent, self._is_held = reach.LOGIN, None
        return super().get_new_connection(conn_params)

    def send_reach(self) -> None:
        """Tells the server whose rows the next statement may touch. The connection is open."""
        wanted = reach.current()
        if wanted == self._sent:
            return
        # Nothing is carried out then but a rollback, after which all is sent anew.
        if self.connection.info.transaction_status == TransactionStatus.INERROR:
            return
        self.validate_no_broken_transaction()
        is_held = self.is_held()
        with self.wrap_database_errors, psycopg.Cursor(self.connection) as cursor:
            if is_held:
                cursor.execute(_SEND, [wanted.role, wanted.namespaces], prepare=True)
        self._sent = wanted

    def is_held(self) -> bool:
        """Whether the policies hold what this login does here; looked up once a connection."""
        if self._is_held is None:
            self.ensure_connection()
            with self.wrap_database_errors, psycopg.Cursor(self.connection) as cursor:
                self._is_held = row_security.is_enforced(cursor)
        return self._is_held

    def row_security_state(self) -> row_security.Protection:
        """Whether the policies hold what requests and jobs do."""
        self.ensure_connection()
        return row_security.state(self.connection)

    def set_up_row_security(self) -> row_security.Protection:
        """See `row_security.set_up`. From then on the connection sends whose rows it may touch."""
        self.ensure_connection()
        state = row_security.set_up(self.connection)
        self._sent, self._is_held = None, None
        return state

    def _send_first(self, execute: Callable[..., Any], *arguments: Any) -> Any:
        self.send_reach()
        return execute(*arguments)

    def rollback(self) -> None:
        super().rollback()
        self._sent = None

    def savepoint_rollback(self, sid: str) -> None:
        super().savepoint_rollback(sid)
        self._sent = None
