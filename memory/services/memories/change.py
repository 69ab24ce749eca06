"""Changes one memory on the caller's terms, once for each Idempotency-Key, with a revision and an audit event.

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
    """The changes made to a memory: the `columns` to store, the names of what `changed` for the answer, and the audit
    event."""

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
    """Lock the memory, let `apply` change it, and store its changes; `apply` returns None when there is nothing to
    change.

    Returns the memory's standing (`state_of`) with `changed` and `degraded`. Raises NotFound, PreconditionFailed,
    IdempotencyConflict, Conflict for a memory under a legal hold, and what `apply` raises.
    """

    def act() -> dict[str, Any]:
        memory = lock_memories(access, [memory_id], terms=terms)[memory_id]
        return store_change(access, memory, apply(memory), terms=terms, now=now)

    return run_once(terms.idempotency, act, now=now)[0]


def run_once(
    idempotency: Idempotency | None, act: Callable[[], dict[str, Any]], *, now: datetime
) -> tuple[dict[str, Any], bool]:
    """Run `act` in a transaction; return its answer, and whether it ran. A key that came before gets the former answer.

    The answer is stored, so it must not contain a memory's text. Raises IdempotencyConflict.
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
    """Lock the memories in the order of their ids and return them by id. `terms` limit the revision of the first one
    named.

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
    """Store a change as a new revision with an audit event; return the answer to the caller.

    Raises Conflict when a memory under a legal hold would be archived or its content changed.
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
    """Return a memory's standing: all that decisions change of it, without its content."""
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
    """Return the reason without surrounding white space and without secrets.

    Raises InvalidInput when it is empty, too long, or tries to steer its reader.
    """
    reason = reason.strip()
    if not reason or len(reason) > MAX_REASON_CHARS or "\0" in reason:
        raise InvalidInput(f"Say why, in 1 to {MAX_REASON_CHARS} characters.", detail={"field": "reason"})
    return clean_note(reason, field="reason")
