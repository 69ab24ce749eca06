"""SQL of the audit log: events in the order of their transactions, the numbering of these, and events over time."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db import connection
from django.db.models import QuerySet

from memory.models.audit import AuditLog
from memory.models.sql import read_rows

# The digest of a row in a canonical form: the text of a jsonb array does not depend on the session's time zone and date
# style.
_DIGEST = """sha256(convert_to(jsonb_build_array(
    id, xact, namespace_id, namespace, session, event_type, actor, subject, details, request_id,
    created_at AT TIME ZONE 'UTC')::text, 'UTF8'))"""
Place = tuple[int, uuid.UUID]


def list_between(after: Place, last: Place, *, limit: int) -> list[tuple[uuid.UUID, int, bytes]]:
    """Lists the events after `after` up to and including `last`, in order: (id, transaction, digest)."""
    return _list_events("(xact, id) > (%s, %s) AND (xact, id) <= (%s, %s)", [*after, *last], limit)


def list_settled(after: Place, *, below: int, limit: int) -> list[tuple[uuid.UUID, int, bytes]]:
    """Lists the events after `after` whose transactions have numbers below `below`, in order."""
    return _list_events("(xact, id) > (%s, %s) AND xact < %s", [*after, below], limit)


def list_by_id(ids: Sequence[uuid.UUID]) -> list[tuple[uuid.UUID, int, bytes]]:
    """Lists the events with these ids, in order."""
    return _list_events("id = ANY(%s)", [list(ids)], None)


def _list_events(condition: str, parameters: list[Any], limit: int | None) -> list[tuple[uuid.UUID, int, bytes]]:
    statement = f"SELECT id, xact, {_DIGEST} FROM memory_auditlog WHERE {condition} ORDER BY xact, id LIMIT %s"
    return [(identity, xact, bytes(digest)) for identity, xact, digest in read_rows(statement, [*parameters, limit])]


def count_between(after: Place, last: Place) -> int:
    """Counts the events after `after` up to and including `last`."""
    statement = "SELECT count(*) FROM memory_auditlog WHERE (xact, id) > (%s, %s) AND (xact, id) <= (%s, %s)"
    return _read_number(statement, *after, *last)


def count_after(place: Place) -> tuple[int, datetime | None]:
    """Returns the number of events after a place, and when the first of them happened (None without any)."""
    statement = "SELECT count(*), min(created_at) FROM memory_auditlog WHERE (xact, id) > (%s, %s)"
    [(count, since)] = read_rows(statement, list(place))
    return count, since


def find_highest() -> int:
    """Returns the highest number of a transaction that has an event; 0 without events."""
    return _read_number("SELECT coalesce(max(xact), 0) FROM memory_auditlog")


def read_cluster() -> str:
    """Reads the system identifier of the PostgreSQL cluster."""
    [(cluster,)] = read_rows("SELECT system_identifier::text FROM pg_control_system()", [])
    return str(cluster)


def read_horizon() -> int:
    """Reads the cluster's transaction number below which all transactions have ended."""
    return _read_number("SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint")


def read_next() -> int:
    """Reads the next transaction number that the cluster has not assigned yet."""
    return _read_number("SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint")


def _read_number(statement: str, *parameters: int | uuid.UUID) -> int:
    [(number,)] = read_rows(statement, parameters)
    return int(number)


def lock_log() -> None:
    """Locks the log exclusively; waits for at most 5 seconds."""
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL lock_timeout = '5s'")
        cursor.execute("LOCK TABLE memory_auditlog IN ACCESS EXCLUSIVE MODE")


def number_from(offset: int) -> None:
    """Sets the offset that is added to the cluster's transaction numbers from now on."""
    default = f"(pg_current_xact_id()::text::bigint + {offset:d})"
    with connection.cursor() as cursor:
        cursor.execute(f"ALTER TABLE memory_auditlog ALTER COLUMN xact SET DEFAULT {default}")


def count_by_step(newest: QuerySet[AuditLog], *, since: datetime, step: timedelta) -> dict[datetime, int]:
    """Counts events by intervals of length `step` from `since` on; the keys are the beginnings of the intervals."""
    events, parameters = newest.values("created_at").query.sql_with_params()
    statement = f"SELECT date_bin(%s, created_at, %s), count(*) FROM ({events}) AS newest GROUP BY 1"
    return dict(read_rows(statement, [step, since, *parameters]))


def rank_actors(newest: QuerySet[AuditLog], *, limit: int) -> list[str]:
    """Lists the actors of the events, those with the most events first."""
    events, parameters = newest.values("actor").query.sql_with_params()
    statement = f"SELECT actor FROM ({events}) AS newest GROUP BY 1 ORDER BY count(*) DESC, 1 LIMIT %s"
    return [actor for (actor,) in read_rows(statement, [*parameters, limit])]
