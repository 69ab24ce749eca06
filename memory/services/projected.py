"""Reads the map of a namespace: its points with what colours them, those that say a word, those of a cluster."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.db import connection
from django.db.models import Count, Exists, OuterRef

from memory.enums import EmbeddingState, MemoryKind, MemoryState
from memory.governance.strength import KIND_SQL
from memory.models import Memory, ProjectedMemory
from memory.models.memory import MemoryQuerySet
from memory.text.analysis import terms
from memory.types import Scope

# In the order of the numbers that points carry.
KINDS = tuple(MemoryKind)
ACTIVE, ARCHIVED, SUPERSEDED = range(3)
# The largest sessions have a colour of their own; the others share one.
NAMED_SESSIONS = 8
OTHER_SESSION = 255
MOST_USES = 65_535
_MAX_WORDS = 32


@dataclass(frozen=True, slots=True)
class Points:
    """Columns of one length, in the order of the ids.

    `places` float32 [rows, 3]; `occurred` seconds since 1970; `uses` capped; `kind` numbers KINDS, `state` is ACTIVE,
    ARCHIVED or SUPERSEDED, `importance` from 0 to 255, `session` numbers `sessions` (name, points) or OTHER_SESSION.
    """

    ids: list[uuid.UUID]
    places: np.ndarray
    occurred: np.ndarray
    uses: np.ndarray
    kind: np.ndarray
    state: np.ndarray
    importance: np.ndarray
    session: np.ndarray
    cluster: np.ndarray
    sessions: list[tuple[str, int]]


_POINTS = f"""
SELECT p.memory_id, p.x, p.y, p.z, p.cluster, {KIND_SQL}, m.state, m.superseded_by IS NOT NULL, m.importance,
       least(coalesce(u.uses, 0), {MOST_USES}), extract(epoch FROM m.occurred_at)::float8, m.session
FROM memory_projectedmemory p
JOIN memory_embeddingmodel e ON e.id = p.model_id AND e.state = %(model_state)s
JOIN memory_memory m ON m.namespace_id = p.namespace_id AND m.id = p.memory_id
LEFT JOIN memory_memoryupkeep u ON u.namespace_id = p.namespace_id AND u.memory_id = p.memory_id
WHERE p.namespace_id = %(namespace_id)s
ORDER BY p.memory_id
"""  # noqa: S608 - put together from constants


def points(scope: Scope) -> Points:
    """The points of the namespace's map; none while there is no map."""
    with connection.cursor() as cursor:
        cursor.execute(_POINTS, {"namespace_id": scope.namespace_id, "model_state": EmbeddingState.ACTIVE.value})
        rows: Sequence[tuple[Any, ...]] = cursor.fetchall()
    named = _largest(Counter(row[11] for row in rows))
    numbers = {name: number for number, (name, _) in enumerate(named)}
    kinds = {kind.value: number for number, kind in enumerate(KINDS)}
    states = [ARCHIVED if row[6] == MemoryState.ARCHIVED else SUPERSEDED if row[7] else ACTIVE for row in rows]
    return Points(
        ids=[row[0] for row in rows],
        places=np.array([row[1:4] for row in rows], dtype=np.float32).reshape(-1, 3),
        occurred=np.array([max(0, min(row[10], 2**32 - 1)) for row in rows], dtype=np.uint32),
        uses=np.array([row[9] for row in rows], dtype=np.uint16),
        kind=np.array([kinds[row[5]] for row in rows], dtype=np.uint8),
        state=np.array(states, dtype=np.uint8),
        importance=np.array([round(row[8] * 255) for row in rows], dtype=np.uint8),
        session=np.array([numbers.get(row[11], OTHER_SESSION) for row in rows], dtype=np.uint8),
        cluster=np.array([row[4] for row in rows], dtype=np.uint8),
        sessions=named,
    )


def sessions(scope: Scope) -> list[tuple[str, int]]:
    """The sessions that `points` numbers, without the points."""
    rows = _on_map(scope).order_by().values_list("session").annotate(count=Count("pk"))
    return _largest(dict(rows))


def _largest(sizes: Mapping[str, int]) -> list[tuple[str, int]]:
    return sorted(sizes.items(), key=lambda item: (-item[1], item[0]))[:NAMED_SESSIONS]


def saying(scope: Scope, *, words: str) -> list[uuid.UUID]:
    """The memories on the map that have all of `words` in them; none for words that are not indexed."""
    wanted = list(dict.fromkeys(terms(words.replace("\0", ""))))[:_MAX_WORDS]
    if not wanted:
        return []
    rows = _on_map(scope).filter(terms__contains=wanted)
    return list(rows.order_by("pk").values_list("pk", flat=True))


def of_cluster(scope: Scope, *, number: int) -> MemoryQuerySet:
    """The memories on the map in one of its clusters."""
    return _on_map(scope, cluster=number)


def _on_map(scope: Scope, **where: int) -> MemoryQuerySet:
    placed = ProjectedMemory.objects.filter(
        namespace_id=OuterRef("namespace_id"), memory_id=OuterRef("pk"), model__state=EmbeddingState.ACTIVE, **where
    )
    rows: MemoryQuerySet = Memory.objects.in_scope(scope).filter(Exists(placed))
    return rows
