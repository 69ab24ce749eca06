"""A read replica: a hot standby that PostgreSQL itself keeps, some moments behind the primary.

While a thread reads from it, the replica's connection stands where Django looks for the primary's, so that every
statement goes there, whoever makes it: the ORM, SQL of ours, and what tells the server whose rows may be touched. A
position is one in PostgreSQL's log, in bytes from its beginning (an LSN as a number).
"""

from __future__ import annotations

import select
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import psycopg
from django.db import DEFAULT_DB_ALIAS, DatabaseError, InterfaceError, OperationalError, connections
from psycopg.pq import ExecStatus

from memory.postgresql.base import DatabaseWrapper

ALIAS = "replica"
# In an answer to a client the replica is waited for no longer than this.
ANSWER_SECONDS = 1.0
# After a failure it is left alone so long: an outage costs one request its wait, not each.
PAUSE_SECONDS = 5.0
# Whose data are older than this is not read from, whatever is asked.
MOST_LAG_SECONDS = 60.0
_NOTE_EVERY_SECONDS = 5.0

_POSITION = "SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint"
_REPLAYED = b"SELECT pg_is_in_recovery(), pg_wal_lsn_diff(pg_last_wal_replay_lsn(), '0/0')::bigint"
# A physical copy has the identity of what it is copied from.
_IDENTITY = "SELECT (SELECT system_identifier FROM pg_control_system())::text || '/' || current_database()"
_SECONDS = "SELECT extract(epoch FROM clock_timestamp() - pg_last_xact_replay_timestamp())::float8"


class ReplicaAway(Exception):
    """The replica cannot be read from; the message says why."""


class ReplicaBehind(Exception):
    """The replica has not replayed yet what is asked for."""


@dataclass(frozen=True, slots=True)
class Lag:
    """How far the replica is behind: what it has not replayed, and how old the last transaction is that it has."""

    bytes: int
    seconds: float


def is_configured() -> bool:
    """Whether there is a replica at all (DATABASE_REPLICA_URL)."""
    return ALIAS in connections.settings


def is_reading() -> bool:
    """Whether this thread reads from the replica now."""
    return _thread.primary is not None


def may_read() -> bool:
    """Whether this thread's next statements may go to the replica: not in a transaction, which has a server already."""
    return is_configured() and not is_reading() and not connections[DEFAULT_DB_ALIAS].in_atomic_block


def read_position() -> int:
    """Where the primary's log ends: all that is committed is before. Errors are Django's."""
    with _primary().cursor() as cursor:
        cursor.execute(_POSITION)
        return int(cursor.fetchone()[0])


def check(position: int) -> None:
    """Raises ReplicaBehind unless the replica has replayed the log up to `position`, and all but the last
    MOST_LAG_SECONDS of it; ReplicaAway when it cannot be read from, or could not a moment ago."""
    replayed = _ask()
    if replayed < max(position, _marks.least()):
        raise ReplicaBehind


@contextmanager
def reading() -> Iterator[None]:
    """Inside, this thread's statements go to the replica. After `check`, outside of transactions."""
    _thread.primary = _primary()
    connections[DEFAULT_DB_ALIAS] = _connection()
    try:
        yield
    finally:
        connections[DEFAULT_DB_ALIAS], _thread.primary = _thread.primary, None


@contextmanager
def on_primary() -> Iterator[None]:
    """Inside, this thread's statements go to the primary, also within `reading`."""
    primary, before = _thread.primary, connections[DEFAULT_DB_ALIAS]
    if primary is not None:
        connections[DEFAULT_DB_ALIAS], _thread.primary = primary, None
    try:
        yield
    finally:
        connections[DEFAULT_DB_ALIAS], _thread.primary = before, primary


def is_of_replica(error: BaseException) -> bool:
    """Whether a statement failed for being on the replica: a lost connection, a replay that needed the rows it read, or
    a write, which a replica refuses. On the primary it may succeed."""
    cause = error.__cause__
    if isinstance(cause, psycopg.errors.QueryCanceled):
        return False
    return isinstance(error, OperationalError | InterfaceError) or isinstance(
        cause, psycopg.errors.ReadOnlySqlTransaction
    )


def is_lost() -> bool:
    """Whether this thread's connection to the replica has ended."""
    raw = connections[ALIAS].connection
    return raw is None or bool(raw.closed)


def leave_alone() -> None:
    """The replica is not asked for PAUSE_SECONDS; the connection that failed is closed."""
    _pause.until = time.monotonic() + PAUSE_SECONDS
    connections[ALIAS].close()


def measure_lag() -> Lag:
    """How far the replica is behind. Raises ReplicaAway."""
    replayed = _ask(patiently=True)
    behind = max(0, read_position() - replayed)
    try:
        with connections[ALIAS].cursor() as cursor:
            cursor.execute(_SECONDS)
            seconds = cursor.fetchone()[0]
    except (DatabaseError, InterfaceError) as error:
        leave_alone()
        raise ReplicaAway(_first_line(error)) from error
    # A primary that writes nothing leaves nothing to be behind of, however long ago its last transaction is.
    return Lag(behind, max(0.0, float(seconds or 0.0)) if behind else 0.0)


class _Thread(threading.local):
    # While it reads from the replica: the connection that stood in its place.
    primary: DatabaseWrapper | None = None


class _Pause:
    until = 0.0


class _Marks:
    """Where the primary's log ended at moments of the last MOST_LAG_SECONDS, the oldest first."""

    def __init__(self) -> None:
        self._marks: deque[tuple[float, int]] = deque()
        self._lock = threading.Lock()

    def least(self) -> int:
        """The position that a replica has replayed whose data are at most MOST_LAG_SECONDS old."""
        now = time.monotonic()
        with self._lock:
            while self._marks and self._marks[0][0] < now - MOST_LAG_SECONDS:
                self._marks.popleft()
            is_due = not self._marks or self._marks[-1][0] < now - _NOTE_EVERY_SECONDS
        if is_due:
            # The moment before the look: what was committed by then is before the position.
            position = read_position()
            with self._lock:
                self._marks.append((now, position))
        with self._lock:
            return self._marks[0][1]


_thread = _Thread()
_pause = _Pause()
_marks = _Marks()
_identity: list[str] = []


def _primary() -> DatabaseWrapper:
    database = _thread.primary or connections[DEFAULT_DB_ALIAS]
    assert isinstance(database, DatabaseWrapper)
    return database


def _connection() -> DatabaseWrapper:
    database = connections[ALIAS]
    assert isinstance(database, DatabaseWrapper)
    # It answers to the name it is looked for by: Django compares them where a query is a part of another.
    database.alias = DEFAULT_DB_ALIAS
    return database


def _ask(*, patiently: bool = False) -> int:
    """The position up to which the replica has replayed, after a look that it is one. Raises ReplicaAway."""
    if time.monotonic() < _pause.until and not patiently:
        raise ReplicaAway("it did not answer a moment ago")
    database = _connection()
    try:
        if database.connection is None or database.connection.closed:
            database.close()
            database.ensure_connection()
            _compare(database)
        is_standby, replayed = _ask_within(database.connection, ANSWER_SECONDS)
    except (psycopg.Error, DatabaseError, InterfaceError, TimeoutError, OSError) as error:
        leave_alone()
        raise ReplicaAway(_first_line(error)) from error
    except ReplicaAway:
        leave_alone()
        raise
    if not is_standby:
        leave_alone()
        raise ReplicaAway("it is not a standby any more: it was promoted")
    return replayed


def _compare(replica: DatabaseWrapper) -> None:
    """Raises ReplicaAway unless it is a copy of the primary on which the login is held as it is there."""
    primary = _primary()
    if not _identity:
        _identity.append(_read_identity(primary))
    if _read_identity(replica) != _identity[0]:
        raise ReplicaAway("it is not a copy of the database that DATABASE_URL names")
    if replica.is_held() != primary.is_held():
        raise ReplicaAway("row-level security does not hold its login as it holds that of DATABASE_URL")


def _read_identity(database: DatabaseWrapper) -> str:
    with database.cursor() as cursor:
        cursor.execute(_IDENTITY)
        return str(cursor.fetchone()[0])


def _ask_within(raw: psycopg.Connection, seconds: float) -> tuple[bool, int]:
    """Whether it is a standby, and what it has replayed. Raises TimeoutError when it does not say so in time.

    libpq waits for an answer without end; a server that hangs must not have requests hang with it.
    """
    server = raw.pgconn
    deadline = time.monotonic() + seconds
    server.send_query(_REPLAYED)
    _wait(server.socket, select.POLLOUT, server.flush, deadline)
    _wait(server.socket, select.POLLIN, lambda: _is_busy(raw), deadline)
    result = server.get_result()
    if result is None or result.status != ExecStatus.TUPLES_OK:
        raise psycopg.OperationalError(result.error_message.decode() if result else "no answer")
    values = [result.get_value(0, column) for column in (0, 1)]
    _wait(server.socket, select.POLLIN, lambda: _is_busy(raw), deadline)
    while server.get_result() is not None:
        pass
    return values[0] == b"t", int(values[1] or 0)


def _is_busy(raw: psycopg.Connection) -> bool:
    raw.pgconn.consume_input()
    return bool(raw.pgconn.is_busy())


def _wait(socket: int, event: int, is_waiting: Callable[[], object], deadline: float) -> None:
    poll = select.poll()
    poll.register(socket, event | select.POLLIN)
    while is_waiting():
        left = deadline - time.monotonic()
        if left <= 0 or not poll.poll(left * 1000):
            raise TimeoutError("it does not answer")


def _first_line(error: BaseException) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__)
