"""One namespace in numbers: what it holds by state, how it grew, and what it uses of its quota."""

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
    """What a namespace holds. `review` waits for someone; `sessions` have messages."""

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
    """Memories that a day (UTC) brought and that are still there."""

    day: date
    memories: int


@dataclass(frozen=True, slots=True)
class Used:
    """One quota: how much of it is used. `limit` 0: there is none."""

    key: str
    used: int
    limit: int


@dataclass(frozen=True, slots=True)
class Overview:
    """A namespace of the list."""

    namespace: Namespace
    memories: int
    sessions: int
    last_message_at: datetime | None


def count_rows(namespace: Namespace) -> Held:
    """Ten counts, each in an index that the namespace leads."""
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
    """By day, today last; ids begin with the time that MemOS learned them, so an index counts them."""
    today = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    begins = [today - timedelta(days=days - 1 - n) for n in range(days)]
    bounds = [first_id_of(one) for one in (*begins, today + timedelta(days=1))]
    found = queries.count_new(namespace.pk, bounds)
    return [Day(one.date(), int(found.get(place, 0))) for place, one in enumerate(begins, start=1)]


def quotas(namespace: Namespace, *, memories: int, now: datetime) -> list[Used]:
    """Both quotas with what is used of them; a day's writes are counted only while they have a limit."""
    rules = policy.governing(namespace.pk).effective.policy
    written = WritesOfDay.objects.filter(namespace=namespace, day=now.astimezone(UTC).date()).first()
    return [
        Used("quota.memories", memories, rules.memories_quota),
        Used("quota.writes_per_day", written.memories if written else 0, rules.writes_per_day),
    ]


def keys_reaching(namespace: Namespace, *, limit: int) -> list[ApiKey]:
    """The usable keys that reach the namespace, newest first: those named for it, and those for every namespace."""
    usable = ApiKey.objects.filter(revoked_at=None).exclude(expires_at__lte=timezone.now())
    rows = usable.filter(Q(all_namespaces=True) | Q(pk__in=namespace.api_keys.values("pk")))
    return list(rows.order_by("-created_at")[:limit])


def overviews(namespaces: list[Namespace]) -> list[Overview]:
    """Some namespaces with what they hold, in one look."""
    if not namespaces:
        return []
    found = {row[0]: row[1:] for row in queries.summarise_namespaces([one.pk for one in namespaces])}
    return [Overview(one, int(found[one.pk][0]), int(found[one.pk][1]), found[one.pk][2]) for one in namespaces]
