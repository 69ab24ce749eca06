"""Archives, restores and pins one memory, and restores a former version of it."""

from __future__ import annotations

import uuid
from datetime import datetime
from typing import Any

from memory.enums import AuditEvent, MemoryState
from memory.errors import NotFound
from memory.models import Memory, MemoryVersion
from memory.models.queries.memories import note_restored
from memory.services.index.membership import bring_back, take_out
from memory.services.memories import recompare
from memory.services.memories.change import AS_IT_COMES, MemoryChange, change, check_reason
from memory.services.memories.edit import rewrite
from memory.services.summaries.stale import mark
from memory.types import Access, ChangeTerms


def archive_one(
    access: Access, *, memory_id: uuid.UUID, reason: str, now: datetime, terms: ChangeTerms = AS_IT_COMES
) -> dict[str, Any]:
    """Take a memory out of retrieval; an archived one stays as it is. Answers and raises as `change` does."""
    reason = check_reason(reason)

    def apply(memory: Memory) -> MemoryChange | None:
        if memory.state != MemoryState.ACTIVE:
            return None
        take_out([memory])
        mark([memory])
        recompare.ask_of_authors(memory.namespace_id, [memory.pk])
        return _change_state(memory, MemoryState.ARCHIVED, AuditEvent.MEMORY_ARCHIVE, reason)

    return change(access, memory_id=memory_id, terms=terms, now=now, apply=apply)


def restore_one(
    access: Access, *, memory_id: uuid.UUID, reason: str, now: datetime, terms: ChangeTerms = AS_IT_COMES
) -> dict[str, Any]:
    """Bring an archived memory back into retrieval. Answers and raises as `change` does."""
    reason = check_reason(reason)

    def apply(memory: Memory) -> MemoryChange | None:
        if memory.state != MemoryState.ARCHIVED:
            return None
        done = _change_state(memory, MemoryState.ACTIVE, AuditEvent.MEMORY_RESTORE, reason)
        # The index reads from the row whether it needs a vector.
        memory.save(update_fields=["state"])
        note_restored([(memory.namespace_id, memory.pk)], now=now)
        bring_back([memory])
        mark([memory])
        recompare.ask(memory.namespace_id, [memory.pk])
        return done

    return change(access, memory_id=memory_id, terms=terms, now=now, apply=apply)


def restore_version(
    access: Access,
    *,
    memory_id: uuid.UUID,
    version_id: uuid.UUID,
    reason: str,
    now: datetime,
    terms: ChangeTerms = AS_IT_COMES,
) -> dict[str, Any]:
    """Restore the content of a former version; the present content is kept as another version.

    State and importance stay. Answers and raises as `change` does; NotFound also for a version of another memory.
    """
    version = MemoryVersion.objects.reachable_by(access).filter(pk=version_id, memory_id=memory_id).first()
    if version is None:
        raise NotFound(
            f"The memory {memory_id} has no version {version_id}: its history lists them.",
            detail={"field": "version_id"},
        )
    return rewrite(
        access,
        memory_id=memory_id,
        wanted={
            "text": version.text,
            "metadata": version.metadata,
            "speaker": version.speaker,
            "occurred_at": version.occurred_at,
        },
        event=AuditEvent.MEMORY_RESTORE,
        details={"reason": check_reason(reason), "version": str(version_id)},
        now=now,
        terms=terms,
    )


def pin(
    access: Access,
    *,
    memory_id: uuid.UUID,
    pinned: bool,
    reason: str,
    now: datetime,
    terms: ChangeTerms = AS_IT_COMES,
) -> dict[str, Any]:
    """Exempt a memory from every sweep, or end the exemption. Answers and raises as `change` does."""
    reason = check_reason(reason)

    def apply(memory: Memory) -> MemoryChange | None:
        if memory.pinned == pinned:
            return None
        memory.pinned = pinned
        return MemoryChange(
            AuditEvent.MEMORY_PIN if pinned else AuditEvent.MEMORY_UNPIN,
            ["pinned"],
            ["pinned"],
            {"reason": reason, "before": {"pinned": not pinned}, "after": {"pinned": pinned}},
        )

    return change(access, memory_id=memory_id, terms=terms, now=now, apply=apply)


def _change_state(memory: Memory, state: MemoryState, event: AuditEvent, reason: str) -> MemoryChange:
    details = {"reason": reason, "before": {"state": str(memory.state)}, "after": {"state": state.value}}
    memory.state = state
    return MemoryChange(event, ["state"], ["state"], details)
