"""Reads the records of request_log: rates, errors and latencies over time, and the newest requests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from django.conf import settings
from redis.exceptions import RedisError

from memory.errors import RedisAway
from memory.models import RequestMinute
from memory.models.sql import fetch
from memory.services.monitoring.request_log import BOUNDS, STREAM
from memory.stores.redis import call
from memory.types import Access

INGEST = ("v1/ingest", "v1/ingest/batch", "api/v1/memory/ingest")
RECALL = ("v1/query", "v1/search", "v1/answer", "api/v1/memory/query")
_BATCH = 5000


@dataclass(frozen=True, slots=True)
class Figures:
    """The figures of requests of some routes in some time. `latency`: as in RequestMinute."""

    count: int = 0
    errors: int = 0
    empty_recalls: int = 0
    latency: tuple[int, ...] = (0,) * (len(BOUNDS) + 1)

    def quantile(self, share: float) -> float | None:
        """Return the milliseconds within which this `share` of the requests was answered; None without requests.

        An estimate: values are assumed to lie evenly within their bucket, as Prometheus' histogram_quantile does.
        Beyond the last bound it is that bound.
        """
        wanted, below = share * sum(self.latency), 0
        for index, number in enumerate(self.latency):
            if number and below + number >= wanted:
                if index == len(BOUNDS):
                    return float(BOUNDS[-1])
                lower = BOUNDS[index - 1] if index else 0
                return lower + (BOUNDS[index] - lower) * max(0.0, wanted - below) / number
            below += number
        return None

    def __add__(self, other: Figures) -> Figures:
        return Figures(
            self.count + other.count,
            self.errors + other.errors,
            self.empty_recalls + other.empty_recalls,
            tuple(mine + theirs for mine, theirs in zip(self.latency, other.latency, strict=True)),
        )


@dataclass(frozen=True, slots=True)
class Moment:
    """The figures of one step of time that begins at `at`."""

    at: datetime
    ingest: Figures
    recall: Figures


@dataclass(frozen=True, slots=True)
class RecentRequest:
    """A request in the list. `cursor`: its position."""

    cursor: str
    at: datetime
    method: str
    route: str
    status: int
    milliseconds: float
    namespace_id: int
    key: str
    request_id: str


_SUMS = ", ".join(f"sum(latency[{place}])" for place in range(1, len(BOUNDS) + 2))
_BY_STEP = f"""
SELECT date_bin(%(step)s, minute, %(since)s), route = ANY(%(recall)s), sum(count), sum(errors), sum(empty_recalls),
       {_SUMS}
FROM memory_requestminute
WHERE namespace_id = ANY(%(namespaces)s::bigint[]) AND minute >= %(since)s AND minute < %(until)s
  AND (route = ANY(%(recall)s) OR route = ANY(%(ingest)s))
GROUP BY 1, 2
"""  # noqa: S608 - put together from constants of this file


def by_step(access: Access, *, since: datetime, until: datetime, step: timedelta) -> list[Moment]:
    """Return the figures of ingest and recall from `since` to before `until`: a Moment for every step, including empty
    ones.

    `since` is rounded down to the minute. For an access to all namespaces, requests without a namespace count too.
    """
    since = since.replace(second=0, microsecond=0)
    parameters = {
        "step": step,
        "since": since,
        "until": until,
        "recall": list(RECALL),
        "ingest": list(INGEST),
        "namespaces": [RequestMinute.ALL] if access.all_namespaces else sorted(access.namespace_ids),
    }
    found = {
        (at, is_recall): Figures(int(count), int(errors), int(empty), tuple(int(number or 0) for number in latency))
        for at, is_recall, count, errors, empty, *latency in fetch(_BY_STEP, parameters, prepared=False)
    }
    steps = -((since - until) // step)
    moments = [since + step * number for number in range(steps)]
    none = Figures()
    return [Moment(at, found.get((at, False), none), found.get((at, True), none)) for at in moments]


def total(figures: Sequence[Figures]) -> Figures:
    """Return the sum of the figures."""
    return sum(figures, Figures())


def recent(
    access: Access, *, limit: int, before: str = "", wanted: Callable[[RecentRequest], bool] = lambda one: True
) -> list[RecentRequest]:
    """Return the newest requests that the caller may see and that are `wanted`, newest first, from before the cursor
    `before`, if given.

    Requests without a namespace (refused before one was known) are only for callers who reach all. Raises RedisAway.
    """
    found: list[RecentRequest] = []
    end = f"({before}" if before else "+"
    try:
        while len(found) < limit:
            end_now = end
            part = call(lambda client, end=end_now: client.xrevrange(STREAM, max=end, min="-", count=max(200, limit)))
            rows = [_request(cursor, fields) for cursor, fields in part]
            reached = (row for row in rows if access.all_namespaces or row.namespace_id in access.namespace_ids)
            found += [row for row in reached if wanted(row)]
            if len(part) < max(200, limit):
                break
            end = f"({rows[-1].cursor}"
    except RedisError as error:
        raise RedisAway(str(error)) from error
    return found[:limit]


def _request(cursor: bytes, fields: dict[bytes, bytes]) -> RecentRequest:
    values: dict[str, Any] = {name.decode(): value.decode() for name, value in fields.items()}
    return RecentRequest(
        cursor=cursor.decode(),
        at=datetime.fromtimestamp(float(values["at"]), UTC),
        method=values["method"],
        route=values["route"],
        status=int(values["status"]),
        milliseconds=float(values["ms"]),
        namespace_id=int(values["namespace_id"]),
        key=values["key"],
        request_id=values["request_id"],
    )


def forget(*, now: datetime) -> int:
    """Delete the figures of minutes older than MEMOS_REQUEST_FIGURES_DAYS; return how many rows."""
    oldest = now - timedelta(days=settings.MEMOS_REQUEST_FIGURES_DAYS)
    old = RequestMinute.objects.across_namespaces().filter(minute__lt=oldest)
    deleted = 0
    while keys := list(old.values_list("pk", flat=True)[:_BATCH]):
        deleted += RequestMinute.objects.filter(pk__in=keys).delete()[0]
    return deleted
