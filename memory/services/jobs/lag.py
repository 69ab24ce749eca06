"""How long turns wait for what is made of them in the background: names and relations, and what they do to others."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from memory.models.sql import fetch
from memory.postgresql import reach
from memory.types import Access, system_access

# Under load: what is longer says that there are too few workers.
EXPECTED = timedelta(minutes=5)

# Of each session that waits, the first turn that does: its last message says nothing of a session that talks on.
_OLDEST = """
SELECT min(first.created_at) FROM memory_session s
{marks}
CROSS JOIN LATERAL (
    SELECT m.created_at FROM memory_memory m
    WHERE m.namespace_id = s.namespace_id AND m.session = s.name AND m.turn > {turn}
    ORDER BY m.turn LIMIT 1
) AS first
WHERE s.message_count > {turn} AND (%(everywhere)s::bool OR s.namespace_id = ANY(%(namespaces)s::bigint[]))
"""
_SETTLING = _OLDEST.format(marks="", turn="s.settled_turn")
_ENTITIES = _OLDEST.format(
    marks="LEFT JOIN memory_entitywatermark w ON w.namespace_id = s.namespace_id AND w.session = s.name",
    turn="coalesce(w.turn, 0)",
)


@dataclass(frozen=True, slots=True)
class TurnLag:
    """Since when the oldest turn waits that was not read for names (`entities`), or not compared (`settling`)."""

    entities: timedelta
    settling: timedelta

    @property
    def longest(self) -> timedelta:
        return max(self.entities, self.settling)


def measure_lag(access: Access, *, now: datetime) -> TurnLag:
    """Over the namespaces that the caller reaches; nothing where none waits."""
    return TurnLag(_since(_ENTITIES, access, now), _since(_SETTLING, access, now))


def longest_lag(*, now: datetime) -> timedelta:
    """Of all namespaces: since when the oldest turn waits for either."""
    with reach.across_namespaces():
        return measure_lag(system_access("worker"), now=now).longest


def _since(statement: str, access: Access, now: datetime) -> timedelta:
    parameters: dict[str, Any] = {
        "everywhere": access.all_namespaces,
        "namespaces": sorted(access.namespace_ids),
    }
    [(oldest,)] = fetch(statement, parameters, prepared=False)
    return max(timedelta(), now - oldest) if oldest else timedelta()
