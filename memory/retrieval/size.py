"""How large a namespace is, to choose by: a count that is there already, and need not be of this moment."""

from __future__ import annotations

from django.conf import settings
from django.db.models import Sum

from memory.caches import Cache, for_seconds
from memory.models import NamespaceStat
from memory.types import Scope

# Either way of searching is right for every size; a count of a moment ago chooses the faster one.
KNOWN_SECONDS = 5.0

# Keyed by the id of the namespace.
_counts: Cache[int, int] = for_seconds(KNOWN_SECONDS)


def is_large(scope: Scope) -> bool:
    """Whether the namespace has so many searchable memories that it is large."""
    return count_memories(scope) > settings.MEMOS_LARGE_NAMESPACE_MEMORIES


def count_memories(scope: Scope) -> int:
    """How many searchable memories the namespace had within the last KNOWN_SECONDS."""
    known = _counts.get(scope.namespace_id)
    if known is not None:
        return known
    counters = NamespaceStat.objects.filter(namespace_id=scope.namespace_id)
    return _counts.put(scope.namespace_id, counters.aggregate(memories=Sum("memories", default=0))["memories"])
