"""How one memory is changed: on the caller's terms, once for each Idempotency-Key, with a revision and an audit event.

Every verb of one memory (edit, archive, restore, supersede, pin, feedback) is a function that `change` applies.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db import transaction

from memory import audit, deadline
from memory.enums import AuditEvent
from memory.errors import InvalidInput, NotFound, PreconditionFailed
from memory.models import Memory
from memory.models.keys import new_id
from memory.services.tenancy import holds
from memory.services.tenancy import idempotency as answers
from memory.services.tenancy.notes import clean_note
from memory.types import Access, ChangeTerms, Idempotency, Scope

MAX_REASON_CHARS = 300
AS_IT_COMES = ChangeTerms()


@dataclass(frozen=True, slots=True)
class MemoryChange:
    """What was done to a memory: the `columns` to store, in words `changed`, and the audit event with its details."""

    event: AuditEvent
    changed: Sequence[str]
    columns: Sequence[str]
    details: dict[str, Any]
    degraded: Sequence[str] = field(default=())


def change(
    access: Access,
    *,
    memory_id: uuid.UUID,
    terms: ChangeTerms,
    now: datetime,
    apply: Callable[[Memory], MemoryChange | None],
) -> dict[str, Any]:
    """Locks the memory, lets `apply` change it, and stores what it names; None: there was nothing to change.

    Returns the memory's standing (`standing`) with `changed` and `degraded`. Raises NotFound, PreconditionFailed,
    IdempotencyConflict, Conflict for a memory under a legal hold, and what `apply` raises.
    """

    def act() -> dict[str, Any]:
        memory = lock_memories(access, [memory_id], terms=terms)[memory_id]
        return store_change(access, memory, apply(memory), terms=terms, now=now)

    return run_once(terms.idempotency, act, now=now)[0]


def run_once(
    idempotency: Idempotency | None, act: Callable[[], dict[str, Any]], *, now: datetime
) -> tuple[dict[str, Any], bool]:
    """The answer of `act`, run in a transaction, and whether it ran: a key that came before gets the former answer.

    The answer must hold no memory text: it is kept. Raises IdempotencyConflict.
    """
    deadline.check()
    if idempotency is None:
        with transaction.atomic():
            return act(), True
    if record := answers.find_answer(idempotency):
        return record.answer, False
    with transaction.atomic():
        if answers.claim(idempotency, memory_ids=[new_id()], now=now):
            answer = act()
            answers.amend(idempotency, answer=answer)
            return answer, True
    record = answers.find_answer(idempotency)
    assert record is not None
    return record.answer, False


def lock_memories(access: Access, memory_ids: Iterable[uuid.UUID], *, terms: ChangeTerms) -> dict[uuid.UUID, Memory]:
    """The memories, locked in the order of their ids; the first one named must be in a revision of `terms`.

    Raises NotFound, PreconditionFailed.
    """
    wanted = list(memory_ids)
    rows = Memory.objects.reachable_by(access).filter(pk__in=wanted).order_by("pk").select_for_update(of=("self",))
    found = {memory.pk: memory for memory in rows.select_related("namespace")}
    for memory_id in wanted:
        if memory_id not in found:
            raise NotFound(f"There is no memory {memory_id} that this key reaches.", detail={"field": "memory_id"})
    revision = found[wanted[0]].revision
    if terms.revisions is not None and revision not in terms.revisions:
        raise PreconditionFailed(
            "The memory was changed since you read it: read it again, and send its ETag as If-Match.",
            detail={"etag": f'"{revision}"'},
        )
    return found


def store_change(
    access: Access, memory: Memory, memory_change: MemoryChange | None, *, terms: ChangeTerms, now: datetime
) -> dict[str, Any]:
    """Stores a change, as a new revision with an audit event; the answer to it.

    Raises Conflict when it archives a memory under a legal hold or changes what it says.
    """
    if memory_change is None:
        return {**state_of(memory), "changed": [], "degraded": []}
    if memory_change.event is AuditEvent.MEMORY_ARCHIVE or not holds.SAID.isdisjoint(memory_change.changed):
        holds.refuse(memory.namespace_id, [memory.pk])
    memory.revision += 1
    memory.save(update_fields=[*memory_change.columns, "revision"])
    audit.record(
        Scope(memory.namespace_id, memory.namespace.name, access.actor, terms.request_id),
        memory_change.event,
        session=memory.session,
        subject=str(memory.pk),
        details={**memory_change.details, "revision": memory.revision},
        now=now,
    )
    return {**state_of(memory), "changed": list(memory_change.changed), "degraded": list(memory_change.degraded)}


def state_of(memory: Memory) -> dict[str, Any]:
    """How a memory stands: all that decisions change of it, without what it says."""
    return {
        "id": str(memory.pk),
        "namespace": memory.namespace.name,
        "revision": memory.revision,
        "state": str(memory.state),
        "importance": memory.importance,
        "pinned": memory.pinned,
        "review": memory.review or None,
        "occurred_at": memory.occurred_at.isoformat(),
        "valid_from": memory.valid_from.isoformat() if memory.valid_from else None,
        "valid_to": memory.valid_to.isoformat() if memory.valid_to else None,
        "superseded_by": str(memory.superseded_by) if memory.superseded_by else None,
    }


def check_reason(reason: str) -> str:
    """The reason without white space around it and without secrets.

    Raises InvalidInput when it says nothing, is too long or tries to steer its reader.
    """
    reason = reason.strip()
    if not reason or len(reason) > MAX_REASON_CHARS or "\0" in reason:
        raise InvalidInput(f"Say why, in 1 to {MAX_REASON_CHARS} characters.", detail={"field": "reason"})
    return clean_note(reason, field="reason")
