"""Restores memories completely: from the archive, and from automatic retirements and supersessions."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from typing import Any

from django.db import transaction

from memory.models import Memory, RetiredStatement
from memory.services.memories import edit, give_back, reinstate
from memory.services.memories.change import check_reason
from memory.types import Access, ChangeTerms

# The effects on one memory: whether it was archived, where its retired parts start, and its superseding memory.
Restored = dict[str, Any]


def restore_wholly(
    access: Access, *, memory_ids: Iterable[uuid.UUID], reason: str, now: datetime, request_id: str = ""
) -> dict[uuid.UUID, Restored]:
    """Restore archived memories, have retired parts of memories count again, and undo automatic supersessions; return
    by id what was done. Supersessions by a person stay.

    All of it is one transaction. Idempotent. Raises InvalidInput for an empty reason.
    """
    reason, terms = check_reason(reason), ChangeTerms(request_id=request_id)
    done: dict[uuid.UUID, Restored] = {}
    with transaction.atomic():
        wanted = set(memory_ids)
        locked = [one for one in _lock(access, wanted) if one.pk in wanted]
        for identity in edit.restore(
            access, memory_ids=[one.pk for one in locked], reason=reason, now=now, request_id=request_id
        ):
            done[identity] = {"archived": True}
        ours = _by_machine(locked)
        for memory in locked:
            if not memory.retired_spans and memory.pk not in ours:
                continue
            active = RetiredStatement.objects.filter(
                namespace_id=memory.namespace_id, memory_id=memory.pk, withdrawn_at=None
            )
            starts = list(active.order_by("start").values_list("start", flat=True))
            by = str(memory.superseded_by) if memory.pk in ours else None
            reinstate.reinstate(
                access, memory_id=memory.pk, reason=reason, now=now, starts=None if by else starts, terms=terms
            )
            done[memory.pk] = {**done.get(memory.pk, {}), "statements": starts, "superseded_by": by}
    return done


def undo_restore(
    access: Access, *, done: Mapping[uuid.UUID, Restored], reason: str, now: datetime, request_id: str = ""
) -> None:
    """Undo `restore_wholly`; `done` as it returned it."""
    terms = ChangeTerms(request_id=request_id)
    with transaction.atomic():
        newer = {uuid.UUID(one["superseded_by"]) for one in done.values() if one.get("superseded_by")}
        there = [one.pk for one in _lock(access, {*done, *newer}) if one.pk in done]
        for identity in there:
            starts, by = done[identity].get("statements") or [], done[identity].get("superseded_by")
            common: dict[str, Any] = {"memory_id": identity, "reason": reason, "now": now, "terms": terms}
            if starts:
                reinstate.retire_again(access, starts=starts, by=None, **common)
            if by and Memory.objects.reachable_by(access).active().filter(pk=by).exists():
                reinstate.retire_again(access, starts=[], by=uuid.UUID(by), **common)
        archived = [identity for identity in there if done[identity].get("archived")]
        if archived:
            edit.archive(access, memory_ids=archived, reason=reason, now=now, request_id=request_id)


def _lock(access: Access, memory_ids: Collection[uuid.UUID]) -> list[Memory]:
    """Lock the memories, and the ones that retired or superseded something of them, in the order of their ids."""
    rows = Memory.objects.reachable_by(access).filter(pk__in=memory_ids)
    took = RetiredStatement.objects.reachable_by(access).filter(memory_id__in=memory_ids).values_list("by", flat=True)
    ended = rows.exclude(superseded_by=None).values_list("superseded_by", flat=True)
    all_ids = {*memory_ids, *took, *(one for one in ended if one is not None)}
    all_rows = Memory.objects.reachable_by(access).filter(pk__in=all_ids).order_by("pk")
    return list(all_rows.select_for_update(of=("self",)).only("namespace_id", "superseded_by", "retired_spans"))


def _by_machine(memories: Iterable[Memory]) -> set[uuid.UUID]:
    own: dict[int, list[uuid.UUID]] = {}
    for memory in memories:
        if memory.superseded_by is not None:
            own.setdefault(memory.namespace_id, []).append(memory.pk)
    return {one for namespace_id, ids in own.items() for one in give_back.by_machine(namespace_id, ids)}
