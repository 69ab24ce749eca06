"""Recomputes importance where its inputs have changed: uses, marks, repetition."""

from __future__ import annotations

import time
import uuid
from collections import Counter

from django.db import transaction

from memory.enums import Review
from memory.gate.worth import worth
from memory.governance.importance import MOST_REPEATS, NOTHING_LEARNED, Importance, Learned, importance
from memory.models import Memory, MemoryUpkeep, RelevanceJudgement
from memory.models.queries import retention as queries
from memory.services.tenancy.policy import in_force

BATCH = 500
# The importance of memories stored before importance was computed.
UNRATED = 0.5
_SAME = 0.0005


def rate(namespace_id: int, *, deadline: float) -> int:
    """Bring the importance of the namespace's memories up to date; return how many changed.

    An importance that a person has set stays. Ends at `deadline` (of time.monotonic) and continues in the next run.
    """
    queries.count_repeats(namespace_id, most=MOST_REPEATS)
    changed = 0
    after: uuid.UUID | None = uuid.UUID(int=0)
    while after is not None and time.monotonic() < deadline:
        written, after = _rate_batch(namespace_id, after=after)
        changed += written
    return changed


def rate_memory(memory: Memory, learned: Learned, *, small_talk: bool) -> Importance:
    """Compute the importance of a stored memory and its parts; `memory` carries text, role and terms."""
    return importance(
        memory.text,
        memory.role,
        memory.terms,
        learned,
        small_talk=small_talk,
        suspected=memory.review == Review.SUSPECTED,
    )


def rate_by_policy(memory: Memory, learned: Learned) -> Importance:
    """Compute the importance of a stored memory and its parts, by the policy in force."""
    threshold = in_force(memory.namespace_id).policy.worth_threshold
    small_talk = memory.turn > 0 and worth(memory.text, role=memory.role).score < threshold
    return rate_memory(memory, learned, small_talk=small_talk)


def _rate_batch(namespace_id: int, *, after: uuid.UUID) -> tuple[int, uuid.UUID | None]:
    """Rate one batch; return how many memories got another importance, and where the next batch starts."""
    with transaction.atomic():
        rows = {
            row.memory_id: row
            for row in MemoryUpkeep.objects.filter(namespace_id=namespace_id, memory_id__gt=after, stale=True)
            .order_by("memory_id")
            .select_for_update(skip_locked=True, no_key=True)[:BATCH]
        }
        # Other writers lock a memory before its upkeep: a memory that is locked now stays stale until the next run.
        memories = (
            Memory.objects.filter(namespace_id=namespace_id, pk__in=rows)
            .only("id", "turn", "text", "role", "terms", "importance", "review")
            .select_for_update(skip_locked=True, no_key=True)
        )
        threshold = in_force(namespace_id).policy.worth_threshold
        useful, not_useful = _marks(namespace_id, list(rows))
        changed: dict[uuid.UUID, float] = {}
        settled: dict[uuid.UUID, float | None] = {}
        for memory in memories:
            row = rows[memory.pk]
            learned = Learned(row.repeats, useful[memory.pk], not_useful[memory.pk], row.uses)
            # A document is given on purpose: no chunk of it is small talk.
            small_talk = memory.turn > 0 and worth(memory.text, role=memory.role).score < threshold
            value = rate_memory(memory, learned, small_talk=small_talk).value
            if not _by_hand(memory, row) and abs(value - memory.importance) > _SAME:
                changed[memory.pk] = row.importance = value
            settled[memory.pk] = row.importance
        queries.set_importance(namespace_id, changed)
        queries.mark_rated(namespace_id, settled)
    return len(changed), max(rows) if len(rows) == BATCH else None


def _by_hand(memory: Memory, row: MemoryUpkeep) -> bool:
    if row.importance is not None:
        return abs(memory.importance - row.importance) > _SAME
    # The policy may have changed the limit of small talk since; earlier versions knew no orders.
    rated = [rate_memory(memory, NOTHING_LEARNED, small_talk=talk) for talk in (False, True)]
    at_first = [one.value - share for one in rated for share in (0.0, one.shares.get("order", 0.0))]
    return min(abs(memory.importance - value) for value in (*at_first, UNRATED)) > _SAME


def _marks(namespace_id: int, memory_ids: list) -> tuple[Counter, Counter]:
    found = RelevanceJudgement.objects.filter(namespace_id=namespace_id, memory_id__in=memory_ids)
    useful: Counter = Counter()
    not_useful: Counter = Counter()
    for memory_id, relevant in found.values_list("memory_id", "relevant"):
        (useful if relevant else not_useful)[memory_id] += 1
    return useful, not_useful
