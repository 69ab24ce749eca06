"""Previews the effects of a changed policy before it is saved. Writes nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from typing import Any

from memory.governance.policy import nest
from memory.services.index import entries
from memory.services.retention import due
from memory.services.retention.sweep import SweepTally, would_do
from memory.services.tenancy.policy import governing, propose
from memory.types import Scope

SHOWN = 50


def preview(scope: Scope, *, wanted: Mapping[str, Any], now: datetime) -> dict[str, Any]:
    """Return what the next sweep would archive and delete if the namespace set `wanted`, and what it would do without
    that.

    The first SHOWN memories by id are named, with rule and strength. Uses of the last minutes may not be counted yet.
    Raises InvalidInput.
    """
    would_be = propose(wanted)
    policy, present = would_be.policy, governing(scope.namespace_id).effective.policy
    # Each of these calls computes the strength of every memory, so equal policies are counted only once.
    would = would_do(scope.namespace_id, policy, now=now)
    without_change = would if policy == present else would_do(scope.namespace_id, present, now=now)
    first = due.page(scope.namespace_id, policy, limit=SHOWN, now=now) if would.decayed + would.expired else []
    return {
        "namespace": scope.namespace,
        "policy": nest(would_be.values),
        "active_memories": entries.count_searchable(scope.namespace_id),
        "would": _count_changes(would),
        "without_change": _count_changes(without_change),
        "memories": [{"memory_id": str(found.memory_id), **found.explain(policy)} for found in first],
    }


def _count_changes(tally: SweepTally) -> dict[str, int]:
    counted = asdict(tally)
    counted.pop("rated")
    return {"archive": tally.decayed + tally.expired, **counted}
