"""Finds the data sets, and thereby the adapters, that have learnt memories that no longer hold.

It is read from the memories whenever it matters, so that no kind of change is missed; the state stored on the rows is
for lists, and for unloading and rebuilding.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Mapping
from typing import Any

from memory.models.queries import training as queries
from memory.services.training.materials import TrainingText

_LOCKED_AT_ONCE = 2_000
_REASONS = ("gone", "changed", "superseded", "reinstated", "archived")


def find_stale(namespace_id: int, dataset_ids: Collection[uuid.UUID]) -> dict[uuid.UUID, dict[str, int]]:
    """Count the changed memories of each stale data set among these, by reason.

    Erased memories are not counted here: their sources are gone as well, and the row records them.
    """
    if not dataset_ids:
        return {}
    rows = queries.count_stale(namespace_id, dataset_ids)
    found = {}
    for dataset_id, *counts in rows:
        reasons = {name: count for name, count in zip(_REASONS, counts, strict=True) if count}
        if reasons:
            found[dataset_id] = reasons
    return found


def lock_sources(namespace_id: int, sources: Mapping[uuid.UUID, TrainingText]) -> bool:
    """Lock the memories against change until the transaction ends; return whether all are as they were read.

    An erasure waits for the lock, or has begun already: then this returns False.
    """
    ids = sorted(sources)
    for start in range(0, len(ids), _LOCKED_AT_ONCE):
        some = ids[start : start + _LOCKED_AT_ONCE]
        rows = queries.lock_sources(namespace_id, some)
        same = [
            (bytes(fingerprint), superseded) == (sources[key].fingerprint, sources[key].superseded)
            for key, fingerprint, superseded in rows
        ]
        if len(same) != len(some) or not all(same):
            return False
    return True


def describe(reasons: Mapping[str, Any]) -> str:
    """Return the reasons in words."""
    words = {
        "erased": "erased",
        "gone": "deleted",
        "changed": "changed",
        "superseded": "superseded",
        "reinstated": "reinstated",
        "archived": "archived",
    }
    return ", ".join(f"{count} {words[name]}" for name, count in reasons.items())
