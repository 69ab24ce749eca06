"""Follows changes by the clock: marks stale data sets and adapters, takes them out of use, keeps model servers loaded,
and has stale adapters trained again."""

from __future__ import annotations

import logging
import shutil
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import transaction

from memory import audit
from memory.enums import AdapterState, AuditEvent
from memory.errors import AdapterServerUnavailable, Conflict, Forbidden
from memory.models import Adapter, TrainingDataset, TrainingPart
from memory.models.locks import Lock, try_lock
from memory.services.training import process
from memory.services.training.adapters import AdapterOptions, create_adapter, queue_training, scope_of
from memory.services.training.consent import find_obstacle, has_consent
from memory.services.training.datasets import TrainingOptions, start_export
from memory.services.training.files import work_folder
from memory.services.training.serving import hold_name, load_where_missing, lock_row, take_out
from memory.services.training.staleness import describe, find_stale

log = logging.getLogger("memos.adapters")

WORKER = "worker"
_CURRENT = (AdapterState.TRAINING, AdapterState.CANDIDATE, AdapterState.ACTIVE)


def follow(*, now: datetime) -> int:
    """Check every namespace that has data sets; return how many adapters became stale."""
    stale = 0
    namespace_ids = TrainingDataset.objects.across_namespaces().order_by().values_list("namespace_id", flat=True)
    for namespace_id in sorted(set(namespace_ids.distinct())):
        stale += follow_namespace(namespace_id, now=now)
    return stale


def follow_namespace(namespace_id: int, *, now: datetime) -> int:
    """Check one namespace; an error of a server or a disk for one adapter does not stop the others. See `follow`."""
    count = _mark_stale(namespace_id, now=now) + _end_disallowed(namespace_id, now=now)
    for row in Adapter.objects.filter(namespace_id=namespace_id).order_by("id"):
        try:
            if row.state == AdapterState.ACTIVE:
                load_where_missing(row)
            elif row.served_by:
                with hold_name(row) as mine:
                    if mine:
                        take_out(read_again(row))
            if row.rebuild and row.state == AdapterState.STALE:
                _rebuild(row, now=now)
            if row.state != AdapterState.TRAINING and work_folder(row.id).exists():
                _clear_work(row)
        except (AdapterServerUnavailable, Conflict, Forbidden) as refusal:
            _note(row, refusal.message)
    return count


def read_again(row: Adapter) -> Adapter:
    """Return the adapter as it is stored now."""
    return Adapter.objects.filter(namespace_id=row.namespace_id, id=row.id).get()


def start_rebuilt(dataset: TrainingDataset, *, now: datetime) -> Adapter | None:
    """Train an adapter on a data set that was made to replace a stale one; return it, or None if it is not for one or
    cannot be. Called when the data set is made."""
    if dataset.rebuild_of is None or dataset.problem:
        return None
    former = Adapter.objects.filter(namespace_id=dataset.namespace_id, id=dataset.rebuild_of).first()
    if former is None:
        return None
    if not dataset.manifest["files"]["sft.jsonl"]["lines"]:
        _note(former, "Not rebuilt: there is nothing left to learn.")
        return None
    with transaction.atomic():
        scope = scope_of(former, WORKER)
        # A job that runs twice creates only one.
        there = Adapter.objects.in_scope(scope).filter(dataset_id=dataset.id).first()
        if there is not None:
            return there
        row = create_adapter(
            scope, name=former.name, dataset=dataset, options=AdapterOptions(**former.options), now=now
        )
        queue_training(row)
    return row


def forget(*, now: datetime) -> int:
    """Delete the files of data sets older than MEMOS_TRAINING_KEEP_DAYS; return of how many."""
    oldest = now - timedelta(days=settings.MEMOS_TRAINING_KEEP_DAYS)
    rows = TrainingDataset.objects.across_namespaces().filter(created_at__lt=oldest, dropped_at=None)
    count = 0
    for row in rows.exclude(finished_at=None):
        busy = Adapter.objects.filter(
            namespace_id=row.namespace_id, dataset_id=row.id, state=AdapterState.TRAINING
        ).exists()
        if busy:
            continue
        with transaction.atomic():
            TrainingPart.objects.filter(namespace_id=row.namespace_id, dataset_id=row.id).delete()
            TrainingDataset.objects.filter(namespace_id=row.namespace_id, id=row.id).update(dropped_at=now)
        count += 1
    return count


def _mark_stale(namespace_id: int, *, now: datetime) -> int:
    """Mark data sets whose memories have changed, with their adapters; return how many adapters."""
    made = TrainingDataset.objects.filter(namespace_id=namespace_id).exclude(finished_at=None)
    stale = find_stale(namespace_id, list(made.values_list("id", flat=True)))
    count = 0
    for dataset_id, reasons in stale.items():
        with transaction.atomic():
            dataset = made.filter(id=dataset_id).select_for_update().get()
            # Erased memories stay counted.
            dataset.stale = {**{name: n for name, n in dataset.stale.items() if name == "erased"}, **reasons}
            dataset.stale_at = dataset.stale_at or now
            dataset.save(update_fields=["stale", "stale_at"])
            for row in _lock_current(namespace_id, dataset_id=dataset_id):
                _end(row, AdapterState.STALE, f"Of what it has learnt, {describe(dataset.stale)}.", now=now)
                _record(row, {"stale": dataset.stale}, now=now)
                count += 1
    return count


def _end_disallowed(namespace_id: int, *, now: datetime) -> int:
    """Retire adapters in use once the policy, or the cube, no longer allows them; return how many."""
    if not Adapter.objects.filter(namespace_id=namespace_id).current().exists():
        return 0
    if not (obstacle := find_obstacle(namespace_id)):
        return 0
    details = {"parametric": False} if has_consent(namespace_id) else {"consent": False}
    with transaction.atomic():
        rows = _lock_current(namespace_id)
        for row in rows:
            _end(row, AdapterState.RETIRED, obstacle, now=now)
            _record(row, details, now=now)
    return len(rows)


def _lock_current(namespace_id: int, **narrowed: Any) -> list[Adapter]:
    rows = Adapter.objects.filter(namespace_id=namespace_id, state__in=_CURRENT, **narrowed)
    return list(rows.order_by("id").select_for_update())


def _end(row: Adapter, state: AdapterState, problem: str, *, now: datetime) -> None:
    """End the use of the adapter; a stale one that was active is trained again."""
    row.rebuild = state == AdapterState.STALE and (row.rebuild or row.state == AdapterState.ACTIVE)
    row.state, row.problem, row.ended_at = state, problem[:500], now
    row.save(update_fields=["state", "problem", "ended_at", "rebuild"])


def _record(row: Adapter, details: dict[str, Any], *, now: datetime) -> None:
    audit.record(
        scope_of(row, WORKER),
        AuditEvent.ADAPTER_STALE,
        subject=str(row.id),
        details={"name": row.name, **details},
        now=now,
    )


def _rebuild(row: Adapter, *, now: datetime) -> None:
    """Request a data set like the one it learnt from, on which another adapter is trained. Raises Conflict if it cannot
    be."""
    if missing := process.find_missing():
        raise Conflict(f"Not rebuilt: {missing}")
    former = TrainingDataset.objects.filter(namespace_id=row.namespace_id, id=row.dataset_id).get()
    with transaction.atomic():
        stored = lock_row(row)
        if not stored.rebuild:
            return
        stored.rebuild = False
        stored.save(update_fields=["rebuild"])
        start_export(scope_of(row, WORKER), TrainingOptions.of(former.options), now=now, rebuild_of=row.id)


def _clear_work(row: Adapter) -> None:
    """Remove the files of a training that was killed."""
    with try_lock(Lock.ADAPTER, row.id) as mine:
        if mine:
            shutil.rmtree(work_folder(row.id))


def _note(row: Adapter, problem: str) -> None:
    """Add the problem to the row, once, after the one noted there."""
    stored = read_again(row)
    if problem not in stored.problem:
        said = f"{stored.problem.split(' Not rebuilt: ')[0]} {problem}".strip()[:500]
        Adapter.objects.filter(namespace_id=row.namespace_id, id=row.id).update(problem=said)
        log.warning("an adapter is not as it should be", extra={"adapter": str(row.id), "reason": problem})
