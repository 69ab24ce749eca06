"""Reads the size of a namespace from its counters, cached, to choose between ways of searching."""

from __future__ import annotations

from django.conf import settings
from django.db.models import Sum

from memory.caches import Cache, for_seconds
from memory.models import NamespaceStat
from memory.types import Scope

# A stale count is harmless: every way of searching is correct for every size, and the count only chooses the faster.
KNOWN_SECONDS = 5.0

# Keyed by the id of the namespace.
_counts: Cache[int, int] = for_seconds(KNOWN_SECONDS)


def is_large(scope: Scope) -> bool:
    """Tells whether the namespace has more searchable memories than MEMOS_LARGE_NAMESPACE_MEMORIES."""
    return count_memories(scope) > settings.MEMOS_LARGE_NAMESPACE_MEMORIES


def count_memories(scope: Scope) -> int:
    """Counts the searchable memories of the namespace; cached for KNOWN_SECONDS."""
    known = _counts.get(scope.namespace_id)
    if known is not None:
        return known
    counters = NamespaceStat.objects.filter(namespace_id=scope.namespace_id)
    return _counts.put(scope.namespace_id, counters.aggregate(memories=Sum("memories", default=0))["memories"])
