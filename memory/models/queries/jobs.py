"""SQL of the queue: inserting jobs, waiting turns, the state of schedules, and whether requests are answered."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from typing import Any

from memory.enums import JobPriority
from memory.models.sql import change_rows, fetch
from memory.postgresql import reach

# PostgreSQL knows the connections of web processes by this `application_name`.
WEB = "memos web"

# A request for a job that is running marks its row. The row stays locked until the requesting transaction ends, and the
# end of the job waits for that, so the request is either seen by this run or leads to another.
_LOCK = """
SELECT id FROM memory_job
WHERE namespace_id = %(namespace_id)s AND kind = %(kind)s AND arguments = ANY(%(arguments)s::text[]::jsonb[])
  AND once AND state IN ('queued', 'running')
ORDER BY id FOR UPDATE
"""
_ASK = """
INSERT INTO memory_job (id, namespace_id, kind, arguments, schedule, once, seconds, priority, state, attempts, again,
                        error_type, error, reason, queued_at, due_at, traceparent)
SELECT asked.id, %(namespace_id)s, %(kind)s, asked.arguments::jsonb, '', %(once)s, %(seconds)s, %(priority)s, 'queued',
       0, false, '', '', '', %(now)s, %(now)s, %(traceparent)s
FROM unnest(%(ids)s::uuid[], %(arguments)s::text[]) AS asked (id, arguments)
ON CONFLICT (namespace_id, kind, arguments) WHERE once AND state IN ('queued', 'running')
DO UPDATE SET again = memory_job.state = 'running'
RETURNING id, arguments::text
"""


def insert_jobs(
    namespace_id: int,
    kind: str,
    jobs: Sequence[tuple[uuid.UUID, str]],
    *,
    once: bool,
    seconds: int | None,
    priority: JobPriority,
    traceparent: str,
    now: datetime,
) -> list[tuple[uuid.UUID, str]]:
    """Inserts jobs, given as (id, arguments as JSON); returns them, or the equal ones that are open already."""
    parameters: dict[str, Any] = {
        "ids": [identity for identity, _ in jobs],
        "namespace_id": namespace_id,
        "kind": kind,
        "arguments": [arguments for _, arguments in jobs],
        "once": once,
        "seconds": seconds,
        "priority": priority,
        "now": now,
        "traceparent": traceparent,
    }
    if len(jobs) > 1:
        # Rows are locked in the order of ids, as in an erasure, which deletes jobs, to avoid deadlocks.
        fetch(_LOCK, parameters, prepared=False)
    return fetch(_ASK, parameters, prepared=False)


# Counts the turns that were not read for names or not compared; a turn that is both counts once.
_NEW_TURNS = """
SELECT coalesce(sum(s.message_count - least(s.settled_turn, coalesce(w.turn, 0))), 0)
FROM memory_session s
LEFT JOIN memory_entitywatermark w ON w.namespace_id = s.namespace_id AND w.session = s.name
WHERE s.message_count > least(s.settled_turn, coalesce(w.turn, 0))
  AND (%(everywhere)s::bool OR s.namespace_id = ANY(%(namespaces)s::bigint[]))
"""
# This reads only the ends of the index (namespace, schedule, beginning) for each schedule.
_STATES = """
SELECT s.name, s.minutes, s.next_run, l.started_at, l.finished_at, l.state, l.attempts, l.error_type, l.error, c.runs
FROM django_q_schedule s
LEFT JOIN LATERAL (
    SELECT * FROM memory_job j
    WHERE j.namespace_id = 0 AND j.schedule = s.name AND j.schedule <> '' AND j.started_at IS NOT NULL
    ORDER BY j.started_at DESC LIMIT 1
) AS l ON true
CROSS JOIN LATERAL (
    SELECT count(*) AS runs FROM memory_job j
    WHERE j.namespace_id = 0 AND j.schedule = s.name AND j.schedule <> '' AND j.started_at > %(since)s
) AS c
WHERE s.name LIKE 'memos: %%'
ORDER BY s.name
"""
_MEND = """
UPDATE django_q_schedule SET next_run = %s
WHERE name LIKE 'memos: %%' AND next_run > %s + make_interval(mins => minutes)
"""
# The columns look for changes every second, which is no request.
_REQUESTS = """
SELECT EXISTS (
    SELECT FROM pg_stat_activity
    WHERE application_name = %(web)s
      AND (state <> 'idle' OR state_change > clock_timestamp() - interval '100 ms')
      AND query NOT LIKE '%%pg_current_snapshot%%'
)
"""


def count_new_turns(namespaces: Collection[int] | None) -> int:
    """Counts the turns that were not read for names or not compared (None: of all namespaces)."""
    parameters = {"everywhere": namespaces is None, "namespaces": sorted(namespaces or ())}
    [(turns,)] = fetch(_NEW_TURNS, parameters, prepared=False)
    return int(turns)


def are_requests_answered() -> bool:
    """Tells whether a request uses the database, or did within the last tenth of a second."""
    # The roles of requests and jobs do not see what other connections do.
    with reach.hold(reach.LOGIN):
        [(is_one,)] = fetch(_REQUESTS, {"web": WEB}, prepared=True, by_key=True)
    return bool(is_one)


def list_schedules(*, counted_since: datetime) -> list[tuple[Any, ...]]:
    """Lists the schedules of MemOS by name, with their last run and the number of runs since `counted_since`.

    Returns (name, minutes, next run; beginning, end, state, attempts, error type and error of the last run; runs).
    """
    return fetch(_STATES, {"since": counted_since}, prepared=False)


def mend_schedules(*, now: datetime, slack: timedelta) -> int:
    """Makes schedules due now whose next run is further ahead than their period and `slack`; returns their number."""
    return change_rows(_MEND, [now, now + slack])
