"""Keeps what decay and importance need to know of memories: how they were used, marked and restored."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson
from django.db import connection, transaction

from memory.enums import AuditEvent
from memory.models import UpkeepMark
from memory.models.keys import first_id_of
from memory.services.memories import asked_for
from memory.stores.asked import AskedMemory
from memory.types import Scope

USES = "uses"
# Audit events that one transaction counts.
EVENTS = 1_000
# Of a pack, so many of its hits say what was asked for; those behind them came along.
FOREMOST = 3
# Events younger than this wait: one with a smaller id may still be on its way.
SETTLED = timedelta(minutes=1)


def note_restored(memories: Iterable[tuple[int, uuid.UUID]], *, now: datetime) -> None:
    """Starts the age of memories, given as (namespace id, id), anew; an expiry that is past is forgotten."""
    namespace_ids, ids = zip(*sorted(memories), strict=True)
    with connection.cursor() as cursor:
        cursor.execute(
            """
            INSERT INTO memory_memoryupkeep AS u (namespace_id, memory_id, restored_at)
            SELECT namespace_id, memory_id, %s FROM unnest(%s::bigint[], %s::uuid[]) AS r (namespace_id, memory_id)
            ON CONFLICT (namespace_id, memory_id) DO UPDATE SET
                restored_at = EXCLUDED.restored_at,
                expires_at = CASE WHEN u.expires_at > EXCLUDED.restored_at THEN u.expires_at END
            """,
            [now, list(namespace_ids), list(ids)],
        )


def note_marked(scope: Scope, *, memory_ids: Iterable[uuid.UUID]) -> None:
    """Has the importance of memories computed anew: a person has marked them."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            INSERT INTO memory_memoryupkeep (namespace_id, memory_id, stale)
            SELECT %s, memory_id, true FROM unnest(%s::uuid[]) AS r (memory_id)
            ON CONFLICT (namespace_id, memory_id) DO UPDATE SET stale = true
            """,
            [scope.namespace_id, sorted(memory_ids)],
        )


# What a question brought back is in its audit event: no query waits for a count. A memory that is gone is left out, and
# locked so that it stays until it is counted.
_COUNT = """
WITH events AS MATERIALIZED (
    SELECT id, namespace_id, session, event_type, created_at,
           CASE WHEN event_type = ANY(%(types)s) AND jsonb_typeof(details -> 'memory_ids') = 'array'
                THEN details -> 'memory_ids' END AS ids
    FROM memory_auditlog WHERE id > %(after)s AND id < %(before)s ORDER BY id LIMIT %(limit)s
), used AS (
    SELECT e.namespace_id, i.memory_id::uuid AS memory_id, count(*)::int AS uses, max(e.created_at) AS last_used_at
    FROM events e, jsonb_array_elements_text(e.ids) AS i (memory_id) GROUP BY 1, 2
), present AS (
    SELECT d.* FROM used d JOIN memory_memory m ON m.namespace_id = d.namespace_id AND m.id = d.memory_id
    ORDER BY d.namespace_id, d.memory_id FOR KEY SHARE OF m
), counted AS (
    INSERT INTO memory_memoryupkeep AS u (namespace_id, memory_id, uses, last_used_at, stale)
    SELECT namespace_id, memory_id, uses, last_used_at, true FROM present
    ON CONFLICT (namespace_id, memory_id) DO UPDATE SET
        uses = least(u.uses::bigint + EXCLUDED.uses, 2147483647), stale = true,
        last_used_at = greatest(u.last_used_at, EXCLUDED.last_used_at)
    RETURNING 1
), asked AS (
    SELECT e.namespace_id, e.session, i.memory_id::uuid AS memory_id, count(*)::int AS times, max(e.created_at) AS at
    FROM events e, jsonb_array_elements_text(e.ids) WITH ORDINALITY AS i (memory_id, place)
    WHERE e.event_type = %(pack)s AND e.session <> '' AND i.place <= %(foremost)s
      AND (e.namespace_id, i.memory_id::uuid) IN (SELECT namespace_id, memory_id FROM present)
    GROUP BY 1, 2, 3
)
SELECT count(*), (SELECT id FROM events ORDER BY id DESC LIMIT 1), (SELECT coalesce(sum(uses), 0) FROM present),
       (SELECT count(*) FROM counted),
       (SELECT jsonb_agg(jsonb_build_array(namespace_id, session, memory_id, times, extract(epoch FROM at)::float8)
                         ORDER BY namespace_id, memory_id, session)::text FROM asked)
FROM events
"""


def count_uses(*, now: datetime, seconds: float = float("inf")) -> int:
    """Adds to each memory how often packs and searches carried it since the last time; returns how many uses.

    Goes on where it ended; the place and the counts change together, so each event counts once. Of two runs at once the
    second does nothing. Ends after about `seconds`.
    """
    deadline = time.monotonic() + seconds
    UpkeepMark.objects.get_or_create(name=USES)
    total = 0
    more = True
    while more and time.monotonic() < deadline:
        used, more = _count_batch(now=now)
        total += used
    return total


def _count_batch(*, now: datetime) -> tuple[int, bool]:
    with transaction.atomic():
        mark = UpkeepMark.objects.select_for_update(skip_locked=True).filter(name=USES).first()
        if mark is None:
            return 0, False
        before = first_id_of(now - SETTLED)
        # A clock that was ahead has left a place in the future: nothing would be counted until then.
        after = min(mark.position or uuid.UUID(int=0), before)
        parameters: dict[str, Any] = {
            "types": [AuditEvent.QUERY.value, AuditEvent.CONTEXT_PACK.value],
            "after": after,
            "before": before,
            "limit": EVENTS,
            "pack": AuditEvent.CONTEXT_PACK.value,
            "foremost": FOREMOST,
        }
        with connection.cursor() as cursor:
            cursor.execute(_COUNT, parameters)
            read, last, used, _, asked = cursor.fetchone()
        # While the memories are locked: an erasure that comes now finds what is noted of them.
        asked_for.note_asked([_read_asked(*row) for row in orjson.loads(asked or "[]")])
        if last is not None or after != mark.position:
            mark.position = last or after
            mark.save(update_fields=["position"])
    return int(used), read == EVENTS


def _read_asked(namespace_id: int, session: str, memory_id: str, times: int, at: float) -> AskedMemory:
    return AskedMemory(namespace_id, session, uuid.UUID(memory_id), times, datetime.fromtimestamp(at, UTC))
