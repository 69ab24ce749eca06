"""Counts the rows of one namespace by state, its growth, and its use of quotas."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from django.db.models import Q
from django.utils import timezone

from memory.enums import MemoryState, QuarantineState
from memory.models import (
    ApiKey,
    Condensation,
    ContextPack,
    Document,
    Entity,
    Memory,
    Namespace,
    QuarantinedItem,
    Session,
    WritesOfDay,
)  # fmt: skip
from memory.models.keys import first_id_of
from memory.models.queries import monitoring as queries
from memory.services.index import entries
from memory.services.tenancy import policy


@dataclass(frozen=True, slots=True)
class Held:
    """The numbers of a namespace's rows. `review` waits for a person; `sessions` have messages."""

    active: int
    archived: int
    review: int
    pinned: int
    sessions: int
    entities: int
    documents: int
    summaries: int
    packs: int
    quarantined: int


@dataclass(frozen=True, slots=True)
class Day:
    """The memories of a day (UTC) that still exist."""

    day: date
    memories: int


@dataclass(frozen=True, slots=True)
class Used:
    """A quota and its use. `limit` 0: there is none."""

    key: str
    used: int
    limit: int


@dataclass(frozen=True, slots=True)
class Overview:
    """A namespace in the list."""

    namespace: Namespace
    memories: int
    sessions: int
    last_message_at: datetime | None


def count_rows(namespace: Namespace) -> Held:
    """Count the namespace's rows, each count from an index that begins with the namespace."""
    memories = Memory.objects.filter(namespace=namespace)
    return Held(
        active=entries.count_searchable(namespace.pk),
        archived=memories.filter(state=MemoryState.ARCHIVED).count(),
        review=memories.exclude(review="").count(),
        pinned=memories.filter(pinned=True).count(),
        sessions=Session.objects.filter(namespace=namespace, message_count__gt=0).count(),
        entities=Entity.objects.filter(namespace=namespace, merged_into=None).count(),
        documents=Document.objects.filter(namespace=namespace).count(),
        summaries=Condensation.objects.filter(namespace=namespace).count(),
        packs=ContextPack.objects.filter(namespace=namespace).count(),
        quarantined=QuarantinedItem.objects.filter(namespace=namespace, state=QuarantineState.PENDING).count(),
    )


def growth(namespace: Namespace, *, days: int, now: datetime) -> list[Day]:
    """Count new memories by day, today last. Ids begin with the time of storing, so an index counts them."""
    today = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    begins = [today - timedelta(days=days - 1 - n) for n in range(days)]
    bounds = [first_id_of(one) for one in (*begins, today + timedelta(days=1))]
    found = queries.count_new(namespace.pk, bounds)
    return [Day(one.date(), int(found.get(place, 0))) for place, one in enumerate(begins, start=1)]


def quotas(namespace: Namespace, *, memories: int, now: datetime) -> list[Used]:
    """Return both quotas with their use; a day's writes are counted only while they have a limit."""
    rules = policy.governing(namespace.pk).effective.policy
    written = WritesOfDay.objects.filter(namespace=namespace, day=now.astimezone(UTC).date()).first()
    return [
        Used("quota.memories", memories, rules.memories_quota),
        Used("quota.writes_per_day", written.memories if written else 0, rules.writes_per_day),
    ]


def keys_reaching(namespace: Namespace, *, limit: int) -> list[ApiKey]:
    """Return the usable keys that reach the namespace, newest first: keys for it, and keys for every namespace."""
    usable = ApiKey.objects.filter(revoked_at=None).exclude(expires_at__lte=timezone.now())
    rows = usable.filter(Q(all_namespaces=True) | Q(pk__in=namespace.api_keys.values("pk")))
    return list(rows.order_by("-created_at")[:limit])


def overviews(namespaces: list[Namespace]) -> list[Overview]:
    """Return the overviews of these namespaces, by one query."""
    if not namespaces:
        return []
    found = {row[0]: row[1:] for row in queries.summarise_namespaces([one.pk for one in namespaces])}
    return [Overview(one, int(found[one.pk][0]), int(found[one.pk][1]), found[one.pk][2]) for one in namespaces]
