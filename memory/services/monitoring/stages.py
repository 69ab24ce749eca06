"""The way of a turn from its acceptance to the last of what is made of it: what waits at each stage, and since when.

Nothing is remembered for this: every count is of rows. A turn is accepted and screened by the request that brings it;
its vector, its place in a summary and its links to entities and earlier memories may come later, by jobs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from django.db.models import Min

from memory.enums import JobState, QuarantineState
from memory.kinds import SESSION_PREFIX
from memory.models import Job, Memory, QuarantinedItem
from memory.models.keys import first_id_of
from memory.models.sql import count_each, fetch
from memory.services.monitoring import stats
from memory.types import Access

HOUR = timedelta(hours=1)
# Counts end here: beyond it a number is "more than".
COUNTED_AT_MOST = 10_000


class Stage(StrEnum):
    """In their order; `FAILED` are jobs that were given up."""

    ACCEPTED = "accepted"
    SCREENED = "screened"
    EMBEDDED = "embedded"
    CONDENSED = "condensed"
    LINKED = "linked"
    STORED = "stored"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class StageState:
    """`waiting`: what has not passed yet (None: nothing can wait there), `oldest`: since when.

    `hour`: of the turns that came within the last hour, how many have passed; of jobs, how many failed in it.
    """

    stage: Stage
    waiting: int | None
    oldest: datetime | None
    hour: int


@dataclass(frozen=True, slots=True)
class CountedRow:
    """One thing that a number counts. `kind`: memory, quarantine, session, document, job; `id` is the row's, or a name.

    Of a job `session` is what kind of job it is.
    """

    kind: str
    id: str
    namespace_id: int
    session: str
    since: datetime
    turns: int = 1


# Ids begin with the time, so the newest are found by them. A document's chunks are in no summary: nothing waits there.
# Of what was released from quarantine the memory is counted, which has the item's id.
_CAME = """
WITH came AS MATERIALIZED (
    SELECT namespace_id, id, session, turn, state, embedded, created_at FROM memory_memory
    WHERE id >= %(first)s AND (%(everywhere)s::bool OR namespace_id = ANY(%(namespaces)s::bigint[]))
    ORDER BY id DESC LIMIT %(most)s
), judged AS MATERIALIZED (
    SELECT c.*,
        c.state <> 'active' OR c.embedded AS has_vector,
        c.turn <= 0 OR coalesce(s.summarised_turn >= c.turn, false) AS condensed,
        CASE WHEN c.turn > 0 THEN coalesce(s.settled_turn >= c.turn AND w.turn >= c.turn, false)
             ELSE coalesce(w.turn > 0, false) END AS linked
    FROM came c
    LEFT JOIN memory_session s ON s.namespace_id = c.namespace_id AND s.name = c.session
    LEFT JOIN memory_entitywatermark w ON w.namespace_id = c.namespace_id AND w.session = c.session
)
"""
_PASSED = {
    Stage.ACCEPTED: "true",
    Stage.SCREENED: "true",
    Stage.EMBEDDED: "has_vector",
    Stage.CONDENSED: "condensed",
    Stage.LINKED: "linked",
    Stage.STORED: "has_vector AND condensed AND linked",
}
_HOUR = f"""{_CAME}
SELECT count(*), count(*) FILTER (WHERE has_vector), count(*) FILTER (WHERE condensed), count(*) FILTER (WHERE linked),
       count(*) FILTER (WHERE has_vector AND condensed AND linked)
FROM judged
"""  # noqa: S608 - put together from constants of this file

# What a summary lacks, and what entities or the comparison with earlier memories have not read.
_WAITING_SESSIONS = {
    Stage.CONDENSED: """
SELECT 'session' AS kind, s.name AS id, s.namespace_id, s.name AS session, s.last_message_at AS since,
       s.message_count - s.summarised_turn AS turns
FROM memory_session s
WHERE s.message_count > s.summarised_turn
  AND (%(everywhere)s::bool OR s.namespace_id = ANY(%(namespaces)s::bigint[]))
""",
    Stage.LINKED: """
SELECT 'session' AS kind, s.name AS id, s.namespace_id, s.name AS session, s.last_message_at AS since,
       s.message_count - least(s.settled_turn, coalesce(w.turn, 0)) AS turns
FROM memory_session s
LEFT JOIN memory_entitywatermark w ON w.namespace_id = s.namespace_id AND w.session = s.name
WHERE s.message_count > least(s.settled_turn, coalesce(w.turn, 0))
  AND (%(everywhere)s::bool OR s.namespace_id = ANY(%(namespaces)s::bigint[]))
UNION ALL
SELECT 'document', d.document_id, d.namespace_id, %(prefix)s || d.id, d.updated_at, 1
FROM memory_document d
LEFT JOIN memory_entitywatermark w ON w.namespace_id = d.namespace_id AND w.session = %(prefix)s || d.id
WHERE d.version <> coalesce(w.turn, 0)
  AND (%(everywhere)s::bool OR d.namespace_id = ANY(%(namespaces)s::bigint[]))
UNION ALL
SELECT 'memory', p.memory_id::text, p.namespace_id, m.session, m.created_at, 1
FROM memory_entitypending p
JOIN memory_memory m ON m.namespace_id = p.namespace_id AND m.id = p.memory_id
WHERE (%(everywhere)s::bool OR p.namespace_id = ANY(%(namespaces)s::bigint[]))
""",
}


def count_passed(access: Access, *, now: datetime) -> dict[Stage, int]:
    """Of the turns and chunks that came within the hour, how many have passed each stage."""
    [apart] = count_each(_apart_in_hour(access, now), most=COUNTED_AT_MOST)
    return _count_in_hour(access, apart=apart, now=now)


def _count_in_hour(access: Access, *, apart: int, now: datetime) -> dict[Stage, int]:
    [(came, embedded, condensed, linked, stored)] = fetch(_HOUR, _parameters(access, now), prepared=False)
    return {
        Stage.ACCEPTED: came + apart,
        Stage.SCREENED: came,
        Stage.EMBEDDED: embedded,
        Stage.CONDENSED: condensed,
        Stage.LINKED: linked,
        Stage.STORED: stored,
    }


def states(access: Access, *, backlog: stats.Backlog, now: datetime) -> list[StageState]:
    """Every stage. `backlog` may be some seconds old."""
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
        Stage.CONDENSED: _waiting_sessions(access, Stage.CONDENSED),
        Stage.LINKED: _waiting_sessions(access, Stage.LINKED),
        Stage.STORED: (None, None),
        Stage.FAILED: (given_up, _oldest(failed, "finished_at") if given_up else None),
    }
    return [StageState(stage, *waiting[stage], passed[stage]) for stage in Stage]


def waiting_rows(access: Access, stage: Stage, *, limit: int) -> tuple[list[CountedRow], int]:
    """What waits at a stage, the oldest first, and how many there are. Of jobs there are none."""
    if stage in _WAITING_SESSIONS:
        rows = [
            CountedRow(*values)
            for values in fetch(
                f"{_WAITING_SESSIONS[stage]} ORDER BY since, id LIMIT %(limit)s",
                {**_reach(access), "prefix": SESSION_PREFIX, "limit": limit},
                prepared=False,
            )
        ]
        return rows, _waiting_sessions(access, stage)[0]
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
    """What came within the hour and has passed a stage, the newest first, and how many there are; jobs that failed."""
    if stage is Stage.FAILED:
        failed = _select_failed_in_hour(access, now)
        jobs = failed.order_by("-finished_at").values_list("pk", "namespace_id", "kind", "finished_at")[:limit]
        return [CountedRow("job", str(pk), *rest) for pk, *rest in jobs], failed.order_by()[:COUNTED_AT_MOST].count()
    found = fetch(
        f"{_CAME} SELECT 'memory', id::text, namespace_id, session, created_at FROM judged "  # noqa: S608 - constants
        f"WHERE {_PASSED[stage]} ORDER BY id DESC LIMIT %(limit)s",
        {**_parameters(access, now), "limit": limit},
        prepared=False,
    )
    rows = [CountedRow(*values) for values in found]
    if stage is Stage.ACCEPTED:
        apart = _apart_in_hour(access, now).order_by("-pk")
        items = apart.values_list("pk", "namespace_id", "session", "created_at")[:limit]
        rows += [CountedRow("quarantine", str(pk), *rest) for pk, *rest in items]
    return rows[:limit], count_passed(access, now=now)[stage]


def job_counts(access: Access) -> Mapping[str, int]:
    """Jobs by state: those that are over are counted up to COUNTED_AT_MOST."""
    rows, states = Job.objects.reachable_by(access), JobState.values
    counts = count_each(*(rows.filter(state=state) for state in states), most=COUNTED_AT_MOST)
    return dict(zip(states, counts, strict=True))


def _reach(access: Access) -> dict[str, Any]:
    return {"everywhere": access.all_namespaces, "namespaces": sorted(access.namespace_ids)}


def _parameters(access: Access, now: datetime) -> dict[str, Any]:
    return {**_reach(access), "first": first_id_of(now - HOUR), "most": COUNTED_AT_MOST}


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


def _waiting_sessions(access: Access, stage: Stage) -> tuple[int, datetime | None]:
    statement = f"SELECT count(*), min(since) FROM ({_WAITING_SESSIONS[stage]}) AS waiting"  # noqa: S608 - constants
    [(count, oldest)] = fetch(statement, {**_reach(access), "prefix": SESSION_PREFIX}, prepared=False)
    return int(count), oldest
