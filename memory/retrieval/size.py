"""How large a namespace is, to choose by: a count that is there already, and need not be of this moment."""

from __future__ import annotations

from django.conf import settings

from memory.caches import Cache, for_seconds
from memory.models.sql import fetch
from memory.types import Scope

# Either way of searching is right for every size; a count of a moment ago chooses the faster one.
KNOWN_SECONDS = 5.0

# By the id of a namespace.
_counts: Cache[int, int] = for_seconds(KNOWN_SECONDS)

_COUNT = """
SELECT coalesce(sum(memories), 0)::bigint FROM memory_namespacestat WHERE namespace_id = %(namespace_id)s
"""


def is_large(scope: Scope) -> bool:
    """Whether the namespace has so many searchable memories that it is large."""
    return count_memories(scope) > settings.MEMOS_LARGE_NAMESPACE_MEMORIES


def count_memories(scope: Scope) -> int:
    """How many searchable memories the namespace had within the last KNOWN_SECONDS."""
    known = _counts.get(scope.namespace_id)
    if known is not None:
        return known
    [(memories,)] = fetch(_COUNT, {"namespace_id": scope.namespace_id}, prepared=True)
    return _counts.put(scope.namespace_id, int(memories))
