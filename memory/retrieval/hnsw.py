"""Names pgvector's HNSW indexes, one for each large namespace and model, and looks up which are there.

PostgreSQL's catalogue is the only record of them. An index may be dropped or restored by others, and a row that says
so would have to be kept in step.
"""

from __future__ import annotations

from memory.caches import Cache, for_seconds
from memory.models.sql import fetch
from memory.types import Scope

# A search without the index is right as well: a look of a moment ago chooses the faster way.
KNOWN_SECONDS = 5.0
PREFIX = "memory_hnsw_"
# What pgvector indexes of half precision.
MOST_DIMENSIONS = 4_000
# Iterative scans, which go on where a filter leaves too few.
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
    """Tells whether the namespace's vectors under the model had an index within the last KNOWN_SECONDS that searches
    can use.

    One that is still being built is not ready.
    """
    key = (scope.namespace_id, model_id)
    known = _ready.get(key)
    if known is not None:
        return known
    [(ready,)] = fetch(_IS_READY, {"name": name_index(*key)}, prepared=True)
    return _ready.put(key, bool(ready))
