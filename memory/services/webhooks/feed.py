"""The events of a namespace in the order in which they can be told without a gap.

An event is visible when its transaction has ended, and transactions end in another order than they begin: who reads
by time or id misses what ends late. Here events are read in the order of their transactions' numbers, and only those
below the horizon: no transaction that still runs, or is yet to come, has a smaller one (`memory.services.audit.chain`).
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

import orjson

from memory.errors import Conflict, InvalidInput
from memory.models import ErasedMemory
from memory.models.queries import webhooks as queries
from memory.services.webhooks.events import BEFORE_ALL, NO_ID, AuditRow, Event, Place, event_of, sources
from memory.types import Scope

# What an event of an erasure names at most; the receipt counts them all.
ERASED_IDS = 1_000
# The cursor that stands for the present.
NOW = "now"

_CURSOR = re.compile(r"([0-9a-f]{1,15})-([0-9a-f]{32})")


@dataclass(frozen=True, slots=True)
class EventPage:
    """Events in order, and the place after which the next page begins: all before it has been looked at."""

    events: list[Event]
    place: Place
    has_more: bool


def read(scope: Scope, *, after: Place, types: Collection[str], limit: int) -> EventPage:
    """The next events of these types (none: of all)."""
    # First the horizon: what lies below it has ended by now, and is seen by the statement that comes after.
    until = horizon()
    found = queries.list_after(scope.namespace_id, after, below=until, sources=sources(types), limit=limit)
    rows = [_row(*row) for row in found]
    has_more = len(rows) == limit
    place = rows[-1].place if has_more else max(after, (until, NO_ID))
    told = [event for row in rows if (event := event_of(row)) is not None]
    return EventPage([_with_erased(scope, event) for event in told], place, has_more)


def find_event(scope: Scope, *, event_id: uuid.UUID) -> Event | None:
    """One event; None when there is nothing to tell of it."""
    row = queries.find_event(scope.namespace_id, event_id)
    event = event_of(_row(*row)) if row else None
    return _with_erased(scope, event) if event else None


def horizon() -> int:
    """Every event with a smaller number is there for good, and none with one can follow."""
    return queries.horizon()


def read_cursor(cursor: str) -> Place:
    """The place that a cursor stands for: "" is before the first event, `now` after the last one.

    Raises InvalidInput, and Conflict for a place that lies ahead of this database.
    """
    if not cursor:
        return BEFORE_ALL
    if cursor == NOW:
        return (horizon(), NO_ID)
    match = _CURSOR.fullmatch(cursor)
    if match is None:
        raise InvalidInput(
            "That is no cursor: send the `next_cursor` of the answer before, `now` for what comes from now on, or none "
            "for what happened from the beginning.",
            detail={"field": "cursor"},
        )
    place = (int(match[1], 16), uuid.UUID(hex=match[2]))
    if place[0] > horizon():
        raise Conflict(
            "This cursor lies ahead of the database, which was restored from an older backup. Read the memories anew, "
            "and go on from cursor=now.",
            detail={"field": "cursor"},
        )
    return place


def write_cursor(place: Place) -> str:
    """The place as clients get it; "" before the first event."""
    return f"{place[0]:x}-{place[1].hex}" if place[0] >= 0 else ""


def to_dict(event: Event, namespace: str) -> dict[str, Any]:
    """An event as clients and receivers see it."""
    return {
        "id": str(event.id),
        "type": event.type,
        "timestamp": event.at.isoformat(),
        "namespace": namespace,
        "actor": event.actor,
        "request_id": event.request_id or None,
        "data": event.data,
    }


def _row(*columns: Any) -> AuditRow:
    """Of the columns as they are selected; the details come as JSON."""
    row = AuditRow(*columns)
    return replace(row, details=orjson.loads(str(row.details)))


def _with_erased(scope: Scope, event: Event) -> Event:
    """An erasure's event with the ids of what is gone, so that copies of it can go as well."""
    if "erasure_id" not in event.data:
        return event
    rows = ErasedMemory.objects.in_scope(scope).filter(erasure_id=uuid.UUID(event.data["erasure_id"]))
    ids = rows.order_by("memory_id").values_list("memory_id", flat=True)[: ERASED_IDS + 1]
    named = [str(identity) for identity in ids]
    event.data.update({"memory_ids": named[:ERASED_IDS], "has_more_ids": len(named) > ERASED_IDS})
    return event
