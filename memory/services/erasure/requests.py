"""Requests that memories be erased for good. `run` carries the request out; `receipts` reports its progress."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction

from memory import audit
from memory.enums import AuditEvent, ErasureStatus, ErasureTarget
from memory.errors import InvalidInput
from memory.ledger import SESSION, LedgerErasure
from memory.models import Document, ErasedMemory, Erasure, Memory, QuarantinedItem, Session
from memory.models.keys import new_id
from memory.models.queries import erasure as queries
from memory.services.erasure.holder import Erased
from memory.services.erasure.proof import count_holders
from memory.services.erasure.receipts import speaker_digest, to_dict
from memory.services.jobs import queue
from memory.services.memories.change import check_reason
from memory.services.tenancy import holds
from memory.services.tenancy import idempotency as answers
from memory.services.tenancy.namespaces import keep_namespaces
from memory.types import Idempotency, Scope, list_forms

MAX_MEMORIES = 10_000
# The limit of one job; after half of it, the work continues in another job.
JOB_SECONDS = 600
OPEN = (ErasureStatus.QUEUED, ErasureStatus.RUNNING, ErasureStatus.WAITING)
# A queued job without progress for this long counts as lost; one that waits for a component is retried sooner.
LOST_AFTER = timedelta(minutes=5)
TRIED_AGAIN_AFTER = timedelta(seconds=50)
_HELD_AT_ONCE = 10_000


@dataclass(frozen=True, slots=True)
class Target:
    """The memories to erase; exactly one field is given. A speaker's memories are the turns under exactly that name."""

    memory_ids: tuple[uuid.UUID, ...] = ()
    session: str = ""
    speaker: str = ""
    whole_namespace: bool = False

    @property
    def kind(self) -> ErasureTarget:
        """Return the kind of target. Raises InvalidInput unless exactly one is given."""
        given = {
            ErasureTarget.MEMORIES: bool(self.memory_ids),
            ErasureTarget.SESSION: bool(self.session),
            ErasureTarget.SPEAKER: bool(self.speaker),
            ErasureTarget.NAMESPACE: self.whole_namespace,
        }
        kinds = [kind for kind, named in given.items() if named]
        if len(kinds) != 1:
            raise InvalidInput(
                "Name exactly one of memory_ids, session_id, speaker and whole_namespace.", detail={"field": "target"}
            )
        return kinds[0]


def request(
    scope: Scope,
    *,
    target: Target,
    reason: str,
    now: datetime,
    idempotency: Idempotency | None = None,
    enqueue: bool = True,
) -> Erasure:
    """Record the ids of the memories to erase, as of now, and queue the job.

    Later memories are not touched, whatever their session or speaker. A document that loses a chunk loses all of them.
    Without `enqueue` the caller carries the erasure out. Raises InvalidInput, Conflict when one of the memories is
    under a legal hold, NamespaceGone, IdempotencyConflict.
    """
    if idempotency and (record := answers.find_answer(idempotency)):
        return _get_erasure(scope, record.answer)
    with transaction.atomic():
        keep_namespaces([scope])
        erasure = _take_down(scope, target, reason, now=now)
        if idempotency and not answers.claim(
            idempotency, memory_ids=[erasure.id], answer={"id": str(erasure.id)}, now=now
        ):
            transaction.set_rollback(True)
        else:
            refuse_held(scope, erasure.id)
            if enqueue:
                queue.enqueue(queue.ERASE, scope.namespace_id, str(erasure.id), seconds=JOB_SECONDS)
            audit.record(
                scope,
                AuditEvent.ERASURE_REQUEST,
                session=erasure.session,
                subject=str(erasure.id),
                details={
                    "target": erasure.target,
                    "named": erasure.named,
                    "found": erasure.found,
                    "documents": erasure.documents,
                    "reason": erasure.reason,
                },
                now=now,
            )
            return erasure
    record = answers.find_answer(idempotency)
    assert record is not None
    return _get_erasure(scope, record.answer)


def preview(scope: Scope, *, target: Target, reason: str, now: datetime) -> dict[str, Any]:
    """Return what `request` would erase: the receipt with `counted` of every holder, without an id. Stores nothing.

    Raises as `request`.
    """
    with transaction.atomic():
        erasure = _take_down(scope, target, reason, now=now)
        refuse_held(scope, erasure.id)
        erasure.holders = count_holders(Erased.of(erasure))
        transaction.set_rollback(True)
    return {**to_dict(erasure), "id": None, "status": "dry_run"}


def request_lost(*, now: datetime) -> int:
    """Queue erasures again that wait for an unavailable component or whose job was killed; return how many."""
    queued = 0
    waiting = Erasure.objects.across_namespaces().filter(status__in=OPEN, queued_at__lt=now - TRIED_AGAIN_AFTER)
    for erasure in waiting:
        patience = TRIED_AGAIN_AFTER if erasure.status == ErasureStatus.WAITING else LOST_AFTER
        with transaction.atomic():
            rows = Erasure.objects.filter(namespace_id=erasure.namespace_id, id=erasure.id, status__in=OPEN)
            if rows.filter(queued_at__lt=now - patience).update(queued_at=now):
                queue.enqueue(queue.ERASE, erasure.namespace_id, str(erasure.id), seconds=JOB_SECONDS)
                queued += 1
    return queued


def refuse_held(scope: Scope, erasure_id: uuid.UUID) -> None:
    """Raise Conflict when one of the erasure's memories is under a legal hold.

    Locks none of them; `run` checks again, with each batch locked.
    """
    holds.refuse_namespace(scope.namespace_id)
    ids = ErasedMemory.objects.in_scope(scope).filter(erasure_id=erasure_id).order_by("memory_id")
    last = None
    while batch := list((ids.filter(memory_id__gt=last) if last else ids)[:_HELD_AT_ONCE]):
        last = batch[-1].memory_id
        holds.refuse(scope.namespace_id, [row.memory_id for row in batch])


def _get_erasure(scope: Scope, answer: dict[str, Any]) -> Erasure:
    return Erasure.objects.in_scope(scope).get(id=uuid.UUID(answer["id"]))


def _take_down(scope: Scope, target: Target, reason: str, *, now: datetime) -> Erasure:
    kind = target.kind
    reason = check_reason(reason)
    memory_ids = list(dict.fromkeys(target.memory_ids))
    if len(memory_ids) > MAX_MEMORIES:
        raise InvalidInput(f"Name up to {MAX_MEMORIES} memories at once.", detail={"field": "memory_ids"})
    erasure_id = new_id()
    present, found, documents = queries.name_target(
        scope.namespace_id,
        erasure_id,
        kind,
        memory_ids=memory_ids,
        session=target.session,
        speaker=target.speaker,
    )
    named = len(memory_ids) if kind == ErasureTarget.MEMORIES else present
    return Erasure.objects.create(
        id=erasure_id,
        namespace_id=scope.namespace_id,
        namespace=scope.namespace,
        target=kind,
        session=target.session,
        speaker_digest=speaker_digest(scope.namespace_id, target.speaker) if target.speaker else "",
        named=named,
        missing=named - present,
        found=found,
        documents=documents,
        reason=reason,
        actor=scope.actor,
        request_id=scope.request_id,
        queued_at=now,
        created_at=now,
    )


def take_down_again(scope: Scope, erased: LedgerErasure, *, reason: str, now: datetime) -> Erasure:
    """Record an erasure from the ledger that a database restored from a backup does not know, without carrying it out.

    Named memories are erased by id, with their documents. Memories that belonged to the session, speaker or namespace
    at the time of the request are erased too, even if they had been deleted before it and have come back.
    """
    session, speaker, whole = "", "", False
    if not erased.only_these:
        session = _session_of(scope, erased) if erased.session else ""
        speaker = _speaker_of(scope, erased) if erased.speaker else ""
        whole = erased.target == ErasureTarget.NAMESPACE
    _, found, documents = queries.name_target_again(
        scope.namespace_id,
        erased.id,
        memory_ids=erased.memories,
        documents=[] if erased.only_these else erased.documents,
        session=session,
        speaker=speaker,
        whole=whole,
        asked_at=erased.asked_at,
    )
    # Add all named memories, even missing ones, so that no pack keeps them.
    ErasedMemory.objects.bulk_create(
        [
            ErasedMemory(namespace_id=scope.namespace_id, erasure_id=erased.id, memory_id=identity)
            for identity in erased.memories
        ],
        ignore_conflicts=True,
        batch_size=_HELD_AT_ONCE,
    )
    return Erasure.objects.create(
        id=erased.id,
        namespace_id=scope.namespace_id,
        namespace=scope.namespace,
        target=erased.target,
        session=session,
        speaker_digest=erased.speaker,
        named=len(erased.memories),
        missing=0,
        found=found,
        documents=documents,
        reason=reason,
        actor=scope.actor,
        queued_at=now,
        created_at=erased.asked_at,
    )


def _session_of(scope: Scope, erased: LedgerErasure) -> str:
    """Return the session that the keyed hash stands for; '' when the database has none."""
    names = {
        *Session.objects.in_scope(scope).values_list("name", flat=True),
        *Memory.objects.in_scope(scope).order_by().values_list("session", flat=True).distinct(),
        *Document.objects.in_scope(scope).values_list("session", flat=True),
        *QuarantinedItem.objects.in_scope(scope).values_list("session", flat=True),
    }
    # The hash may have been made before names were composed.
    stands_for = {audit.hash_words(scope, SESSION, form): name for name in names if name for form in list_forms(name)}
    return stands_for.get(erased.session, "")


def _speaker_of(scope: Scope, erased: LedgerErasure) -> str:
    """Return the speaker that the keyed hash stands for; '' when the database has none."""
    names = {
        *Memory.objects.in_scope(scope).order_by().values_list("speaker", flat=True).distinct(),
        *QuarantinedItem.objects.in_scope(scope).values_list("speaker", flat=True),
    }
    namespace_id = scope.namespace_id
    stands_for = {speaker_digest(namespace_id, form): name for name in names if name for form in list_forms(name)}
    return stands_for.get(erased.speaker, "")
