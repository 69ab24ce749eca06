"""Reads the events of a namespace in an order without gaps.

An event becomes visible when its transaction ends, and transactions end in another order than they begin: reading by
time or id would miss events of late transactions. Here events are read in the order of their transactions' numbers, and
only below the horizon: no running or future transaction has a smaller one (`memory.services.audit.chain`).
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

# The most ids that an event of an erasure names; the receipt counts all of them.
ERASED_IDS = 1_000
# The cursor that stands for the present.
NOW = "now"

_CURSOR = re.compile(r"([0-9a-f]{1,15})-([0-9a-f]{32})")


@dataclass(frozen=True, slots=True)
class EventPage:
    """Events in order, and the position after which the next page begins; everything before it was read."""

    events: list[Event]
    place: Place
    has_more: bool


def read(scope: Scope, *, after: Place, types: Collection[str], limit: int) -> EventPage:
    """Return the next events of these types (none: of all)."""
    # Read the horizon first: everything below it has ended by now, and so is visible to the next statement.
    until = horizon()
    found = queries.list_after(scope.namespace_id, after, below=until, sources=sources(types), limit=limit)
    rows = [_row(*row) for row in found]
    has_more = len(rows) == limit
    place = rows[-1].place if has_more else max(after, (until, NO_ID))
    told = [event for row in rows if (event := event_of(row)) is not None]
    return EventPage([_with_erased(scope, event) for event in told], place, has_more)


def find_event(scope: Scope, *, event_id: uuid.UUID) -> Event | None:
    """Return one event; None when it has no content for clients."""
    row = queries.find_event(scope.namespace_id, event_id)
    event = event_of(_row(*row)) if row else None
    return _with_erased(scope, event) if event else None


def horizon() -> int:
    """Return the number below which every event is visible, and none can follow."""
    return queries.horizon()


def read_cursor(cursor: str) -> Place:
    """Return the position of a cursor: "" is before the first event, `now` after the last one.

    Raises InvalidInput, and Conflict for a position ahead of this database.
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
    """Return the cursor of a position; "" before the first event."""
    return f"{place[0]:x}-{place[1].hex}" if place[0] >= 0 else ""


def to_dict(event: Event, namespace: str) -> dict[str, Any]:
    """Return an event as clients and receivers see it."""
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
    """Return the row of the selected columns, with the details parsed from JSON."""
    row = AuditRow(*columns)
    return replace(row, details=orjson.loads(str(row.details)))


def _with_erased(scope: Scope, event: Event) -> Event:
    """Add to an erasure's event the ids of the erased memories, so that clients can delete their copies."""
    if "erasure_id" not in event.data:
        return event
    rows = ErasedMemory.objects.in_scope(scope).filter(erasure_id=uuid.UUID(event.data["erasure_id"]))
    ids = rows.order_by("memory_id").values_list("memory_id", flat=True)[: ERASED_IDS + 1]
    named = [str(identity) for identity in ids]
    event.data.update({"memory_ids": named[:ERASED_IDS], "has_more_ids": len(named) > ERASED_IDS})
    return event
