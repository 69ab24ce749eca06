"""Builds the map: axes, clusters, the points as a binary file, and a memory with its neighbours."""

from __future__ import annotations

import struct
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from memory.enums import MemoryKind
from memory.errors import MemosError
from memory.models import Job, Memory
from memory.services.index.neighbours import Near, near_memory
from memory.services.projection import fit, read
from memory.services.projection.read import Points
from memory.types import Access, Scope
from ops import picked
from ops.words import Words

NEIGHBOURS = 8
KINDS: Mapping[MemoryKind, Words] = {
    MemoryKind.SAID: gettext_lazy("What people said"),
    MemoryKind.ANSWERED: gettext_lazy("What agents said"),
    MemoryKind.EPISODE: gettext_lazy("Small talk"),
    MemoryKind.DOCUMENT: gettext_lazy("Chunks of documents"),
    MemoryKind.FACT: gettext_lazy("Facts"),
    MemoryKind.PREFERENCE: gettext_lazy("Preferences"),
}


@dataclass(frozen=True, slots=True)
class Clump:
    """A cluster in the list. Its name may be only a number, because its words are memory text."""

    number: int
    name: str
    size: int
    link: str


@dataclass(frozen=True, slots=True)
class Map:
    """The map. `job` is set while it is being drawn, `failed` if the last attempt failed."""

    chart: fit.Chart | None
    clumps: list[Clump]
    job: Job | None
    failed: Job | None
    explained: float

    @property
    def sampled(self) -> bool:
        return self.chart is not None and self.chart.shown < self.chart.memories


def build_map(scope: Scope, *, readable: bool) -> Map:
    """Return the map as it was last drawn. `readable`: the user may read memory text."""
    chart = fit.chart(scope)
    clusters = sorted(chart.clusters, key=lambda one: -one.size) if chart else []
    clumps = [
        Clump(one.number, _name(one, readable=readable), one.size, picked.link(scope, picked.cluster(one.number)))
        for one in clusters
        if one.size
    ]
    job = fit.in_the_making(scope)
    return Map(chart, clumps, job, fit.last_failure(scope), sum(chart.explained) if chart else 0.0)


def metadata(found: Map, sessions: Sequence[tuple[str, int]]) -> dict[str, Any]:
    """Return what the script needs besides the points: names, in the order of their numbers."""
    return {
        "kinds": [str(KINDS[kind]) for kind in read.KINDS],
        "states": [_("Active"), _("Archived"), _("Superseded")],
        "sessions": [name for name, _count in sessions],
        "clusters": {one.number: one.name for one in found.clumps},
        "most_in_address": picked.MAX_IN_ADDRESS,
    }


def binary(points: Points) -> bytes:
    """Encode points, little-endian, with a column of all points for each field.

    The fields are count (uint32), x, y, z (float32 each), occurred (uint32), uses (uint16), kind, state, importance,
    session, cluster (uint8 each), and ids (16 bytes each).
    """
    columns = [
        struct.pack("<I", len(points.places)),
        *(points.places[:, axis].astype("<f4").tobytes() for axis in range(3)),
        points.occurred.astype("<u4").tobytes(),
        points.uses.astype("<u2").tobytes(),
        *(getattr(points, name).tobytes() for name in ("kind", "state", "importance", "session", "cluster")),
        points.ids,
    ]
    return b"".join(columns)


@dataclass(frozen=True, slots=True)
class Looked:
    """A memory, and the nearest ones by all dimensions of its vector. `problem` says why these are unknown."""

    memory: Memory
    near: list[Near]
    problem: str = ""


def look_at(access: Access, memory: Memory, *, now: datetime) -> Looked:
    try:
        return Looked(memory, near_memory(access, memory_id=memory.pk, limit=NEIGHBOURS, now=now))
    except MemosError as error:
        return Looked(memory, [], error.message)


def ids_of(text: str) -> list[uuid.UUID]:
    """Parse ids from a form, at most picked.MAX_SELECTED. Raises ValueError."""
    return [uuid.UUID(one) for one in text.split(",") if one][: picked.MAX_SELECTED]


def _name(cluster: fit.Cluster, *, readable: bool) -> str:
    if readable and cluster.words:
        return " · ".join(cluster.words)
    return _("Cluster %(number)s") % {"number": cluster.number + 1}
