"""Reads the work that waits for a person: quarantined texts, and memories that are doubted or contradicted."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Count, F

from memory.enums import LinkKind, MemoryState, Review
from memory.models import Memory, MemoryFeedback, MemoryLink, QuarantinedItem
from memory.models.memory import MemoryQuerySet
from memory.models.paging import page_of
from memory.models.queries import memories as queries
from memory.types import Access

# The limits between the age groups of waiting items; the last group is older than all of them.
AGES = (timedelta(hours=1), timedelta(days=1), timedelta(days=7), timedelta(days=30))
SHOWN_OPINIONS = 5


@dataclass(frozen=True, slots=True)
class Quarantine:
    """The number of waiting items: in all, by rule, by namespace (most first), and by age group of AGES (youngest
    first)."""

    waiting: int
    oldest: datetime | None
    by_rule: list[tuple[str, int]]
    by_namespace: list[tuple[str, int]]
    by_age: list[int]


@dataclass(frozen=True, slots=True)
class Side:
    """A memory that contradicts the doubted one, and the rule's reason."""

    memory: Memory
    reason: str
    confidence: float
    actor: str


@dataclass(frozen=True, slots=True)
class Doubted:
    """A memory that waits for review, the memories that contradict it, and the opinions that call it wrong or
    outdated."""

    memory: Memory
    sides: list[Side]
    opinions: list[MemoryFeedback]


def quarantine(access: Access, *, now: datetime) -> Quarantine:
    """Count the items that wait in quarantine; each breakdown adds up to `waiting`."""
    by_rule: dict[str, int] = {}
    by_namespace: dict[str, int] = {}
    by_age = [0] * (len(AGES) + 1)
    oldest: datetime | None = None
    namespaces = None if access.all_namespaces else access.namespace_ids
    waiting = queries.count_quarantined(namespaces, ages=[age.total_seconds() for age in AGES], now=now)
    for namespace, rule, age, count, first in waiting:
        by_rule[rule] = by_rule.get(rule, 0) + count
        by_namespace[namespace] = by_namespace.get(namespace, 0) + count
        by_age[age] += count
        oldest = first if oldest is None else min(oldest, first)
    return Quarantine(sum(by_age), oldest, _most_first(by_rule), _most_first(by_namespace), by_age)


def newest_items(access: Access, *, limit: int) -> list[QuarantinedItem]:
    """Return the newest items that wait."""
    rows = QuarantinedItem.objects.reachable_by(access).pending().select_related("namespace")
    return list(rows.order_by("-id")[:limit])


def count_for_review(access: Access) -> dict[str, int]:
    """Count the active memories that wait for review, by reason."""
    counted = dict.fromkeys(Review.values, 0)
    rows = _to_review(access).order_by().values_list("review").annotate(Count("pk"))
    return counted | dict(rows)


def list_for_review(
    access: Access, *, review: str, cursor: uuid.UUID | None, limit: int
) -> tuple[list[Doubted], uuid.UUID | None]:
    """Return a page of the active memories that wait for review, newest first, and the next page's cursor. `review`:
    only memories that wait for this reason; '': all."""
    rows = _to_review(access).select_related("namespace").defer("terms")
    if review:
        rows = rows.filter(review=review)
    if cursor is not None:
        rows = rows.filter(pk__lte=cursor)
    page, following = page_of(rows.order_by("-id"), limit)
    sides, opinions = _sides(page), _opinions(page)
    doubted = [Doubted(one, sides.get(one.pk, []), opinions.get(one.pk, [])) for one in page]
    return doubted, following.pk if following else None


def _to_review(access: Access) -> MemoryQuerySet:
    return Memory.objects.reachable_by(access).exclude(review="").filter(state=MemoryState.ACTIVE)


def _sides(memories: Sequence[Memory]) -> dict[uuid.UUID, list[Side]]:
    wanted = [one.pk for one in memories if one.review == Review.CONTRADICTION]
    links = MemoryLink.objects.filter(
        namespace_id__in={one.namespace_id for one in memories},
        # The join is by the id alone: without this it reads every namespace's partition of a distributed table.
        memory__namespace_id=F("namespace_id"),
        other_id__in=wanted,
        kind=LinkKind.CONTRADICTS,
    )
    found: dict[uuid.UUID, list[Side]] = {}
    for link in links.select_related("memory").order_by("-id"):
        if link.memory.state == MemoryState.ACTIVE:
            side = Side(link.memory, link.reason, link.confidence, link.actor)
            found.setdefault(link.other_id, []).append(side)
    return found


def _opinions(memories: Sequence[Memory]) -> dict[uuid.UUID, list[MemoryFeedback]]:
    rows = MemoryFeedback.objects.filter(
        namespace_id__in={one.namespace_id for one in memories},
        memory_id__in=[one.pk for one in memories],
        kind__in=[Review.WRONG.value, Review.OUTDATED.value],
    )
    found: dict[uuid.UUID, list[MemoryFeedback]] = {}
    for opinion in rows.order_by("-id"):
        of_memory = found.setdefault(opinion.memory_id, [])
        if len(of_memory) < SHOWN_OPINIONS:
            of_memory.append(opinion)
    return found


def _most_first(counted: dict[str, int]) -> list[tuple[str, int]]:
    return sorted(counted.items(), key=lambda entry: (-entry[1], entry[0]))
