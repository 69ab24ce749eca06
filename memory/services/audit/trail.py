"""Reads the audit log for people: filtered, by page, counted over time, and exported as a file."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count, Max, Min

from memory import audit
from memory.enums import AuditEvent
from memory.models import AuditLog, Namespace
from memory.models.keys import first_id_of
from memory.models.paging import page_of
from memory.models.queries import audit as queries
from memory.models.scoped import ScopedQuerySet
from memory.types import Access, Scope, list_forms

# The most events, the newest ones, that are counted for the chart over time, which says when there are more.
COUNTED_AT_MOST = 20_000
MAX_EXPORTED = 50_000
_CHUNK = 1_000
# The time in an id and that of the event differ by the clocks of two servers, or if a change waits for a lock.
_SLACK = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class AuditFilter:
    """The filters of the log; '' matches all. `until` is excluded."""

    event: str = ""
    actor: str = ""
    session: str = ""
    subject: str = ""
    request_id: str = ""
    since: datetime | None = None
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class EventStep:
    """The number of events in a step of time that begins at `at`."""

    at: datetime
    count: int


def events(access: Access, wanted: AuditFilter) -> ScopedQuerySet[AuditLog]:
    """Select the events that the caller reaches, newest first. Events without a namespace need a caller who reaches
    all."""
    rows = AuditLog.objects.reachable_by(access)
    exact = {"event_type": wanted.event, "actor": wanted.actor, "subject": wanted.subject,
             "request_id": wanted.request_id}  # fmt: skip
    rows = rows.filter(**{name: value for name, value in exact.items() if value})
    if wanted.session:
        # Events keep a session's name as it was written, also from before names were composed.
        rows = rows.filter(session__in=list_forms(wanted.session))
    if wanted.since is not None:
        # Ids begin with the time: the index finds them.
        rows = rows.filter(pk__gte=first_id_of(wanted.since - _SLACK), created_at__gte=wanted.since)
    if wanted.until is not None:
        rows = rows.filter(created_at__lt=wanted.until)
    return rows.order_by("-pk")


def page(
    access: Access, wanted: AuditFilter, *, before: uuid.UUID | None, limit: int
) -> tuple[list[AuditLog], uuid.UUID | None]:
    """Return one page, and the id before which the next page begins."""
    rows = events(access, wanted)
    if before is not None:
        rows = rows.filter(pk__lt=before)
    page, following = page_of(rows, limit)
    return page, page[-1].pk if following else None


def newer(access: Access, wanted: AuditFilter, *, than: uuid.UUID, at_most: int) -> int:
    """Count the events after one, up to `at_most`."""
    return int(events(access, wanted).filter(pk__gt=than).order_by()[:at_most].count())


def find(access: Access, *, event_id: uuid.UUID) -> AuditLog | None:
    """Return one event that the caller reaches, or None."""
    return AuditLog.objects.reachable_by(access).filter(pk=event_id).first()


def span(access: Access, wanted: AuditFilter) -> tuple[datetime, datetime, int] | None:
    """Return the first and last time of the newest COUNTED_AT_MOST events, and their number; None without any."""
    found = events(access, wanted)[:COUNTED_AT_MOST].aggregate(
        first=Min("created_at"), last=Max("created_at"), count=Count("*")
    )
    return (found["first"], found["last"], found["count"]) if found["count"] else None


def by_step(
    access: Access, wanted: AuditFilter, *, since: datetime, until: datetime, step: timedelta
) -> list[EventStep]:
    """Count the newest COUNTED_AT_MOST events by time: an EventStep for every step, including empty ones."""
    found = queries.count_by_step(events(access, wanted)[:COUNTED_AT_MOST], since=since, step=step)
    return [EventStep(since + step * n, found.get(since + step * n, 0)) for n in range(-((since - until) // step))]


def actors(access: Access, wanted: AuditFilter, *, limit: int) -> list[str]:
    """Return the actors of the newest COUNTED_AT_MOST events, by name."""
    return queries.rank_actors(events(access, wanted)[:COUNTED_AT_MOST], limit=limit)


def export_events(
    access: Access, wanted: AuditFilter, *, form: str, now: datetime, request_id: str
) -> Iterator[AuditLog]:
    """Return the newest MAX_EXPORTED events, one by one. The export itself is recorded as an event first.

    That event belongs to the namespace if there is only one, else to none.
    """
    ids = list(events(access, wanted).values_list("pk", flat=True)[:MAX_EXPORTED])
    narrowed = {name: str(value) for name, value in asdict(wanted).items() if value}
    details: dict[str, Any] = {"events": len(ids), "format": form, "narrowed_to": narrowed}
    namespace = None
    if not access.all_namespaces and len(access.namespace_ids) == 1:
        namespace = Namespace.objects.filter(pk__in=access.namespace_ids).first()
    if namespace is not None:
        scope = Scope(namespace.pk, namespace.name, access.actor, request_id)
        audit.record(scope, AuditEvent.AUDIT_EXPORT, details=details, now=now)
    else:
        reached = "all" if access.all_namespaces else sorted(access.namespace_ids)
        details |= {"namespaces": reached, "request_id": request_id}
        audit.record_system(access.actor, AuditEvent.AUDIT_EXPORT, details=details, now=now)
    return _one_by_one(access, ids)


def _one_by_one(access: Access, ids: list[uuid.UUID]) -> Iterator[AuditLog]:
    for start in range(0, len(ids), _CHUNK):
        yield from AuditLog.objects.reachable_by(access).filter(pk__in=ids[start : start + _CHUNK]).order_by("-pk")
