"""Reads the map of a namespace: its points with the values that colour them, the points of a word, those of a
cluster."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from django.db.models import Count, Exists

from memory.enums import EmbeddingState, MemoryKind, MemoryState
from memory.kinds import KIND_SQL
from memory.models import Memory, ProjectedMemory
from memory.models.memory import MemoryQuerySet
from memory.models.sql import fetch
from memory.text.analysis import terms
from memory.types import Scope

# The kinds in the order of their numbers in points.
KINDS = tuple(MemoryKind)
ACTIVE, ARCHIVED, SUPERSEDED = range(3)
# The largest sessions have separate colours; the others share one.
NAMED_SESSIONS = 8
OTHER_SESSION = 255
MOST_USES = 65_535
_MAX_WORDS = 32


@dataclass(frozen=True, slots=True)
class Points:
    """Columns of the same length, in the order of the ids.

    `ids`: 16 bytes each; `places`: float32 [rows, 3]; `occurred`: seconds since 1970; `uses`: capped; `kind`: an index
    into KINDS; `state`: ACTIVE, ARCHIVED or SUPERSEDED; `importance`: 0 to 255; `session`: an index into `sessions`
    (name, points), or OTHER_SESSION.
    """

    ids: bytes
    places: np.ndarray
    occurred: np.ndarray
    uses: np.ndarray
    kind: np.ndarray
    state: np.ndarray
    importance: np.ndarray
    session: np.ndarray
    cluster: np.ndarray
    sessions: list[tuple[str, int]]


# A record for each point, as _POINT reads it: ten thousand rows of twelve values would cost more than all the rest.
_POINTS = f"""
SELECT string_agg(
           uuid_send(memory_id) || float4send(x) || float4send(y) || float4send(z) || int2send(cluster)
               || int2send(kind) || int2send(state) || int4send(uses) || float8send(importance) || float8send(occurred),
           ''),
       array_agg(session)
FROM (
    SELECT p.memory_id, p.x::float4, p.y::float4, p.z::float4, p.cluster::int2,
           (array_position(%(kinds)s::text[], {KIND_SQL}) - 1)::int2 AS kind,
           (CASE WHEN m.state = %(archived)s THEN {ARCHIVED} WHEN m.superseded_by IS NULL THEN {ACTIVE}
                 ELSE {SUPERSEDED} END)::int2 AS state,
           least(coalesce(u.uses, 0), {MOST_USES})::int4 AS uses, m.importance::float8,
           extract(epoch FROM m.occurred_at)::float8 AS occurred, m.session
    FROM memory_projectedmemory p
    JOIN memory_embeddingmodel e ON e.id = p.model_id AND e.state = %(model_state)s
    JOIN memory_memory m ON m.namespace_id = p.namespace_id AND m.id = p.memory_id
    LEFT JOIN memory_memoryupkeep u ON u.namespace_id = p.namespace_id AND u.memory_id = p.memory_id
    WHERE p.namespace_id = %(namespace_id)s
    ORDER BY p.memory_id
) AS point
"""  # noqa: S608 - put together from constants
_POINT = np.dtype(
    [("id", "V16"), ("place", ">f4", 3), ("cluster", ">i2"), ("kind", ">i2"), ("state", ">i2"), ("uses", ">i4"),
     ("importance", ">f8"), ("occurred", ">f8")]
)  # fmt: skip


def points(scope: Scope) -> Points:
    """Return the points of the namespace's map; none while there is no map."""
    parameters = {
        "namespace_id": scope.namespace_id,
        "model_state": EmbeddingState.ACTIVE.value,
        "archived": MemoryState.ARCHIVED.value,
        "kinds": [kind.value for kind in KINDS],
    }
    [(records, names)] = fetch(_POINTS, parameters, prepared=False, binary=True)
    found, of_session = np.frombuffer(records or b"", dtype=_POINT), names or []
    named = _largest(Counter(of_session))
    numbers = {name: number for number, (name, _) in enumerate(named)}
    return Points(
        ids=found["id"].tobytes(),
        places=found["place"].astype(np.float32),
        occurred=found["occurred"].clip(0, 2**32 - 1).astype(np.uint32),
        uses=found["uses"].astype(np.uint16),
        kind=found["kind"].astype(np.uint8),
        state=found["state"].astype(np.uint8),
        importance=(found["importance"] * 255).round().astype(np.uint8),
        session=np.array([numbers.get(name, OTHER_SESSION) for name in of_session], dtype=np.uint8),
        cluster=found["cluster"].astype(np.uint8),
        sessions=named,
    )


def sessions(scope: Scope) -> list[tuple[str, int]]:
    """Return the sessions that `points` numbers, without the points."""
    rows = _on_map(scope).order_by().values_list("session").annotate(count=Count("pk"))
    return _largest(dict(rows))


def _largest(sizes: Mapping[str, int]) -> list[tuple[str, int]]:
    return sorted(sizes.items(), key=lambda item: (-item[1], item[0]))[:NAMED_SESSIONS]


def saying(scope: Scope, *, words: str) -> list[uuid.UUID]:
    """Return the memories on the map that contain all of `words`; none for words that are not indexed."""
    wanted = list(dict.fromkeys(terms(words.replace("\0", ""))))[:_MAX_WORDS]
    if not wanted:
        return []
    rows = _on_map(scope).filter(terms__contains=wanted)
    return list(rows.order_by("pk").values_list("pk", flat=True))


def of_cluster(scope: Scope, *, number: int) -> MemoryQuerySet:
    """Select the memories on the map in one of its clusters."""
    return _on_map(scope, cluster=number)


def _on_map(scope: Scope, **where: int) -> MemoryQuerySet:
    placed = ProjectedMemory.objects.of_memory().filter(**where)
    rows: MemoryQuerySet = Memory.objects.in_scope(scope).filter(Exists(placed))
    return rows
