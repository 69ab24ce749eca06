"""Lists the owners of a namespace's memories, by the ids in their metadata."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from memory.models.queries import memories as queries
from memory.owners import OWNERS
from memory.types import Scope

# The metadata key that names an owner of each type.
OWNER_KEYS = {name.removesuffix("_id"): name for name in OWNERS}


@dataclass(frozen=True, slots=True)
class MemoryOwner:
    """An owner with their number of memories. `type`: one of OWNER_KEYS; `first` and `last`: when the first and the
    last memory was recorded."""

    type: str
    name: str
    memories: int
    first: datetime
    last: datetime


def list_owners(scope: Scope, *, offset: int, limit: int) -> tuple[list[MemoryOwner], int]:
    """Return the owners of active memories from the `offset`th on, by type and name, and their total number.

    Reads every memory of the namespace. The total is 0 when the offset is beyond the last owner.
    """
    rows = queries.count_by_owner(scope.namespace_id, offset=offset, limit=limit)
    return [MemoryOwner(*row[:5]) for row in rows], rows[0][5] if rows else 0
