"""Keeps the entity layer in step with the memories: in the background, in batches, from where the last run ended."""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import psycopg
from django.db import OperationalError, transaction
from django.db.models import Exists, OuterRef

from memory import audit, caller
from memory.enums import AuditEvent, MemoryState, ModelPurpose
from memory.kinds import SESSION_PREFIX
from memory.models import Entity, EntityPending, EntityWatermark, Memory, Namespace
from memory.models.locks import Lock, lock_in_transaction, try_lock
from memory.models.queries import entities as queries
from memory.providers.entity_reader import read_entities
from memory.services.entities.mentions import MemoryToRead, reading_of, store
from memory.services.jobs.throttle import Throttle
from memory.services.tenancy.policy import in_force
from memory.types import Scope

log = logging.getLogger("memos.entities")

WORKER = "worker"
# Memories of one transaction, which holds the namespace's names meanwhile.
BATCH = 25
# Sessions, documents and single memories that are listed at a time.
_LISTED = 50


@dataclass(frozen=True, slots=True)
class _Work:
    """Memories of a namespace to be read: those of `session` after `turn`, or, without a session, those waiting."""

    scope: Scope
    session: str = ""
    turn: int = 0


def index_pending(*, now: datetime, seconds: float = float("inf")) -> int:
    """Reads the memories that came or changed since the last run; returns how many were read.

    Ends after about `seconds` and goes on in the next run. Idempotent; one run at a time, another does nothing. Writers
    are not stopped: a batch whose memories somebody is changing is left for the next run.
    """
    deadline = time.monotonic() + seconds
    throttle = Throttle()
    total = 0
    with try_lock(Lock.ENTITIES) as only:
        while only and (works := _works()):
            read = 0
            for work in works:
                read += _index(work, now=now)
                throttle.rest()
                if time.monotonic() > deadline:
                    return total + read
            total += read
            if not read:
                break
    return total


def index_namespace(scope: Scope, *, now: datetime) -> int:
    """Reads what waits in one namespace that nobody else reads or writes; returns how many memories were read."""
    total = 0
    while works := _works(scope.namespace_id):
        read = sum(_index(work, now=now) for work in works)
        if not read:
            break
        total += read
    return total


def rebuild(scope: Scope, *, now: datetime) -> None:
    """Has every memory of the namespace read again by the next runs; what people decided about names stays."""
    with transaction.atomic():
        lock_in_transaction(Lock.ENTITY_NAMES, scope.namespace_id)
        EntityWatermark.objects.in_scope(scope).delete()
        audit.record(scope, AuditEvent.ENTITY_REBUILD, now=now)


def forget_unmentioned(scope: Scope) -> int:
    """Deletes names that no memory has any more, and entities without a name; returns the number of both."""
    return sum(forget_names(scope))


def forget_names(scope: Scope) -> tuple[int, int]:
    """Deletes as `forget_unmentioned` does; returns the number of names and the number of entities.

    After an erasure, nothing is left of a name that only the erased memories had.
    """
    with transaction.atomic():
        lock_in_transaction(Lock.ENTITY_NAMES, scope.namespace_id)
        return queries.delete_unmentioned(scope.namespace_id)


def forget_unmentioned_everywhere() -> int:
    """Does the same in every namespace that has entities."""
    named = Entity.objects.filter(namespace_id=OuterRef("pk"))
    rows = Namespace.objects.filter(Exists(named)).values_list("pk", "name")
    return sum(forget_unmentioned(Scope(identity, name, WORKER)) for identity, name in rows)


def _works(only: int | None = None) -> list[_Work]:
    """Lists the work that waits, in one namespace or in all."""
    rows = queries.list_unread(only, chunk_prefix=SESSION_PREFIX, limit=_LISTED)
    return [_Work(Scope(row[0], row[1], WORKER), row[2], row[3]) for row in rows]


def _index(work: _Work, *, now: datetime) -> int:
    """Reads the next batch of `work`; returns how many memories were read, or passed over for good."""
    if work.session.startswith(SESSION_PREFIX):
        return _index_document(work, now=now)
    rows = Memory.objects.in_scope(work.scope)
    if work.session:
        rows = rows.in_session(work.session).filter(turn__gt=work.turn).order_by("turn")
    else:
        waiting = EntityPending.objects.in_scope(work.scope).values("memory_id")
        rows = rows.filter(pk__in=waiting).order_by("pk")
    batch = list(rows[:BATCH])
    if not batch:
        return _pass_over(work)
    present = _read_and_store(work.scope, batch, work=work, now=now)
    return len(present)


def _index_document(work: _Work, *, now: datetime) -> int:
    chunks = list(Memory.objects.in_scope(work.scope).in_session(work.session).order_by("turn"))
    for start in range(0, len(chunks), BATCH):
        batch = chunks[start : start + BATCH]
        last = start + BATCH >= len(chunks)
        if len(_read_and_store(work.scope, batch, work=work if last else None, now=now)) < len(batch):
            # Replaced meanwhile: the next run reads the new version.
            return 0
    if not chunks:
        _mark(work, work.turn)
    return max(len(chunks), 1)


def _read_and_store(scope: Scope, batch: Sequence[Memory], *, work: _Work | None, now: datetime) -> set[uuid.UUID]:
    """Reads the batch and keeps the result; returns the memories that are still there. None if they are in use."""
    sources = [
        MemoryToRead(row.pk, row.session, row.role, row.speaker, row.text, bytes(row.content_hash), row.occurred_at)
        for row in batch
        if row.state == MemoryState.ACTIVE
    ]
    model = in_force(scope.namespace_id).policy.models[ModelPurpose.EXTRACT]
    with caller.within_namespace(scope.namespace_id):
        found = read_entities([(source.text, source.speaker) for source in sources], model=model)
    readings = [reading_of(source, names) for source, names in zip(sources, found, strict=True)]
    try:
        with transaction.atomic():
            lock_in_transaction(Lock.ENTITY_NAMES, scope.namespace_id)
            locked = queries.lock_memories(scope.namespace_id, [row.pk for row in batch])
            present = {memory_id: (state, bytes(said)) for memory_id, state, said in locked}
            unchanged = [
                reading
                for reading in readings
                if present.get(reading.source.id) == (MemoryState.ACTIVE, reading.source.content_hash)
            ]
            store(scope, unchanged, now=now)
            EntityPending.objects.in_scope(scope).filter(memory_id__in=present).delete()
            if work and work.session and present:
                turns = [row.turn for row in batch if row.pk in present]
                _mark(work, work.turn if work.session.startswith(SESSION_PREFIX) else max(turns))
    except OperationalError as error:
        if not isinstance(error.__cause__, psycopg.errors.LockNotAvailable):
            raise
        log.info("memories are in use and are read later", extra={"memories": len(batch)})
        return set()
    return set(present)


def _mark(work: _Work, turn: int) -> None:
    EntityWatermark.objects.update_or_create(
        namespace_id=work.scope.namespace_id, session=work.session, defaults={"turn": turn}
    )


def _pass_over(work: _Work) -> int:
    """Moves a session's mark over turns that were all deleted."""
    if not work.session:
        return 0
    return queries.pass_over_deleted(work.scope.namespace_id, work.session, turn=work.turn)
