"""Counts the memories that a namespace may still take in, exactly, under a lock that its writers share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from django.db.models import Sum

from memory.models import Namespace, NamespaceStat, WritesOfDay
from memory.models.queries import tenancy as queries
from memory.services.tenancy.policy import in_force, propose
from memory.types import Access

MEMORIES = "quota.memories"
WRITES = "quota.writes_per_day"
# The used share of a quota from which someone should be warned, before new memories go to quarantine.
NEARLY = 0.9


@dataclass(frozen=True, slots=True)
class Granted:
    """The number of requested memories that may be written, and the limit that more would break."""

    memories: int
    rule: str = ""
    limit: int = 0

    @property
    def says(self) -> str:
        """Return the limit in a sentence."""
        if self.rule == MEMORIES:
            return f"The namespace may hold {self.limit:,} memories, and is full."
        return f"The namespace may take in {self.limit:,} memories a day, and has."


@dataclass(frozen=True, slots=True)
class NearlyUsed:
    """A quota of a namespace (`key`) that is used up, or nearly."""

    namespace: str
    key: str
    used: int
    limit: int


def list_nearly_used(access: Access, *, limit: int, now: datetime) -> list[NearlyUsed]:
    """Return the quotas of which NEARLY or more is used, fullest first."""
    anywhere = propose({}).policy
    rows = queries.list_nearly_used(
        None if access.all_namespaces else access.namespace_ids,
        keys=(MEMORIES, WRITES),
        defaults=(anywhere.memories_quota, anywhere.writes_per_day),
        today=now.astimezone(UTC).date(),
        share=NEARLY,
        limit=limit,
    )
    return [NearlyUsed(name, key, int(used), int(most)) for name, key, used, most in rows]


def has_quota(namespace_id: int) -> bool:
    """Return whether the namespace has a quota."""
    policy = in_force(namespace_id).policy
    return bool(policy.memories_quota or policy.writes_per_day)


def take(
    wanted: Mapping[int, int], *, whole: bool = False, freed: int = 0, enforce: bool = True, now: datetime
) -> dict[int, Granted]:
    """Count `wanted` memories for each namespace with a quota, as far as there is room; return the grants by namespace.

    Other writers of those namespaces wait until the caller's transaction ends, so nothing is granted twice. `whole`:
    all or none. `freed` memories are deleted in the same transaction. Without `enforce` everything is granted and
    counted, because a person decided. The count of a day (UTC) begins with the first write after the quota was set, and
    does not fall when a memory is deleted.
    """
    held = sorted(namespace_id for namespace_id in wanted if has_quota(namespace_id))
    if not held:
        return {}
    list(Namespace.objects.filter(pk__in=held).order_by("pk").select_for_update(no_key=True).values_list("pk"))
    return {
        namespace_id: _take(namespace_id, wanted[namespace_id], whole=whole, freed=freed, enforce=enforce, now=now)
        for namespace_id in held
    }


def _take(namespace_id: int, wanted: int, *, whole: bool, freed: int, enforce: bool, now: datetime) -> Granted:
    policy = in_force(namespace_id).policy
    room: list[tuple[int, str, int]] = []
    if policy.memories_quota:
        there = NamespaceStat.objects.filter(namespace_id=namespace_id).aggregate(n=Sum("memories"))["n"] or 0
        room.append((policy.memories_quota - there + freed, MEMORIES, policy.memories_quota))
    today = now.astimezone(UTC).date()
    written = 0
    if policy.writes_per_day:
        row = WritesOfDay.objects.filter(namespace_id=namespace_id, day=today).first()
        written = row.memories if row else 0
        room.append((policy.writes_per_day - written, WRITES, policy.writes_per_day))
    left, rule, limit = min(room)
    count = wanted if not enforce or left >= wanted else 0 if whole else max(left, 0)
    if policy.writes_per_day and count:
        WritesOfDay.objects.update_or_create(
            namespace_id=namespace_id, defaults={"day": today, "memories": written + count}
        )
    return Granted(count, rule, limit)
