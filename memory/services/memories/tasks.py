"""Background jobs that settle, change and count memories."""

from __future__ import annotations

import logging
from datetime import datetime
from uuid import UUID

from django.conf import settings
from django.utils import timezone

from memory.errors import EmbeddingUnavailable
from memory.services.facts.store import ACTOR as FACTS
from memory.services.jobs.registry import scope_of, slice_seconds
from memory.services.memories import bulk, bulk_run, judge, retire, settle, usage
from memory.services.memories import follow_sources as sources

__all__ = [
    "change_memories",
    "count_uses",
    "follow_sources",
    "forget_bulk_changes",
    "help_settling",
    "judge_unsure_pairs",
    "settle_memories",
    "settle_memory",
]

log = logging.getLogger("memos.tasks")

forget_bulk_changes = bulk.forget


def settle_memories(*, now: datetime) -> int:
    """Compare new memories with earlier ones."""
    return help_settling(0, now=now)


def help_settling(helper: int, *, now: datetime) -> int:
    """Settle as `settle_memories` does, in namespaces that no other run works on, because new memories have waited
    long."""
    try:
        return settle.settle_pending(now=now, seconds=slice_seconds(), helper=helper)
    except EmbeddingUnavailable as error:
        log.warning("new memories are not compared with earlier ones yet", extra={"reason": error.message})
        return 0


def settle_memory(namespace_id: int, *memory_ids: str, now: datetime) -> None:
    """Compare memories again that say something else now, or are away or back."""
    for memory_id in memory_ids:
        settle.settle_memory(scope_of(namespace_id, retire.ACTOR), memory_id=UUID(memory_id), now=now)


def judge_unsure_pairs(*, now: datetime) -> int:
    """Ask a language model, if one is set up for it, about pairs that the rules were unsure of; return how many."""
    return judge.judge_due(now=now, seconds=settings.MEMOS_JOB_TIMEOUT_SECONDS / 4)


def follow_sources(namespace_id: int, session: str, *, now: datetime) -> int:
    """Have the facts of a session follow the turns that they rest on; return how many changed."""
    return sources.follow_sources(scope_of(namespace_id, FACTS), session=session, now=now)


def count_uses(*, now: datetime) -> int:
    """Count the uses of memories in packs and searches since the last run."""
    return usage.count_uses(now=now, seconds=slice_seconds())


def change_memories(namespace_id: int, change_id: str, *, now: datetime) -> int:
    """Carry out a bulk change, or continue it; return how many memories were processed."""
    return bulk_run.carry_out(namespace_id=namespace_id, change_id=UUID(change_id), now=timezone.now)
