"""Which data sets, and so which adapters, have learnt what holds no longer.

It is read from the memories whenever it matters, so that no way of changing one is missed; what is stored on the rows
is for lists, and for who unloads and rebuilds.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Mapping
from typing import Any

from django.db import connection

from memory.services.training.materials import TrainingText, fingerprint_sql

_LOCKED_AT_ONCE = 2_000
_REASONS = ("gone", "changed", "superseded", "reinstated", "archived")
# In the order in which a memory is counted once.
_STALE = f"""
SELECT s.dataset_id,
       count(*) FILTER (WHERE m.id IS NULL),
       count(*) FILTER (WHERE m.id IS NOT NULL AND {fingerprint_sql("m")} <> s.fingerprint),
       count(*) FILTER (WHERE {fingerprint_sql("m")} = s.fingerprint AND m.superseded_by IS NOT NULL
                          AND NOT s.superseded),
       count(*) FILTER (WHERE {fingerprint_sql("m")} = s.fingerprint AND m.superseded_by IS NULL AND s.superseded),
       count(*) FILTER (WHERE {fingerprint_sql("m")} = s.fingerprint AND m.superseded_by IS NULL
                          AND NOT s.superseded AND m.state <> 'active')
FROM memory_trainingsource s
LEFT JOIN memory_memory m ON m.namespace_id = s.namespace_id AND m.id = s.memory_id
WHERE s.namespace_id = %(namespace_id)s AND s.dataset_id = ANY(%(dataset_ids)s::uuid[])
GROUP BY s.dataset_id
"""
_LOCK = f"""
SELECT m.id, {fingerprint_sql("m")}, m.superseded_by IS NOT NULL FROM memory_memory m
WHERE m.namespace_id = %(namespace_id)s AND m.id = ANY(%(ids)s::uuid[])
  AND (m.state = 'active' OR m.superseded_by IS NOT NULL)
  AND NOT EXISTS (SELECT FROM memory_erasedmemory e WHERE e.namespace_id = m.namespace_id AND e.memory_id = m.id)
ORDER BY m.id FOR SHARE OF m
"""


def find_stale(namespace_id: int, dataset_ids: Collection[uuid.UUID]) -> dict[uuid.UUID, dict[str, int]]:
    """Of those data sets that are stale, how many memories are not as they were, by reason.

    What an erasure took away is not counted here: its source is gone as well, and the row says so.
    """
    if not dataset_ids:
        return {}
    with connection.cursor() as cursor:
        cursor.execute(_STALE, {"namespace_id": namespace_id, "dataset_ids": list(dataset_ids)})
        rows = cursor.fetchall()
    found = {}
    for dataset_id, *counts in rows:
        reasons = {name: count for name, count in zip(_REASONS, counts, strict=True) if count}
        if reasons:
            found[dataset_id] = reasons
    return found


def lock_sources(namespace_id: int, sources: Mapping[uuid.UUID, TrainingText]) -> bool:
    """Locks the memories against change until the transaction ends; whether all are as they were read.

    An erasure waits for the lock, or has begun already: then this is False.
    """
    ids = sorted(sources)
    for start in range(0, len(ids), _LOCKED_AT_ONCE):
        some = ids[start : start + _LOCKED_AT_ONCE]
        with connection.cursor() as cursor:
            cursor.execute(_LOCK, {"namespace_id": namespace_id, "ids": some})
            rows = cursor.fetchall()
        same = [
            (bytes(fingerprint), superseded) == (sources[key].fingerprint, sources[key].superseded)
            for key, fingerprint, superseded in rows
        ]
        if len(same) != len(some) or not all(same):
            return False
    return True


def describe(reasons: Mapping[str, Any]) -> str:
    """The reasons in words."""
    words = {
        "erased": "erased",
        "gone": "deleted",
        "changed": "changed",
        "superseded": "superseded",
        "reinstated": "reinstated",
        "archived": "archived",
    }
    return ", ".join(f"{count} {words[name]}" for name, count in reasons.items())
