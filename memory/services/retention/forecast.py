"""Counts the memories of a namespace by strength and age, and selects the rows behind each number. Writes nothing."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import connection
from django.db.models.expressions import RawSQL

from memory.enums import AuditEvent, JobState, SweepRule
from memory.governance.policy import Policy
from memory.governance.strength import AGE_DAYS_SQL, STRENGTH_SQL, Strength
from memory.models import AuditLog, Job, Memory
from memory.models.keys import first_id_of
from memory.models.memory import MemoryQuerySet
from memory.models.queries.retention import select_active
from memory.models.sql import positional
from memory.postgresql import reach
from memory.postgresql.reach import NO_NAMESPACE
from memory.services.retention import due
from memory.types import Scope

# Lower ends of the bands of age, in days since a memory was written, last used or restored.
AGES = (0.0, 1.0, 7.0, 30.0, 90.0, 180.0, 365.0)
_STRENGTHS = (0.0, 0.1, 0.2, 0.4, 0.6, 0.8)
SOON = timedelta(days=7)
SWEEP_SCHEDULE = "memos: sweep"
SWEEPER = "worker"

# A range from the lower end up to, but excluding, the upper; None: no upper end.
Band = tuple[float, float | None]


@dataclass(frozen=True, slots=True)
class Grid:
    """`counts[strength][age]` of the active memories at `at`; `ages` and `strengths` are the lower ends of the bands,
    ascending."""

    at: datetime
    ages: Sequence[float]
    strengths: Sequence[float]
    counts: list[list[int]]

    @property
    def active(self) -> int:
        return sum(map(sum, self.counts))

    @property
    def most(self) -> int:
        return max(map(max, self.counts))


@dataclass(frozen=True, slots=True)
class Leaving:
    """A memory that a sweep at a later moment would archive if it were not used until then."""

    memory: Memory
    rule: SweepRule
    strength: Strength


@dataclass(frozen=True, slots=True)
class LastSweep:
    """The last sweep, and how many memories of the namespace it archived, by rule.

    Their audit events have ids from `first_event` to before `last_event` (None: it has not ended).
    """

    state: str
    began_at: datetime
    ended_at: datetime | None
    archived: dict[str, int]
    first_event: uuid.UUID
    last_event: uuid.UUID | None


def bands(lower: Sequence[float]) -> list[Band]:
    """Return the band of each lower end, which extends to the next one."""
    return list(zip(lower, [*lower[1:], None], strict=True))


def strengths(policy: Policy) -> list[float]:
    """Return the lower ends of the bands of strength. The floor is one of them, so that no band lies on both sides of
    it."""
    return sorted({*_STRENGTHS, policy.floor}) if policy.floor > 0 else list(_STRENGTHS)


_GRID = f"""
SELECT width_bucket({STRENGTH_SQL}, %(strengths)s::float8[]), width_bucket({AGE_DAYS_SQL}, %(ages)s::float8[]), count(*)
FROM memory_memory m LEFT JOIN memory_memoryupkeep u ON u.namespace_id = m.namespace_id AND u.memory_id = m.id
WHERE m.namespace_id = %(namespace_id)s AND m.state = %(active)s
GROUP BY 1, 2
"""  # noqa: S608 - put together from constants


def grid(scope: Scope, policy: Policy, *, now: datetime) -> Grid:
    """Count all active memories of the namespace by strength and age."""
    lower = strengths(policy)
    counts = [[0] * len(AGES) for _ in lower]
    with connection.cursor() as cursor:
        parameters = {
            **due.bind_parameters(scope.namespace_id, policy, now=now),
            "strengths": lower,
            "ages": list(AGES),
        }
        cursor.execute(_GRID, parameters)
        for strength, age, count in cursor.fetchall():
            counts[strength - 1][age - 1] = count
    return Grid(now, AGES, lower, counts)


def rows(
    scope: Scope,
    policy: Policy,
    *,
    now: datetime,
    age: Band | None = None,
    strength: Band | None = None,
    is_due: bool = False,
) -> MemoryQuerySet:
    """Select the active memories in a band of age and of strength at `now`, or the ones that a sweep would archive
    then."""
    found: MemoryQuerySet = Memory.objects.in_scope(scope).active()
    wanted = [due.DUE_SQL] if is_due else []
    parameters: dict[str, Any] = due.bind_parameters(scope.namespace_id, policy, now=now)
    for name, expression, band in (("age", AGE_DAYS_SQL, age), ("strength", STRENGTH_SQL, strength)):
        if band is None:
            continue
        parameters |= {f"{name}_from": band[0], f"{name}_to": band[1]}
        wanted.append(f"{expression} >= %({name}_from)s::float8")
        if band[1] is not None:
            wanted.append(f"{expression} < %({name}_to)s::float8")
    condition = " AND ".join(wanted) or "true"
    statement, values = positional(select_active(condition), parameters)
    return found.filter(pk__in=RawSQL(statement, values))  # noqa: S611 - constants of this house, values are bound


def leaving(scope: Scope, policy: Policy, *, at: datetime, limit: int) -> list[Leaving]:
    """Return at most `limit` memories that a sweep at `at` would archive, weakest first."""
    found = {one.memory_id: one for one in due.page(scope.namespace_id, policy, limit=10 * limit, now=at)}
    memories = Memory.objects.in_scope(scope).filter(pk__in=found).defer("terms", "metadata", "content_hash")
    listed = [Leaving(memory, found[memory.pk].rule, found[memory.pk].strength) for memory in memories]
    return sorted(listed, key=lambda one: (one.strength.value, one.memory.pk))[:limit]


def last_sweep(scope: Scope) -> LastSweep | None:
    """Return the last sweep; None before the first."""
    jobs = Job.objects.filter(namespace_id=0, schedule=SWEEP_SCHEDULE).exclude(state=JobState.QUEUED)
    with reach.within(NO_NAMESPACE):
        job = jobs.exclude(started_at=None).order_by("-started_at").first()
    if job is None or job.started_at is None:
        return None
    first = first_id_of(job.started_at)
    events = AuditLog.objects.in_scope(scope).filter(
        pk__gte=first, event_type=AuditEvent.MEMORY_ARCHIVE, actor=SWEEPER, details__rule__in=SweepRule.values
    )
    last = None if job.finished_at is None else first_id_of(job.finished_at + timedelta(milliseconds=1))
    if last is not None:
        events = events.filter(pk__lt=last)
    archived = {rule: events.filter(details__rule=rule).count() for rule in SweepRule.values}
    return LastSweep(job.state, job.started_at, job.finished_at, archived, first, last)
