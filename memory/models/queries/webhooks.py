"""SQL of events and webhooks: events in the order of their transactions, and webhooks with events to deliver."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from memory.models.sql import fetch

# The offset is that of the audit chain's era, which is added to the cluster's transaction numbers after a restore.
_HORIZON = """
SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint
       + coalesce((SELECT xact_offset FROM memory_auditseal ORDER BY number DESC LIMIT 1), 0)
"""
# The conditions on QUERY and CONTEXT_PACK repeat those of the partial index, so that it is used.
AFTER = """
SELECT id, xact, event_type, session, actor, subject, details, request_id, created_at FROM memory_auditlog
WHERE namespace_id = %(namespace_id)s AND (xact, id) > (%(xact)s, %(id)s) AND xact < %(horizon)s
  AND event_type <> 'QUERY' AND event_type <> 'CONTEXT_PACK' AND event_type = ANY(%(sources)s)
ORDER BY xact, id LIMIT %(limit)s
"""
_NAMED = """
SELECT id, xact, event_type, session, actor, subject, details, request_id, created_at FROM memory_auditlog
WHERE namespace_id = %(namespace_id)s AND id = %(id)s
"""
_NEWER = """
SELECT w.number FROM unnest(%(numbers)s::bigint[], %(namespaces)s::bigint[], %(xacts)s::bigint[], %(ids)s::uuid[])
    AS w (number, namespace_id, xact, id)
WHERE EXISTS (
    SELECT FROM memory_auditlog a
    WHERE a.namespace_id = w.namespace_id AND (a.xact, a.id) > (w.xact, w.id) AND a.xact < %(horizon)s
      AND a.event_type <> 'QUERY' AND a.event_type <> 'CONTEXT_PACK' AND a.event_type = ANY(%(sources)s))
"""


def horizon() -> int:
    """Returns the transaction number below which no event can be added any more."""
    return int(fetch(_HORIZON, {}, prepared=False)[0][0])


def list_after(
    namespace_id: int, after: tuple[int, uuid.UUID], *, below: int, sources: Sequence[str], limit: int
) -> list[tuple[Any, ...]]:
    """Lists the next events of a namespace below the horizon, with the columns of `find_event`."""
    parameters = {
        "namespace_id": namespace_id,
        "xact": after[0],
        "id": after[1],
        "horizon": below,
        "sources": sources,
        "limit": limit,
    }
    return fetch(AFTER, parameters, prepared=False)


def find_event(namespace_id: int, event_id: uuid.UUID) -> tuple[Any, ...] | None:
    """Finds an event: (id, transaction, type, session, actor, subject, details as JSON, request id, time)."""
    rows = fetch(_NAMED, {"namespace_id": namespace_id, "id": event_id}, prepared=False)
    return rows[0] if rows else None


def list_newer(waits: Sequence[tuple[int, int, int, uuid.UUID]], *, below: int, sources: Sequence[str]) -> list[int]:
    """Lists the numbers of those waits, given as (number, namespace id, transaction, id), that have a newer event."""
    columns = [list(column) for column in zip(*waits, strict=True)]
    parameters = dict(zip(("numbers", "namespaces", "xacts", "ids"), columns, strict=True))
    rows = fetch(_NEWER, {**parameters, "horizon": below, "sources": sources}, prepared=False)
    return [number for (number,) in rows]


# Webhooks whose receivers answer come first. A lease or a pause that is further ahead than possible was set before the
# clock was turned back, and is ignored.
_DUE = """
SELECT c.namespace_id, c.id FROM memory_webhook c
WHERE c.enabled
  AND NOT coalesce(c.leased_until > %(now)s AND c.leased_until <= %(until)s, false)
  AND NOT coalesce(c.paused_until > %(now)s AND c.paused_until <= %(most_pause)s, false)
  AND (EXISTS (SELECT FROM memory_webhookdelivery d
               WHERE d.namespace_id = c.namespace_id AND d.webhook_id = c.id AND d.state = 'waiting'
                 AND d.next_at <= %(now)s)
       OR EXISTS (SELECT FROM memory_auditlog a
                  WHERE a.namespace_id = c.namespace_id AND (a.xact, a.id) > (c.seen_xact, c.seen_id)
                    AND a.xact < %(horizon)s AND a.event_type <> 'QUERY' AND a.event_type <> 'CONTEXT_PACK'
                    AND a.event_type = ANY(%(sources)s)))
"""
_CLAIM = f"""
UPDATE memory_webhook w SET leased_until = %(until)s
FROM (
    {_DUE} ORDER BY c.failures, c.leased_until NULLS FIRST LIMIT %(limit)s FOR UPDATE OF c SKIP LOCKED
) AS free
WHERE w.namespace_id = free.namespace_id AND w.id = free.id
RETURNING w.namespace_id, w.id, w.leased_until
"""


def has_due(*, until: datetime, pause_until: datetime, below: int, sources: Sequence[str], now: datetime) -> bool:
    """Tells whether a webhook that no process has claimed has something to deliver.

    Leases that end after `until`, and pauses that end after `pause_until`, are ignored.
    """
    due = _name_due(until, pause_until, below, sources, now)
    [(found,)] = fetch(f"SELECT EXISTS ({_DUE})", due, prepared=False)
    return bool(found)


def claim(
    *, until: datetime, pause_until: datetime, below: int, sources: Sequence[str], limit: int, now: datetime
) -> list[tuple[int, uuid.UUID, datetime]]:
    """Claims up to `limit` such webhooks until `until`: (namespace id, id, end of the lease)."""
    due = _name_due(until, pause_until, below, sources, now)
    return fetch(_CLAIM, {**due, "limit": limit}, prepared=False)


def _name_due(
    until: datetime, pause_until: datetime, below: int, sources: Sequence[str], now: datetime
) -> dict[str, Any]:
    return {"now": now, "until": until, "most_pause": pause_until, "horizon": below, "sources": sources}
