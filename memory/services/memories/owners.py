"""Whom a namespace's memories belong to, by the ids in their metadata."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from memory.models.sql import fetch
from memory.owners import OWNERS
from memory.types import Scope

# The key of the metadata that names an owner of each type.
OWNER_KEYS = {name.removesuffix("_id"): name for name in OWNERS}

_OWNERS = """
SELECT owner.type, owner.name, count(*), min(m.created_at), max(m.created_at), count(*) OVER ()
FROM memory_memory m CROSS JOIN LATERAL (
    VALUES ('user', m.metadata -> 'user_id'), ('agent', m.metadata -> 'agent_id'), ('app', m.metadata -> 'app_id'),
           ('run', m.metadata -> 'run_id')
) AS named (type, value) CROSS JOIN LATERAL (
    SELECT named.type, named.value #>> '{}' AS name WHERE jsonb_typeof(named.value) = 'string'
) AS owner
WHERE m.namespace_id = %(namespace_id)s AND m.state = 'active'
GROUP BY owner.type, owner.name ORDER BY owner.type, owner.name LIMIT %(limit)s OFFSET %(offset)s
"""


@dataclass(frozen=True, slots=True)
class MemoryOwner:
    """`type`: one of OWNER_KEYS; `first` and `last`: when its first and last memory was recorded."""

    type: str
    name: str
    memories: int
    first: datetime
    last: datetime


def list_owners(scope: Scope, *, offset: int, limit: int) -> tuple[list[MemoryOwner], int]:
    """The owners of active memories from the `offset`th on, by type and name, and how many there are in all.

    Reads every memory of the namespace. Beyond the last one none is counted.
    """
    parameters = {"namespace_id": scope.namespace_id, "limit": limit, "offset": offset}
    rows = fetch(_OWNERS, parameters, prepared=False)
    return [MemoryOwner(*row[:5]) for row in rows], rows[0][5] if rows else 0
