"""SQL of retention: importance in batches, and the selection of memories for a forecast."""

from __future__ import annotations

import uuid
from collections.abc import Mapping

from memory.models.sql import change_rows

# Equal texts are found by their hash in an index, without reading texts.
_REPEATS = """
WITH repeated AS (
    SELECT content_hash, least(count(*), %(most)s)::smallint AS repeats
    FROM memory_memory WHERE namespace_id = %(namespace_id)s GROUP BY content_hash HAVING count(*) > 1
)
INSERT INTO memory_memoryupkeep AS k (namespace_id, memory_id, repeats, stale)
SELECT m.namespace_id, m.id, r.repeats, true
FROM repeated r JOIN memory_memory m ON m.namespace_id = %(namespace_id)s AND m.content_hash = r.content_hash
LEFT JOIN memory_memoryupkeep u ON u.namespace_id = m.namespace_id AND u.memory_id = m.id
WHERE coalesce(u.repeats, 1) <> r.repeats
ORDER BY m.id FOR KEY SHARE OF m
ON CONFLICT (namespace_id, memory_id) DO UPDATE SET repeats = EXCLUDED.repeats, stale = true
"""
_RATED = """
UPDATE memory_memory m SET importance = v.importance
FROM unnest(%s::uuid[], %s::float8[]) AS v (memory_id, importance)
WHERE m.namespace_id = %s AND m.id = v.memory_id
"""
_UP_TO_DATE = """
UPDATE memory_memoryupkeep u SET importance = v.importance, stale = false
FROM unnest(%s::uuid[], %s::float8[]) AS v (memory_id, importance)
WHERE u.namespace_id = %s AND u.memory_id = v.memory_id
"""


def count_repeats(namespace_id: int, *, most: int) -> None:
    """Stores how often each text occurs in the namespace, up to `most`, and marks memories whose number changed."""
    change_rows(_REPEATS, {"namespace_id": namespace_id, "most": most})


def set_importance(namespace_id: int, values: Mapping[uuid.UUID, float]) -> None:
    """Sets the importance of memories, which the caller has locked."""
    change_rows(_RATED, [list(values), list(values.values()), namespace_id])


def mark_rated(namespace_id: int, values: Mapping[uuid.UUID, float | None]) -> None:
    """Stores the computed importance of memories, which the caller has locked, and clears their stale marks."""
    change_rows(_UP_TO_DATE, [list(values), list(values.values()), namespace_id])


def select_active(condition: str) -> str:
    """Returns SQL for the ids of active memories `m`, with their upkeep `u`, that meet a condition."""
    return (
        "SELECT m.id FROM memory_memory m "
        "LEFT JOIN memory_memoryupkeep u ON u.namespace_id = m.namespace_id AND u.memory_id = m.id "
        f"WHERE m.namespace_id = %(namespace_id)s AND m.state = %(active)s AND {condition}"
    )
