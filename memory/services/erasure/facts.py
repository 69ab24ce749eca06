"""Finds the facts and replies that came of memories while these were being erased."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any

from django.db import connection

from memory.models import ErasedMemory
from memory.services.erasure.holder import Erased
from memory.services.tenancy import holds

_LOCK = """
SELECT m.id FROM memory_memory m
WHERE m.namespace_id = %(namespace_id)s AND m.id IN (
    SELECT l.memory_id FROM memory_memorylink l
    WHERE l.namespace_id = %(namespace_id)s AND l.other_id = ANY(%(memory_ids)s::uuid[]) AND l.kind = 'derived_from')
ORDER BY m.id FOR UPDATE
"""
# This is a separate statement, so that it sees the links that a previous lock holder has cleared.
_LIST_UNSUPPORTED = """
SELECT f.id FROM unnest(%(facts)s::uuid[]) AS f (id)
WHERE NOT EXISTS (
    SELECT FROM memory_memorylink k
    WHERE k.namespace_id = %(namespace_id)s AND k.memory_id = f.id AND k.kind = 'derived_from' AND k.confidence >= 1
      AND NOT EXISTS (SELECT FROM memory_erasedmemory e
                      WHERE e.namespace_id = %(namespace_id)s AND e.erasure_id = %(erasure_id)s
                        AND e.memory_id = k.other_id))
  AND NOT EXISTS (SELECT FROM memory_erasedmemory n
                  WHERE n.namespace_id = %(namespace_id)s AND n.erasure_id = %(erasure_id)s AND n.memory_id = f.id)
"""
# The window and the summaries of a session repeat the words of a reply.
_TAKE_DOWN_SESSIONS = """
INSERT INTO memory_erasedsession AS s (namespace_id, erasure_id, session, first_turn, state)
SELECT m.namespace_id, %(erasure_id)s, m.session, min(m.turn), 'open'
FROM memory_memory m
WHERE m.namespace_id = %(namespace_id)s AND m.id = ANY(%(found)s::uuid[]) AND m.turn > 0
GROUP BY m.namespace_id, m.session
ON CONFLICT (namespace_id, erasure_id, session) DO UPDATE
    SET first_turn = least(s.first_turn, EXCLUDED.first_turn), state = 'open'
"""
# Finds preferences that are erased while remaining turns state them in other words. A namespace has few preferences:
# they are read first, and each is looked up among the erased rows.
_READ_AGAIN = """
WITH gone AS MATERIALIZED (
    SELECT p.id FROM memory_memory p
    WHERE p.namespace_id = %(namespace_id)s AND p.is_preference AND p.state = 'active' AND p.superseded_by IS NULL
      AND (SELECT true FROM memory_erasedmemory e
           WHERE e.namespace_id = p.namespace_id AND e.erasure_id = %(erasure_id)s AND e.memory_id = p.id)
)
UPDATE memory_session s SET preference_turn = least(s.preference_turn, told.turn - 1)
FROM (
    SELECT o.session, min(o.turn) AS turn
    FROM gone p
    JOIN memory_memorylink l ON l.namespace_id = %(namespace_id)s AND l.memory_id = p.id AND l.kind = 'derived_from'
    JOIN memory_memory o ON o.namespace_id = l.namespace_id AND o.id = l.other_id
    WHERE o.turn > 0 AND (SELECT true FROM memory_erasedmemory x
                          WHERE x.namespace_id = o.namespace_id AND x.memory_id = o.id LIMIT 1) IS NULL
    GROUP BY o.session
) AS told
WHERE s.namespace_id = %(namespace_id)s AND s.name = told.session AND s.preference_turn >= told.turn
"""


def read_preferences_again(erased: Erased) -> None:
    """Has turns read again that state, in other words, a preference that is being erased.

    Runs before the memories are cleared, in a transaction that has locked none of them: readers lock sessions first.
    """
    with connection.cursor() as cursor:
        cursor.execute(_READ_AGAIN, {"namespace_id": erased.scope.namespace_id, "erasure_id": erased.id})


def take_down(erased: Erased, memory_ids: Sequence[uuid.UUID]) -> None:
    """Adds these memories and their sessions to the erasure. Inside a transaction."""
    rows = [
        ErasedMemory(namespace_id=erased.scope.namespace_id, erasure_id=erased.id, memory_id=identity)
        for identity in memory_ids
    ]
    ErasedMemory.objects.bulk_create(rows, ignore_conflicts=True)
    parameters: dict[str, Any] = {
        "namespace_id": erased.scope.namespace_id,
        "erasure_id": erased.id,
        "found": list(memory_ids),
    }
    with connection.cursor() as cursor:
        cursor.execute(_TAKE_DOWN_SESSIONS, parameters)


def take_down_late(erased: Erased, memory_ids: Sequence[uuid.UUID]) -> list[uuid.UUID]:
    """Adds the facts and replies that rest on these memories and are not named yet, and all that rest on them in turn,
    locked; none under a legal hold, and no fact that another memory states independently.

    Writers of facts lock their sources: facts stored before the erasure has the lock are seen here, and later writers
    find their sources gone. Inside the transaction that deletes the memories.
    """
    late: list[uuid.UUID] = []
    found = _take_down_resting(erased, memory_ids)
    while found:
        late += found
        found = _take_down_resting(erased, found)
    return late


def _take_down_resting(erased: Erased, memory_ids: Sequence[uuid.UUID]) -> list[uuid.UUID]:
    parameters: dict[str, Any] = {
        "namespace_id": erased.scope.namespace_id,
        "erasure_id": erased.id,
        "memory_ids": list(memory_ids),
    }
    with connection.cursor() as cursor:
        cursor.execute(_LOCK, parameters)
        resting = [identity for (identity,) in cursor.fetchall()]
        held = set(holds.under_hold(erased.scope.namespace_id, resting)) if resting else set()
        free = [identity for identity in resting if identity not in held]
        if not free:
            return []
        cursor.execute(_LIST_UNSUPPORTED, {**parameters, "facts": free})
        found = [identity for (identity,) in cursor.fetchall()]
    take_down(erased, found)
    return found
