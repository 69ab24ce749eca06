"""Has a memory, or parts of it, hold again for good when a person undoes a supersession or a retirement.

A person's decision about a pair of memories stays: the two are linked as `both_hold`, and settling leaves them alone
from then on. Memories are locked in the order of their ids.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection
from datetime import datetime
from typing import Any

from memory.enums import AuditEvent, LinkKind
from memory.errors import InvalidInput
from memory.models import Memory, MemoryLink, RetiredStatement
from memory.services.memories import retire, supersede
from memory.services.memories.change import (
    AS_IT_COMES,
    MemoryChange,
    change,
    check_reason,
    lock_memories,
    run_once,
    store_change,
)
from memory.services.memories.retire import ACTOR
from memory.services.summaries.stale import mark
from memory.types import Access, ChangeTerms

_COLUMNS = ("valid_to", "superseded_by", "superseded_at", "review", "retired_spans", "terms", "length")


def reinstate(
    access: Access,
    *,
    memory_id: uuid.UUID,
    reason: str,
    now: datetime,
    review: str = "",
    starts: Collection[int] | None = None,
    terms: ChangeTerms = AS_IT_COMES,
) -> dict[str, Any]:
    """Undo the supersession of a memory and the retirement of parts of it: all of it holds again.

    With `starts`, only the retired parts that begin there hold again, and the superseding memory stays as it is; its
    announcement of the change counts again as soon as it retires nothing else. With `review`, the memory waits for that
    review, unless it waits for one already. Repeating it changes nothing. Answers and raises as `change` does, and
    InvalidInput for a start at which nothing was ever retired.
    """
    reason = check_reason(reason)

    def act() -> dict[str, Any]:
        newer = _newer(access, memory_id)
        found = lock_memories(access, [memory_id, *newer], terms=terms)
        memory = found.pop(memory_id)
        memory_change = take_back(
            memory, starts=starts, superseded=starts is None, reason=reason, actor=access.actor, now=now
        )
        if memory_change is not None:
            memory.review = memory.review or review
            memory_change.details["after"]["review"] = memory.review
        answer = store_change(access, memory, memory_change, terms=terms, now=now)
        if memory_change is not None:
            for one in found.values():
                store_change(access, one, _announcements(one, reason, now=now), terms=AS_IT_COMES, now=now)
        return answer

    return run_once(terms.idempotency, act, now=now)[0]


def take_back(
    memory: Memory, *, starts: Collection[int] | None, superseded: bool, reason: str, actor: str, now: datetime
) -> MemoryChange | None:
    """Have the retired parts that begin at `starts` (None: all) count again, and with `superseded` the whole memory,
    which is locked; return None when all of that holds already. Raises InvalidInput as `reinstate` does."""
    rows = RetiredStatement.objects.filter(namespace_id=memory.namespace_id, memory_id=memory.pk)
    if starts is not None and (unknown := set(starts) - set(rows.values_list("start", flat=True))):
        raise InvalidInput(
            f"Nothing was retired at {min(unknown)}: `retired_statements` of the memory lists where each part begins.",
            detail={"field": "statements"},
        )
    before = {**supersede.validity(memory), "review": memory.review}
    wanted = rows.filter(withdrawn_at=None)
    wanted = wanted if starts is None else wanted.filter(start__in=starts)
    by = set(wanted.values_list("by", flat=True))
    count = retire.withdraw(memory, starts=starts, now=now)
    ends = superseded and memory.superseded_by is not None
    if not count and not ends:
        return None
    if ends:
        memory.valid_to = memory.superseded_by = memory.superseded_at = None
        mark([memory])
    by -= set(rows.filter(withdrawn_at=None).values_list("by", flat=True))
    _agree(memory, by, reason, actor=actor, now=now, everything=superseded)
    changed = [*(["valid_to", "superseded_by"] if ends else []), *(["retired_statements"] if count else [])]
    after = {**supersede.validity(memory), "review": memory.review}
    details = {"reason": reason, "statements": count, "before": before, "after": after}
    return MemoryChange(AuditEvent.MEMORY_REINSTATE, changed, _COLUMNS, details)


def retire_again(
    access: Access,
    *,
    memory_id: uuid.UUID,
    starts: Collection[int],
    by: uuid.UUID | None,
    reason: str,
    now: datetime,
    terms: ChangeTerms = AS_IT_COMES,
) -> dict[str, Any]:
    """Undo `reinstate`: the parts that begin at `starts` leave search again or, without any, `by` supersedes the whole
    memory again. Settling may decide about the pair again. Answers and raises as `change` does."""
    reason = check_reason(reason)
    if by is not None and not starts:
        return supersede.supersede(access, older_id=memory_id, newer_id=by, reason=reason, now=now, terms=terms)

    def apply(memory: Memory) -> MemoryChange | None:
        before = supersede.validity(memory)
        count = retire.retire_again(memory, starts=starts)
        if not count:
            return None
        links = MemoryLink.objects.filter(namespace_id=memory.namespace_id, other_id=memory.pk)
        again = RetiredStatement.objects.filter(memory_id=memory.pk, namespace_id=memory.namespace_id, start__in=starts)
        for link in links.filter(kind=LinkKind.BOTH_HOLD, memory_id__in=again.values("by")):
            links.filter(pk=link.pk).delete()
            MemoryLink.objects.get_or_create(
                namespace_id=memory.namespace_id, memory_id=link.memory_id, kind=LinkKind.SUPERSEDES,
                other_id=memory.pk, defaults={"reason": reason, "actor": access.actor, "created_at": now},
            )  # fmt: skip
        details = {"reason": reason, "statements": count, "before": before, "after": supersede.validity(memory)}
        return MemoryChange(
            AuditEvent.MEMORY_RETIRE, ["retired_statements"], ["retired_spans", "terms", "length"], details
        )

    return change(access, memory_id=memory_id, terms=terms, now=now, apply=apply)


def _newer(access: Access, memory_id: uuid.UUID) -> list[uuid.UUID]:
    """Return the existing memories that retired something of the memory, or superseded it."""
    memory = Memory.objects.reachable_by(access).filter(pk=memory_id).only("namespace_id", "superseded_by").first()
    if memory is None:
        return []
    rows = RetiredStatement.objects.filter(namespace_id=memory.namespace_id, memory_id=memory_id)
    by = {*rows.values_list("by", flat=True), *([memory.superseded_by] if memory.superseded_by else [])}
    there = Memory.objects.filter(namespace_id=memory.namespace_id, pk__in=by - {memory_id})
    return list(there.order_by("pk").values_list("pk", flat=True))


def _agree(
    memory: Memory, by: Collection[uuid.UUID], reason: str, *, actor: str, now: datetime, everything: bool
) -> None:
    """Record that none of `by` (or, with `everything`, no memory at all) replaces the memory, and that both hold where
    settling had decided otherwise."""
    links = MemoryLink.objects.filter(namespace_id=memory.namespace_id, other_id=memory.pk, kind=LinkKind.SUPERSEDES)
    ended = links if everything else links.filter(memory_id__in=by)
    decided = {*by, *ended.filter(actor=ACTOR).values_list("memory_id", flat=True)} - {memory.pk}
    ended.delete()
    there = Memory.objects.filter(namespace_id=memory.namespace_id, pk__in=decided).values_list("pk", flat=True)
    for newer_id in there:
        MemoryLink.objects.get_or_create(
            namespace_id=memory.namespace_id, memory_id=newer_id, kind=LinkKind.BOTH_HOLD, other_id=memory.pk,
            defaults={"reason": reason, "actor": actor, "created_at": now},
        )  # fmt: skip


def _announcements(newer: Memory, reason: str, *, now: datetime) -> MemoryChange | None:
    """Have the newer memory's announcements count again when it no longer takes anything of another memory."""
    rows = RetiredStatement.objects.filter(namespace_id=newer.namespace_id, by=newer.pk, withdrawn_at=None)
    superseded = Memory.objects.filter(namespace_id=newer.namespace_id, superseded_by=newer.pk)
    if rows.exclude(memory_id=newer.pk).exists() or superseded.exists():
        return None
    before = supersede.validity(newer)
    count = retire.withdraw(newer, starts=list(rows.values_list("start", flat=True)), now=now)
    if not count:
        return None
    details = {"reason": reason, "statements": count, "before": before, "after": supersede.validity(newer)}
    return MemoryChange(
        AuditEvent.MEMORY_REINSTATE, ["retired_statements"], ["retired_spans", "terms", "length"], details
    )
