"""Carries out a person's decision about a memory that waits for review, in one transaction."""

from __future__ import annotations

import uuid
from datetime import datetime
from enum import StrEnum
from itertools import combinations

from django.db import transaction
from django.db.models import Q

from memory.enums import LinkKind, MemoryState, Review
from memory.errors import InvalidInput, NotFound
from memory.models import Memory, MemoryLink
from memory.services.memories import edit, lifecycle, supersede
from memory.types import Access, ChangeTerms

# One decision concerns at most this many memories.
MAX_GROUP = 20


class ReviewDecision(StrEnum):
    """The decisions of a reviewer. `keep`: the memory holds. `all_hold`: so do all that contradict it, for good.
    `supersede`: the other one replaces it. `outdo`: it replaces the other one. `archive`: it leaves retrieval."""

    KEEP = "keep"
    ALL_HOLD = "all_hold"
    SUPERSEDE = "supersede"
    OUTDO = "outdo"
    ARCHIVE = "archive"


def decide(
    access: Access,
    *,
    memory_id: uuid.UUID,
    decision: ReviewDecision,
    other_id: uuid.UUID | None,
    reason: str,
    now: datetime,
    terms: ChangeTerms,
) -> None:
    """Carry the decision out and take the memory off the review list; `terms` apply to this memory.

    Raises InvalidInput, also without a required `other_id`, NotFound, Conflict and PreconditionFailed as the operations
    do.
    """
    if decision in (ReviewDecision.SUPERSEDE, ReviewDecision.OUTDO) and other_id is None:
        raise InvalidInput("Name the memory on the other side.", detail={"field": "other"})
    then = ChangeTerms(request_id=terms.request_id)
    with transaction.atomic():
        if decision is ReviewDecision.SUPERSEDE and other_id is not None:
            supersede.supersede(access, older_id=memory_id, newer_id=other_id, reason=reason, now=now, terms=terms)
            return
        if decision is ReviewDecision.ALL_HOLD:
            _let_all_hold(access, memory_id=memory_id, reason=reason, now=now, terms=terms)
            return
        # Edit the memory first, in the revision that the reviewer saw.
        edit.edit(access, memory_id=memory_id, reason=reason, reviewed=True, now=now, terms=terms)
        if decision is ReviewDecision.OUTDO and other_id is not None:
            supersede.supersede(access, older_id=other_id, newer_id=memory_id, reason=reason, now=now, terms=then)
        elif decision is ReviewDecision.ARCHIVE:
            lifecycle.archive_one(access, memory_id=memory_id, reason=reason, now=now, terms=then)


def list_group(access: Access, memory_id: uuid.UUID) -> list[Memory]:
    """Return the memory, the memories that it contradicts or that contradict it, the ones these contradict, and so on.

    Contains only memories that hold, at most MAX_GROUP, in the order of their times. Raises NotFound for a memory that
    does not hold.
    """
    reached = Memory.objects.reachable_by(access).filter(state=MemoryState.ACTIVE, superseded_by=None)
    memory = reached.filter(pk=memory_id).select_related("namespace").first()
    if memory is None:
        raise NotFound(f"There is no memory {memory_id} that holds.", detail={"field": "memory_id"})
    links = MemoryLink.objects.filter(namespace_id=memory.namespace_id, kind=LinkKind.CONTRADICTS)
    found, looked_at = {memory_id}, set[uuid.UUID]()
    while (new := found - looked_at) and len(found) < MAX_GROUP:
        looked_at |= new
        pairs = links.filter(Q(memory_id__in=new) | Q(other_id__in=new)).values_list("memory_id", "other_id")
        found |= {one for pair in pairs for one in pair}
    others = reached.filter(pk__in=found - {memory_id}).select_related("namespace").order_by("pk")[: MAX_GROUP - 1]
    return sorted([memory, *others], key=lambda one: (one.occurred_at, one.pk))


def _let_all_hold(access: Access, *, memory_id: uuid.UUID, reason: str, now: datetime, terms: ChangeTerms) -> None:
    """End the review of the memory and of all that contradict it, and link each pair as `both_hold`, the newer to the
    older: settling leaves them alone from then on."""
    then = ChangeTerms(request_id=terms.request_id)
    group = list_group(access, memory_id)
    # The memory itself is edited in the revision that the reviewer saw; all are locked in the order of their ids.
    for one in sorted(group, key=lambda memory: memory.pk):
        if one.pk == memory_id or one.review == Review.CONTRADICTION:
            edit.edit(
                access, memory_id=one.pk, reason=reason, reviewed=True, now=now,
                terms=terms if one.pk == memory_id else then,
            )  # fmt: skip
    ids = [one.pk for one in group]
    links = MemoryLink.objects.filter(namespace_id=group[0].namespace_id)
    links.filter(kind=LinkKind.CONTRADICTS, memory_id__in=ids, other_id__in=ids).delete()
    links.bulk_create(
        [
            MemoryLink(
                namespace_id=older.namespace_id, memory_id=newer.pk, kind=LinkKind.BOTH_HOLD, other_id=older.pk,
                reason=reason, actor=access.actor, created_at=now,
            )
            for older, newer in combinations(group, 2)
        ],
        ignore_conflicts=True,
    )  # fmt: skip
