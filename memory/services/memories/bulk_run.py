"""Carries out a change of many memories, batch by batch, through the services that change one memory.

A batch, the outcome of each of its memories and the counts are stored in one transaction: an interrupted run continues
where it ended, and nothing is counted twice.
"""

from __future__ import annotations

import time
import uuid
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from django.db import transaction

from memory.enums import AccessScope, BulkChangeVerb, BulkOutcome
from memory.errors import MemosError, NotFound
from memory.models import BulkChange, BulkChangeMemory, Memory
from memory.services.jobs import queue, runner
from memory.services.memories import edit, lifecycle, tags
from memory.services.memories.bulk import JOB_SECONDS
from memory.services.tenancy import holds
from memory.types import Access, ChangeTerms

BATCH = 100
SLICE_SECONDS = 10.0
# The refusal of memories whose new values an erasure has removed from the change.
ERASED = "erased"

Outcomes = dict[uuid.UUID, tuple[BulkOutcome, str]]
_CHANGED, _UNCHANGED = (BulkOutcome.CHANGED, ""), (BulkOutcome.UNCHANGED, "")


def carry_out(
    *, namespace_id: int, change_id: uuid.UUID, now: Callable[[], datetime], seconds: float = SLICE_SECONDS
) -> int:
    """Carry out the rest of the change; return how many memories were processed.

    A finished change stays as it is. After `seconds` the rest is queued as another job.
    """
    deadline = time.monotonic() + seconds
    changes = BulkChange.objects.filter(namespace_id=namespace_id, id=change_id)
    dealt_with = 0
    while True:
        with transaction.atomic():
            change = changes.select_for_update().first()
            if change is None or change.finished_at is not None:
                return dealt_with
            batch = _deal_with_batch(change, now=now())
            if not batch:
                change.wanted, change.finished_at = {}, now()
            change.save()
        dealt_with += batch
        runner.report(change.done, max(change.done, change.matched))
        if batch and time.monotonic() > deadline:
            queue.enqueue(queue.CHANGE_MEMORIES, namespace_id, str(change_id), seconds=JOB_SECONDS)
            return dealt_with


def _deal_with_batch(change: BulkChange, *, now: datetime) -> int:
    """Process the next memories and count them in the locked `change`; return how many they were."""
    rows = BulkChangeMemory.objects.filter(namespace_id=change.namespace_id, change_id=change.id)
    ids = list(rows.waiting().values_list("memory_id", flat=True)[:BATCH])
    if not ids:
        return 0
    outcomes = _act(change, ids, now=now) if change.wanted else dict.fromkeys(ids, (BulkOutcome.REFUSED, ERASED))
    for outcome in BulkOutcome:
        own = [identity for identity, (one, _) in outcomes.items() if one == outcome]
        rows.filter(memory_id__in=own).update(outcome=outcome)
    counts = Counter(outcome for outcome, _ in outcomes.values())
    change.changed += counts[BulkOutcome.CHANGED]
    change.unchanged += counts[BulkOutcome.UNCHANGED]
    change.refused += counts[BulkOutcome.REFUSED]
    change.refusals = dict(Counter(change.refusals) + Counter(code for _, code in outcomes.values() if code))
    return len(ids)


def _act(change: BulkChange, ids: Sequence[uuid.UUID], *, now: datetime) -> Outcomes:
    access = Access(
        actor=change.actor,
        scopes=frozenset({AccessScope.WRITE.value}),
        namespace_ids=frozenset({change.namespace_id}),
    )
    common: dict[str, Any] = {"reason": change.wanted["reason"], "now": now}
    if change.verb == BulkChangeVerb.EDIT:
        terms = ChangeTerms(request_id=str(change.id))
        return {identity: _edit(access, change, identity, terms=terms, **common) for identity in ids}
    common["request_id"] = str(change.id)
    if change.verb == BulkChangeVerb.RESTORE:
        done = edit.restore(access, memory_ids=ids, **common)
        return {**dict.fromkeys(ids, _UNCHANGED), **dict.fromkeys(done, _CHANGED)}
    held = _list_held(change.namespace_id, ids)
    done = edit.archive(access, memory_ids=[identity for identity in ids if identity not in held], **common)
    refused = dict.fromkeys(held, (BulkOutcome.REFUSED, "conflict"))
    return {**dict.fromkeys(ids, _UNCHANGED), **refused, **dict.fromkeys(done, _CHANGED)}


def _list_held(namespace_id: int, ids: Sequence[uuid.UUID]) -> set[uuid.UUID]:
    """Return the memories under a legal hold. Locks their rows, so that no hold is set meanwhile."""
    rows = Memory.objects.filter(namespace_id=namespace_id, pk__in=ids).active().order_by("pk")
    there = list(rows.select_for_update().values_list("pk", flat=True))
    return set(holds.under_hold(namespace_id, there))


def _edit(
    access: Access, change: BulkChange, memory_id: uuid.UUID, *, terms: ChangeTerms, reason: str, now: datetime
) -> tuple[BulkOutcome, str]:
    common: dict[str, Any] = {"reason": reason, "now": now}
    try:
        with transaction.atomic():
            is_changed = _edit_one(access, change.wanted, memory_id, terms=terms, **common)
    except NotFound:
        return _UNCHANGED
    except MemosError as refusal:
        return BulkOutcome.REFUSED, str(refusal.code)
    return _CHANGED if is_changed else _UNCHANGED


def _edit_one(
    access: Access, wanted: dict[str, Any], memory_id: uuid.UUID, *, terms: ChangeTerms, **common: Any
) -> bool:
    """Apply every change to the memory; return whether any made a difference. Raises what the single changes raise."""
    memory = Memory.objects.reachable_by(access).filter(pk=memory_id).select_for_update(of=("self",)).first()
    if memory is None:
        return False
    changed: list[Any] = []
    metadata = _change_metadata(memory.metadata, wanted)
    if metadata != memory.metadata or "importance" in wanted:
        done = edit.edit(
            access,
            memory_id=memory_id,
            metadata=metadata if metadata != memory.metadata else None,
            importance=wanted.get("importance"),
            terms=terms,
            **common,
        )
        changed += done["changed"]
    if "add_tags" in wanted or "remove_tags" in wanted:
        changed += tags.tag(
            access,
            memory_ids=[memory_id],
            add=wanted.get("add_tags", ()),
            remove=wanted.get("remove_tags", ()),
            request_id=terms.request_id,
            **common,
        )
    if "pinned" in wanted:
        done = lifecycle.pin(access, memory_id=memory_id, pinned=wanted["pinned"], terms=terms, **common)
        changed += done["changed"]
    return bool(changed)


def _change_metadata(metadata: dict[str, Any], wanted: dict[str, Any]) -> dict[str, Any]:
    if "metadata" in wanted:
        return dict(wanted["metadata"])
    kept = {name: value for name, value in metadata.items() if name not in wanted.get("remove_metadata", ())}
    return {**kept, **wanted.get("set_metadata", {})}
