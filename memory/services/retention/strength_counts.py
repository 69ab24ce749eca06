"""Counts the memories of large namespaces by strength in the background, and keeps the counts until the next sweep."""

from __future__ import annotations

import hashlib
import logging
import time
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta

from memory.errors import RedisAway
from memory.governance.policy import Policy
from memory.models import Namespace
from memory.retrieval.size import is_large
from memory.services.index.sizes import list_large
from memory.services.retention import due, forecast
from memory.services.retention.due import DueCounts
from memory.services.retention.forecast import SOON, Grid
from memory.services.tenancy.policy import governing
from memory.stores import figures
from memory.types import Scope

log = logging.getLogger("memos.faded")

# Sweeps run hourly, so the counts outlast one that fails.
KEPT_SECONDS = int(timedelta(hours=2).total_seconds())
_NAME = "faded"


@dataclass(frozen=True, slots=True)
class Faded:
    """The active memories by strength and age at `grid.at`, and the numbers due then and SOON after it."""

    grid: Grid
    due_now: DueCounts
    due_soon: DueCounts


def count(scope: Scope, policy: Policy, *, now: datetime) -> Faded:
    """Count now, computing the strength of each memory, which takes some seconds for half a million."""
    return Faded(
        forecast.grid(scope, policy, now=now),
        due.counts(scope.namespace_id, policy, now=now),
        due.counts(scope.namespace_id, policy, now=now + SOON),
    )


def count_and_keep(scope: Scope, policy: Policy, *, now: datetime) -> Faded:
    """Count now, and keep the counts for KEPT_SECONDS; without Redis they are not kept."""
    counted = count(scope, policy, now=now)
    try:
        figures.keep(
            scope.namespace_id, _NAME, {"policy": _fingerprint(policy), **asdict(counted)}, seconds=KEPT_SECONDS
        )
    except RedisAway as error:
        log.warning("figures of decay are not kept", extra={"namespace": scope.namespace, "reason": str(error)})
    return counted


def read_kept(scope: Scope, policy: Policy) -> Faded | None:
    """Return the last counts under exactly this policy; None if there are none."""
    try:
        found = figures.read(scope.namespace_id, _NAME)
    except RedisAway:
        return None
    if found is None or found["policy"] != _fingerprint(policy):
        return None
    grid = found["grid"]
    return Faded(
        Grid(datetime.fromisoformat(grid["at"]), tuple(grid["ages"]), grid["strengths"], grid["counts"]),
        DueCounts(**found["due_now"]),
        DueCounts(**found["due_soon"]),
    )


def forget(scope: Scope) -> None:
    """Drop the counts, as after a change of staff who want to see its effect."""
    try:
        figures.forget(scope.namespace_id, _NAME)
    except RedisAway as error:
        log.warning("figures of decay are still kept", extra={"namespace": scope.namespace, "reason": str(error)})


def count_large(*, actor: str, now: datetime, seconds: float) -> int:
    """Count and keep the figures of the large namespaces, for about `seconds`; return how many namespaces."""
    deadline = time.monotonic() + seconds
    names = dict(Namespace.objects.filter(pk__in=[one for one, _ in list_large()]).values_list("pk", "name"))
    counted = 0
    for namespace_id, name in sorted(names.items()):
        if time.monotonic() > deadline:
            break
        count_and_keep(Scope(namespace_id, name, actor), governing(namespace_id).effective.policy, now=now)
        counted += 1
    return counted


def _fingerprint(policy: Policy) -> str:
    return hashlib.sha256(repr(policy).encode()).hexdigest()


def takes_seconds(scope: Scope) -> bool:
    """Return whether the namespace has too many memories to wait for `count`."""
    return is_large(scope)
