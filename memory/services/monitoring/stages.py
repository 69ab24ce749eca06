"""Counts, for each stage from the acceptance of a turn to its last derived data, what waits there and since when.

No state is kept for this: every count is of rows. A turn is accepted and screened by the request that brings it; its
vector, its place in a summary and its links to entities and earlier memories may follow later, by jobs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from django.db.models import Min

from memory.enums import JobState, QuarantineState
from memory.models import Job, Memory, QuarantinedItem
from memory.models.keys import first_id_of
from memory.models.queries import monitoring as queries
from memory.models.sql import count_each
from memory.services.monitoring import stats
from memory.types import Access

HOUR = timedelta(hours=1)
# Counts end here: a higher number is shown as "more than".
COUNTED_AT_MOST = 10_000


class Stage(StrEnum):
    """The stages in their order; `FAILED` are jobs that were given up."""

    ACCEPTED = "accepted"
    SCREENED = "screened"
    EMBEDDED = "embedded"
    CONDENSED = "condensed"
    LINKED = "linked"
    STORED = "stored"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class StageState:
    """The state of a stage. `waiting`: the number that has not passed yet (None: nothing can wait there), `oldest`:
    since when.

    `hour`: how many of the turns of the last hour have passed; for jobs, how many failed in it.
    """

    stage: Stage
    waiting: int | None
    oldest: datetime | None
    hour: int


@dataclass(frozen=True, slots=True)
class CountedRow:
    """A row behind a number. `kind`: memory, quarantine, session, document or job; `id`: the row's id, or a name.

    For a job, `session` is the kind of job.
    """

    kind: str
    id: str
    namespace_id: int
    session: str
    since: datetime
    turns: int = 1


def count_passed(access: Access, *, now: datetime) -> dict[Stage, int]:
    """Count, of the turns and chunks of the last hour, how many have passed each stage."""
    [apart] = count_each(_apart_in_hour(access, now), most=COUNTED_AT_MOST)
    return _count_in_hour(access, apart=apart, now=now)


def _count_in_hour(access: Access, *, apart: int, now: datetime) -> dict[Stage, int]:
    came, embedded, condensed, linked, stored = queries.count_stages(
        _namespaces(access), first=first_id_of(now - HOUR), most=COUNTED_AT_MOST
    )
    return {
        Stage.ACCEPTED: came + apart,
        Stage.SCREENED: came,
        Stage.EMBEDDED: embedded,
        Stage.CONDENSED: condensed,
        Stage.LINKED: linked,
        Stage.STORED: stored,
    }


def states(access: Access, *, backlog: stats.Backlog, now: datetime) -> list[StageState]:
    """Return the state of every stage. `backlog` may be some seconds old."""
    apart = QuarantinedItem.objects.reachable_by(access).pending()
    failed = Job.objects.reachable_by(access).failed()
    lately = [_apart_in_hour(access, now), _select_failed_in_hour(access, now)]
    kept_apart, given_up, *in_hour = count_each(apart, failed, *lately, most=COUNTED_AT_MOST)
    passed = {**_count_in_hour(access, apart=in_hour[0], now=now), Stage.FAILED: in_hour[1]}
    lacking = backlog.pending_embeddings
    waiting: dict[Stage, tuple[int | None, datetime | None]] = {
        Stage.ACCEPTED: (None, None),
        Stage.SCREENED: (kept_apart, _oldest(apart, "created_at") if kept_apart else None),
        Stage.EMBEDDED: (lacking, _oldest_without_vector(access) if lacking else None),
        Stage.CONDENSED: queries.count_waiting(_namespaces(access), Stage.CONDENSED),
        Stage.LINKED: queries.count_waiting(_namespaces(access), Stage.LINKED),
        Stage.STORED: (None, None),
        Stage.FAILED: (given_up, _oldest(failed, "finished_at") if given_up else None),
    }
    return [StageState(stage, *waiting[stage], passed[stage]) for stage in Stage]


def waiting_rows(access: Access, stage: Stage, *, limit: int) -> tuple[list[CountedRow], int]:
    """Return the rows that wait at a stage, oldest first, and how many there are. For jobs there are none."""
    if stage in queries.WAITING_STAGES:
        listed = queries.list_waiting(_namespaces(access), stage, limit=limit)
        return [CountedRow(*values) for values in listed], queries.count_waiting(_namespaces(access), stage)[0]
    if stage is Stage.SCREENED:
        items = QuarantinedItem.objects.reachable_by(access).pending().order_by("created_at", "pk")
        found = items.values_list("pk", "namespace_id", "session", "created_at")[:limit]
        rows = [CountedRow("quarantine", str(pk), owner, session, at) for pk, owner, session, at in found]
        return rows, count_each(items, most=COUNTED_AT_MOST)[0]
    if stage is Stage.EMBEDDED:
        lacking = Memory.objects.reachable_by(access).awaiting_vector()
        waiting = lacking.order_by("pk").values_list("pk", "namespace_id", "session", "created_at")[:limit]
        rows = [CountedRow("memory", str(pk), owner, session, at) for pk, owner, session, at in waiting]
        return rows, count_each(lacking, most=COUNTED_AT_MOST)[0]
    return [], 0


def list_passed(access: Access, stage: Stage, *, now: datetime, limit: int) -> tuple[list[CountedRow], int]:
    """Return the rows of the last hour that have passed a stage, newest first, and how many there are; for FAILED, the
    jobs."""
    if stage is Stage.FAILED:
        failed = _select_failed_in_hour(access, now)
        jobs = failed.order_by("-finished_at").values_list("pk", "namespace_id", "kind", "finished_at")[:limit]
        return [CountedRow("job", str(pk), *rest) for pk, *rest in jobs], failed.order_by()[:COUNTED_AT_MOST].count()
    found = queries.list_passed(
        _namespaces(access), stage, first=first_id_of(now - HOUR), most=COUNTED_AT_MOST, limit=limit
    )
    rows = [CountedRow(*values) for values in found]
    if stage is Stage.ACCEPTED:
        apart = _apart_in_hour(access, now).order_by("-pk")
        items = apart.values_list("pk", "namespace_id", "session", "created_at")[:limit]
        rows += [CountedRow("quarantine", str(pk), *rest) for pk, *rest in items]
    return rows[:limit], count_passed(access, now=now)[stage]


def job_counts(access: Access) -> Mapping[str, int]:
    """Count the jobs by state, each up to COUNTED_AT_MOST."""
    rows, states = Job.objects.reachable_by(access), JobState.values
    counts = count_each(*(rows.filter(state=state) for state in states), most=COUNTED_AT_MOST)
    return dict(zip(states, counts, strict=True))


def _namespaces(access: Access) -> frozenset[int] | None:
    return None if access.all_namespaces else access.namespace_ids


def _apart_in_hour(access: Access, now: datetime) -> Any:
    rows = QuarantinedItem.objects.reachable_by(access).filter(pk__gte=first_id_of(now - HOUR))
    return rows.exclude(state=QuarantineState.RELEASED)


def _select_failed_in_hour(access: Access, now: datetime) -> Any:
    return Job.objects.reachable_by(access).failed().filter(finished_at__gte=now - HOUR)


def _oldest_without_vector(access: Access) -> datetime | None:
    rows = Memory.objects.reachable_by(access).awaiting_vector()
    oldest: datetime | None = rows.order_by("pk").values_list("created_at", flat=True).first()
    return oldest


def _oldest(rows: Any, moment: str) -> datetime | None:
    oldest: datetime | None = rows.aggregate(oldest=Min(moment))["oldest"]
    return oldest
