"""Reads the history of a namespace's policy, and the results of the last sweep under it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import orjson

from memory.enums import AuditEvent, JobState, SweepRule
from memory.models import AuditLog, NamespacePolicy, UpkeepMark
from memory.models.keys import first_id_of
from memory.models.queries import tenancy as queries
from memory.policy_values import BY_KEY, Value
from memory.services.jobs.schedules import schedule_states
from memory.services.retention.sweep import SWEEP
from memory.types import Access, Scope

SCHEDULE = "memos: sweep"
SHOWN_VERSIONS = 20


@dataclass(frozen=True, slots=True)
class VersionOfPolicy:
    """A version of a policy. `changed`: the values in force before and after, by key, from the audit log."""

    number: int
    overrides: Mapping[str, Value]
    changed: Mapping[str, tuple[Value | None, Value | None]]
    reason: str
    actor: str
    at: datetime


@dataclass(frozen=True, slots=True)
class PolicyListEntry:
    """A namespace in the list of policies. `version` 0: it sets nothing itself."""

    namespace: str
    version: int
    own: int
    actor: str
    at: datetime | None


@dataclass(frozen=True, slots=True)
class SweepResult:
    """The last sweep, and how many memories of one namespace it archived. `doubted_at`: since when sweeps are paused
    because the clock is doubted."""

    state: JobState | None
    started_at: datetime | None
    finished_at: datetime | None
    next_at: datetime | None
    doubted_at: datetime | None
    decayed: int
    expired: int


def standings(access: Access, *, limit: int) -> list[PolicyListEntry]:
    """Return the namespaces that the caller reaches, by name, each with the number of values that it sets itself."""
    rows = queries.list_policies(None if access.all_namespaces else access.namespace_ids, limit=limit)
    return [
        PolicyListEntry(name, version, len(orjson.loads(overrides).keys() & BY_KEY.keys()), actor, at)
        for name, version, overrides, actor, at in rows
    ]


def versions(scope: Scope) -> list[VersionOfPolicy]:
    """Return the newest versions of the namespace's policy, newest first, with their changes from the audit log."""
    rows = list(NamespacePolicy.objects.in_scope(scope).order_by("-version")[:SHOWN_VERSIONS])
    events = AuditLog.objects.in_scope(scope).filter(
        event_type=AuditEvent.POLICY_CHANGE.value, subject__in=[str(row.version) for row in rows]
    )
    details: dict[str, dict[str, Any]] = dict(events.values_list("subject", "details"))
    return [
        VersionOfPolicy(
            row.version,
            {key: value for key, value in row.overrides.items() if key in BY_KEY},
            {key: (pair[0], pair[1]) for key, pair in details.get(str(row.version), {}).get("changed", {}).items()},
            row.reason,
            row.updated_by,
            row.updated_at,
        )
        for row in rows
    ]


def last_sweep(scope: Scope, *, now: datetime) -> SweepResult:
    """Return the last sweep and its effects in the namespace, counted in the audit log of that time."""
    schedule = next((one for one in schedule_states(now=now) if one.name == SCHEDULE), None)
    mark = UpkeepMark.objects.filter(name=SWEEP).first()
    started = schedule.last_run_at if schedule else None
    decayed = expired = 0
    if started is not None:
        until = (schedule.finished_at if schedule and schedule.finished_at else now) + timedelta(seconds=1)
        rows = AuditLog.objects.in_scope(scope).filter(
            id__gte=first_id_of(started - timedelta(seconds=1)),
            id__lt=first_id_of(until),
            event_type=AuditEvent.MEMORY_ARCHIVE.value,
        )
        rules = list(rows.values_list("details__rule", flat=True))
        decayed, expired = rules.count(SweepRule.DECAYED.value), rules.count(SweepRule.EXPIRED.value)
    return SweepResult(
        state=JobState(schedule.state) if schedule and schedule.state else None,
        started_at=started,
        finished_at=schedule.finished_at if schedule else None,
        next_at=schedule.next_run_at if schedule else None,
        doubted_at=mark.doubted_at if mark else None,
        decayed=decayed,
        expired=expired,
    )
