"""How strong the memories of a large namespace are: counted when nobody waits for it, and kept until the next sweep."""

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

# A sweep comes every hour, and what it counts outlasts one that fails.
KEPT_SECONDS = int(timedelta(hours=2).total_seconds())
_NAME = "faded"


@dataclass(frozen=True, slots=True)
class Faded:
    """The active memories by strength and age at `grid.at`, how many were due then, and will be SOON after it."""

    grid: Grid
    due_now: DueCounts
    due_soon: DueCounts


def count(scope: Scope, policy: Policy, *, now: datetime) -> Faded:
    """Counts: each memory's strength is computed for it, some seconds for half a million."""
    return Faded(
        forecast.grid(scope, policy, now=now),
        due.counts(scope.namespace_id, policy, now=now),
        due.counts(scope.namespace_id, policy, now=now + SOON),
    )


def count_and_keep(scope: Scope, policy: Policy, *, now: datetime) -> Faded:
    """Counts, and keeps it for KEPT_SECONDS; with Redis away it is not kept."""
    counted = count(scope, policy, now=now)
    try:
        figures.keep(
            scope.namespace_id, _NAME, {"policy": _fingerprint(policy), **asdict(counted)}, seconds=KEPT_SECONDS
        )
    except RedisAway as error:
        log.warning("figures of decay are not kept", extra={"namespace": scope.namespace, "reason": str(error)})
    return counted


def read_kept(scope: Scope, policy: Policy) -> Faded | None:
    """What was counted last under this very policy; None if it is not kept."""
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
    """Has it counted anew, as after a change that staff made and want to see."""
    try:
        figures.forget(scope.namespace_id, _NAME)
    except RedisAway as error:
        log.warning("figures of decay are still kept", extra={"namespace": scope.namespace, "reason": str(error)})


def count_large(*, actor: str, now: datetime, seconds: float) -> int:
    """Counts and keeps the figures of the large namespaces, for about `seconds`; returns of how many."""
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
    """Whether the namespace has so many memories that nobody should wait for `count`."""
    return is_large(scope)
