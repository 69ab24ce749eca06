"""Builds Audit: events with their filters, over time, in detail, and as a file; and the API's requests."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from django.http import QueryDict
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from memory.enums import JobState
from memory.models import AuditLog
from memory.services.audit import chain as audit_chain
from memory.services.audit import trail
from memory.services.audit.trail import COUNTED_AT_MOST, AuditFilter
from memory.services.jobs import schedules
from memory.services.monitoring import request_stats
from memory.services.monitoring.request_stats import RecentRequest
from memory.text.spreadsheet import Echo, escape_formula
from memory.types import Access
from ops.access import mask_details
from ops.charts import Histogram, histogram
from ops.moments import read_moment
from ops.pages.overview import VERIFY
from ops.pages.pipeline import names_of
from ops.pages.window import WINDOWS, TimeWindow
from ops.words import Words

PAGE = 50
COLUMNS = 48
NEW_AT_MOST = 1_000
ALL_TIME = TimeWindow("all", gettext_lazy("All time"), timedelta(days=365 * 200), timedelta(days=1))
AUDIT_WINDOWS = (*WINDOWS, ALL_TIME)
# Query parameters of filters, and the filters' names; `from` and `to` are moments in ISO 8601.
TEXTS = {"event": "event", "actor": "actor", "session": "session", "subject": "subject", "request": "request_id"}
FIELDS = ("id", "created_at", "event_type", "actor", "namespace", "session", "subject", "request_id", "details")
TONES = {"DELETE": "bad", "ERASURE": "bad", "RESET": "bad", "REJECT": "bad", "DISCARD": "bad", "REVOKE": "bad",
         "QUARANTINE": "weak", "CONTRADICTION": "weak", "EXPORT": "weak", "VIEW": "weak", "ARCHIVE": "off"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Filter:
    """An active filter, with the address without it."""

    title: Words
    value: str
    without: str


@dataclass(frozen=True, slots=True)
class EventRow:
    event: AuditLog
    tone: str
    brief: str
    link: str


@dataclass(frozen=True, slots=True)
class EventGroup:
    """Consecutive events of a request. A single event without a request has an empty `request_id`."""

    request_id: str
    rows: list[EventRow]


@dataclass(frozen=True, slots=True)
class Chain:
    """The result of the last check of the audit chain. `head` and `sealed` are for users who reach all namespaces."""

    tone: str
    word: str
    checked_at: datetime | None
    error: str
    head: str
    sealed: int | None
    sealed_at: datetime | None


@dataclass(frozen=True, slots=True)
class FieldComparison:
    """A field before and after."""

    name: str
    before: str
    after: str
    changed: bool


@dataclass(frozen=True, slots=True)
class RequestRow:
    request: RecentRequest
    namespace: str
    tone: str
    word: str
    events: str


def window_of(query: QueryDict) -> TimeWindow:
    """Return the window in the address, by default 7 days."""
    return next((one for one in AUDIT_WINDOWS if one.name == query.get("window")), WINDOWS[2])


def read_filter(query: QueryDict, *, now: datetime) -> AuditFilter:
    """Return the filter in the address. Raises ValueError for an invalid moment."""
    texts = {field: query.get(name, "").strip()[:200] for name, field in TEXTS.items()}
    window = window_of(query)
    since = _moment(query.get("from", "")) or (None if window is ALL_TIME else window.since(now))
    return AuditFilter(**texts, since=since, until=_moment(query.get("to", "")))


def _moment(text: str) -> datetime | None:
    return read_moment(text, zone_needed=False) if text else None


def filters(query: QueryDict) -> list[Filter]:
    """Return the active filters."""
    titles = {
        "event": _("Event"), "actor": _("Actor"), "session": _("Session"), "subject": _("Subject"),
        "request": _("Request"), "from": _("From"), "to": _("Until"),
    }  # fmt: skip
    return [
        Filter(title, _format_value(name, query[name][:200]), _without(query, name))
        for name, title in titles.items()
        if query.get(name)
    ]  # fmt: skip


def _format_value(name: str, value: Any) -> str:
    return str(value).replace("T", " ") if name in ("from", "to") else value


def _with(query: QueryDict, **values: str) -> QueryDict:
    kept = query.copy()
    for name, value in values.items():
        kept[name] = value
    return kept


def _without(query: QueryDict, *names: str) -> str:
    left = query.copy()
    for name in (*names, "cursor", "v"):
        left.pop(name, None)
    return f"?{left.urlencode()}"


def group_events(rows: Sequence[AuditLog], query: QueryDict, *, by_request: bool, readable: bool) -> list[EventGroup]:
    """Return the page's events; `by_request` groups those of a request at the place of the newest.

    Without `readable`, typed text is masked.
    """
    shown = [event_row(row, query, readable=readable) for row in rows]
    if not by_request:
        return [EventGroup("", shown)] if shown else []
    groups: dict[str, list[EventRow]] = {}
    for place, row in enumerate(shown):
        groups.setdefault(row.event.request_id or f"\0{place}", []).append(row)
    return [EventGroup("" if key.startswith("\0") else key, found) for key, found in groups.items()]


def event_row(event: AuditLog, query: QueryDict, *, readable: bool) -> EventRow:
    kept = {"ns": query["ns"]} if query.get("ns") else {}
    link = f"{reverse('ops:audit_event')}?{urlencode({**kept, 'id': str(event.pk)})}"
    shown = event.details if readable else mask_details(event.details)
    return EventRow(event, tone_of(event.event_type), brief(shown), link)


def tone_of(event_type: str) -> str:
    """Return the colour of an event: bad if it deletes or refuses, weak if it deserves a look."""
    return next((tone for part, tone in TONES.items() if part in event_type), "info")


def brief(details: Any) -> str:
    """Return the details on one line."""
    if not isinstance(details, dict):
        return ""
    parts = [f"{name} {_short(value)}" for name, value in details.items() if value not in (None, "", [], {})]
    return " · ".join(parts)[:240]


def _short(value: Any) -> str:
    if isinstance(value, dict):
        return "{…}"
    if isinstance(value, list):
        return f"[{len(value)}]"
    return str(value)[:80]


def compare_fields(details: dict[str, Any]) -> list[FieldComparison]:
    """Return `before` and `after` of an event side by side, if it has them."""
    before, after = details.get("before"), details.get("after")
    if not isinstance(before, dict) and not isinstance(after, dict):
        return []
    old, new = (one if isinstance(one, dict) else {} for one in (before, after))
    return [
        FieldComparison(
            name, _text(old.get(name)), _text(new.get(name)), name in old and name in new and old[name] != new[name]
        )
        for name in dict.fromkeys([*old, *new])
    ]


def plain_details(details: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the details except `before` and `after`."""
    hidden = ("before", "after") if compare_fields(details) else ()
    return [(name, _text(value)) for name, value in details.items() if name not in hidden]


def _text(value: Any) -> str:
    if value is None:
        return "–"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)


def pretty(details: Any) -> str:
    """Return the details as indented JSON."""
    return json.dumps(details, ensure_ascii=False, indent=2, sort_keys=True)


def over_time(access: Access, wanted: AuditFilter, query: QueryDict, *, now: datetime) -> tuple[Histogram | None, int]:
    """Return the events over time and their number; each column has the address that narrows the log to it.

    Only the newest COUNTED_AT_MOST events are counted. If there are more, the picture begins with the oldest of these.
    """
    found = trail.span(access, wanted)
    if found is None:
        return None, 0
    first, last, count = found
    capped = count >= COUNTED_AT_MOST
    since = first if capped or wanted.since is None else wanted.since
    until = wanted.until or max(now, last)
    if wanted.since is None:
        until = last
    step = _step((until - since) / COLUMNS)
    since = _floor(since, step)
    steps = trail.by_step(
        access, wanted, since=since, until=max(until, since + step) + timedelta(microseconds=1), step=step
    )
    pattern = "%m-%d %H:%M" if step < timedelta(days=1) else "%Y-%m-%d"
    pattern = "%H:%M" if step * len(steps) <= timedelta(hours=24) else pattern
    links = [_narrow_to_step(query, one.at, one.at + step) if one.count else "" for one in steps]
    return (
        histogram(
            _("Events over time"),
            description=_("The newest %(count)s events; choose a column to narrow the list to it")
            % {"count": f"{COUNTED_AT_MOST:,}"}
            if capped
            else _("Choose a column to narrow the list to it"),
            labels=[one.at.strftime(pattern) for one in steps],
            values=[one.count for one in steps],
            header=_("Events"),
            links=links,
            keys=[one.at.isoformat() for one in steps],
            csv=f"{reverse('ops:audit')}?{_with(query, csv='events').urlencode()}",
        ),
        count,
    )


_STEPS = [timedelta(seconds=n) for n in (1, 5, 15, 30, 60, 300, 900, 1800, 3600, 3 * 3600, 6 * 3600, 12 * 3600, 86400)]


def _step(least: timedelta) -> timedelta:
    days = timedelta(days=1)
    return next((step for step in _STEPS if step >= least), days * -(-least // days))


def _floor(moment: datetime, step: timedelta) -> datetime:
    begin = datetime(1970, 1, 1, tzinfo=UTC)
    return begin + (moment - begin) // step * step


def _narrow_to_step(query: QueryDict, since: datetime, until: datetime) -> str:
    kept = query.copy()
    for name in ("cursor", "v"):
        kept.pop(name, None)
    kept["from"], kept["to"] = since.strftime("%Y-%m-%dT%H:%M:%SZ"), until.strftime("%Y-%m-%dT%H:%M:%SZ")
    return f"?{kept.urlencode()}"


def chain(access: Access, *, now: datetime) -> Chain:
    """Return the badge of the audit chain, with the result of its last check."""
    last = next((one for one in schedules.schedule_states(now=now) if one.name == VERIFY), None)
    state = last.state if last else None
    tone, word = {
        JobState.DONE: ("good", _("Chain holds")),
        JobState.FAILED: ("bad", _("Chain is broken")),
        JobState.RUNNING: ("busy", _("Being checked")),
    }.get(state or "", ("off", _("Not checked yet")))  # type: ignore[call-overload]
    seal = audit_chain.newest_seal() if access.all_namespaces else None
    return Chain(
        tone,
        word,
        (last.finished_at or last.last_run_at) if last else None,
        last.error[1] if last and last.error and state == JobState.FAILED else "",
        f"#{seal.number} {bytes(seal.hash).hex()[:16]}" if seal else "",
        seal.total if seal else None,
        seal.sealed_at if seal else None,
    )


CLASSES = {"ok": range(200, 400), "refused": range(400, 500), "failed": range(500, 600)}


def requests(access: Access, *, kept: str, route: str, before: str) -> tuple[list[RequestRow], str]:
    """Return a page of the API's newest requests, and the cursor of the next page. Raises RedisAway."""
    statuses = CLASSES.get(kept)

    def matches(one: RecentRequest) -> bool:
        return (statuses is None or one.status in statuses) and (not route or route in one.route)

    found = request_stats.recent(access, limit=PAGE + 1, before=before, wanted=matches)
    names = names_of({one.namespace_id for one in found})
    rows = [_request_row(one, names) for one in found[:PAGE]]
    return rows, found[PAGE - 1].cursor if len(found) > PAGE else ""


def _request_row(one: RecentRequest, names: dict[int, str]) -> RequestRow:
    tone, word = (
        ("bad", _("Failed"))
        if one.status >= 500
        else ("weak", _("Refused"))
        if one.status >= 400
        else ("good", _("OK"))
    )
    events = f"{reverse('ops:audit')}?{urlencode({'request': one.request_id, 'window': 'all'})}"
    return RequestRow(one, names.get(one.namespace_id, ""), tone, word, events)


def as_csv(events: Iterator[AuditLog], *, readable: bool) -> Iterator[str]:
    """Yield lines of CSV, with a heading."""
    writer = csv.writer(Echo())
    # The byte order mark tells spreadsheets that the file is UTF-8.
    yield "\ufeff" + writer.writerow(FIELDS)
    for event in events:
        record = _record(event, readable=readable)
        record["details"] = json.dumps(record["details"], ensure_ascii=False)
        yield writer.writerow([escape_formula(str(record[name])) for name in FIELDS])


def as_json_lines(events: Iterator[AuditLog], *, readable: bool) -> Iterator[str]:
    """Yield a JSON object per line."""
    for event in events:
        yield json.dumps(_record(event, readable=readable), ensure_ascii=False) + "\n"


def _record(event: AuditLog, *, readable: bool) -> dict[str, Any]:
    own = {name: getattr(event, name) for name in FIELDS}
    details = event.details if readable else mask_details(event.details)
    return {**own, "id": str(event.pk), "created_at": event.created_at.isoformat(), "details": details}
