"""Counts the contents of a cube, and describes its policy."""

from __future__ import annotations

from statistics import fmean
from typing import Any

from django.db.models import Func, IntegerField

from memory.enums import MemoryKind
from memory.governance.policy import nest
from memory.models import Cube, Document, Entity, Memory, Session
from memory.models.sql import count_each
from memory.services.index import entries
from memory.services.tenancy.policy import governing

# Each kind is counted up to here, because a full count would read all of a large namespace.
MOST_COUNTED = 100_000
_SAMPLE = 1000


class OctetLength(Func):
    """The number of bytes of a text in UTF-8."""

    function = "octet_length"
    output_field = IntegerField()


def count_contents(cube: Cube) -> dict[str, Any]:
    """Count the memories of each kind, each up to MOST_COUNTED, and the other contents of a cube.

    `text_bytes` is estimated from the newest memories.
    """
    active = Memory.objects.filter(namespace_id=cube.namespace_id).active()
    counts = count_each(
        *(active.of_kind(kind) for kind in MemoryKind),
        Session.objects.filter(namespace_id=cube.namespace_id, message_count__gt=0),
        Document.objects.filter(namespace_id=cube.namespace_id),
        Entity.objects.filter(namespace_id=cube.namespace_id, merged_into=None),
        most=MOST_COUNTED,
    )
    memories = entries.count_searchable(cube.namespace_id)
    sizes = active.order_by("-pk").values_list(OctetLength("text"), flat=True)[:_SAMPLE]
    average = fmean(sizes) if sizes else 0.0
    sessions, documents, entities = counts[len(MemoryKind) :]
    return {
        "memories": memories,
        "by_kind": {str(kind): count for kind, count in zip(MemoryKind, counts, strict=False)},
        "sessions": sessions,
        "documents": documents,
        "entities": entities,
        "text_bytes": round(average * memories),
    }


def describe_policy(cube: Cube) -> dict[str, Any]:
    """Describe the cube's policy, for callers whose key reaches its namespace: the values in force, and its own."""
    found = governing(cube.namespace_id)
    values = nest(found.effective.values)
    return {
        "policy_version": found.version,
        "policy": nest(found.overrides),
        "models": values["models"],
    }
