"""Names pgvector's HNSW indexes, one for each large namespace and model, and looks up which exist.

PostgreSQL's catalogue is the only record of them: an index can be dropped or restored outside of MemOS, and a table of
indexes would have to be kept in step.
"""

from __future__ import annotations

from memory.caches import Cache, for_seconds
from memory.models.sql import fetch
from memory.types import Scope

# A stale answer is harmless: the search without the index is correct as well, only slower.
KNOWN_SECONDS = 5.0
PREFIX = "memory_hnsw_"
# pgvector indexes half-precision vectors of at most this many dimensions.
MOST_DIMENSIONS = 4_000
# The first version with iterative scans, which continue when a filter leaves too few results.
MIN_PGVECTOR = (0, 8)

# Keyed by the ids of namespace and model.
_ready: Cache[tuple[int, int], bool] = for_seconds(KNOWN_SECONDS)

_IS_READY = """
SELECT EXISTS (
    SELECT FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
    WHERE c.relname = %(name)s AND c.relnamespace = current_schema()::regnamespace AND i.indisvalid
)
"""


def name_index(namespace_id: int, model_id: int) -> str:
    """Returns the name of the index of a namespace's vectors under a model."""
    return f"{PREFIX}{namespace_id}_{model_id}"


def is_ready(scope: Scope, model_id: int) -> bool:
    """Tells whether the namespace's vectors under the model have a usable index; cached for KNOWN_SECONDS.

    An index that is still being built is not usable.
    """
    key = (scope.namespace_id, model_id)
    known = _ready.get(key)
    if known is not None:
        return known
    [(ready,)] = fetch(_IS_READY, {"name": name_index(*key)}, prepared=True)
    return _ready.put(key, bool(ready))
