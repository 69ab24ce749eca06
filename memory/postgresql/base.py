"""Django's backend for PostgreSQL, which sends whose rows a statement may touch (`reach`) before it, if that changed.

What was sent lasts as long as the connection, which a pool gives to one request after another. So it is noted for the
connection, not for the thread: a request that goes on with the namespace of the one before sends nothing.
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

# Not SET LOCAL: outside of a transaction, where searches are, that lasts for one statement.
_SEND = "SELECT set_config('role', %s, false), set_config('memos.namespaces', %s, false)"


def open_connection() -> DatabaseWrapper:
    """Returns Django's connection of this thread, open; looked at once a request or job, as Django does."""
    # Not `connection`: that is a proxy, which looks it up again for each attribute.
    database = connections[DEFAULT_DB_ALIAS]
    assert isinstance(database, DatabaseWrapper)
    database.close_if_health_check_failed()
    database.ensure_connection()
    return database


@dataclass(slots=True)
class _Session:
    """What the server was told on a connection. `sent` is None when unknown: a rollback may have taken it back.

    `is_held` says whether the policies hold what the login does; None before it was looked up.
    """

    sent: reach.Reach | None = reach.LOGIN
    is_held: bool | None = None


_sessions: WeakKeyDictionary[psycopg.Connection, _Session] = WeakKeyDictionary()


class DatabaseWrapper(base.DatabaseWrapper):
    """One thread's connection. Where row-level security does not hold, it works as the login and sends nothing."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._session = _Session()
        self.execute_wrappers.append(self._send_first)

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        """Return a connection, new or from the pool, and go on with what it was told."""
        raw = super().get_new_connection(conn_params)
        self._session = _sessions.setdefault(raw, _Session())
        return raw

    def _close(self) -> None:
        # The pool rolls back what was not committed.
        if self.connection is not None and self.connection.info.transaction_status != TransactionStatus.IDLE:
            self._session.sent = None
        super()._close()  # type: ignore[misc] # the stubs lack it

    def send_reach(self) -> None:
        """Tells the server whose rows the next statement may touch. The connection is open."""
        wanted = reach.current()
        if wanted == self._session.sent:
            return
        # Nothing is carried out then but a rollback, after which all is sent anew.
        if self.connection.info.transaction_status == TransactionStatus.INERROR:
            return
        self.validate_no_broken_transaction()
        is_held = self.is_held()
        with self.wrap_database_errors, psycopg.Cursor(self.connection) as cursor:
            if is_held:
                cursor.execute(_SEND, [wanted.role, wanted.namespaces], prepare=True)
        self._session.sent = wanted

    def is_held(self) -> bool:
        """Whether the policies hold what this login does here; looked up once a connection."""
        if self._session.is_held is None:
            self.ensure_connection()
            with self.wrap_database_errors, psycopg.Cursor(self.connection) as cursor:
                self._session.is_held = row_security.is_enforced(cursor)
        return self._session.is_held

    def row_security_state(self) -> row_security.Protection:
        """Whether the policies hold what requests and jobs do."""
        self.ensure_connection()
        return row_security.state(self.connection)

    def set_up_row_security(self) -> row_security.Protection:
        """See `row_security.set_up`. From then on the connection sends whose rows it may touch."""
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
