"""How large a namespace is, to choose by: a count that is there already, and need not be of this moment."""

from __future__ import annotations

import time

from django.conf import settings

from memory.models.sql import fetch
from memory.types import Scope

# Either way of searching is right for every size; a count of a moment ago chooses the faster one.
KNOWN_SECONDS = 5.0
_KNOWN_AT_MOST = 10_000

_known: dict[int, tuple[float, int]] = {}

_COUNT = """
SELECT coalesce(sum(memories), 0)::bigint FROM memory_namespacestat WHERE namespace_id = %(namespace_id)s
"""


def is_large(scope: Scope) -> bool:
    """Whether the namespace has more than MEMOS_LARGE_NAMESPACE_MEMORIES searchable memories."""
    return _memories(scope) > settings.MEMOS_LARGE_NAMESPACE_MEMORIES


def forget_known() -> None:
    """Makes every next look-up ask the database."""
    _known.clear()


def _memories(scope: Scope) -> int:
    now = time.monotonic()
    seen = _known.get(scope.namespace_id)
    if seen is not None and now - seen[0] < KNOWN_SECONDS:
        return seen[1]
    [(memories,)] = fetch(_COUNT, {"namespace_id": scope.namespace_id}, prepared=True)
    if len(_known) >= _KNOWN_AT_MOST:
        _known.clear()
    _known[scope.namespace_id] = (now, int(memories))
    return int(memories)
