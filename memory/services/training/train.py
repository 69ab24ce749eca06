"""Trains a requested adapter, has its evaluation judged, and registers it if it passes."""

from __future__ import annotations

import json
import os
import shutil
import uuid
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import transaction

from memory import audit
from memory.enums import AdapterState, AuditEvent
from memory.errors import Conflict, Forbidden, MemosError
from memory.governance.adapters import judge_adapter
from memory.models import Adapter, TrainingDataset
from memory.models.locks import Lock, try_lock
from memory.services.jobs import runner
from memory.services.training import process
from memory.services.training.adapters import scope_of
from memory.services.training.consent import require_consent
from memory.services.training.datasets import FILES, check_usable, read_parts
from memory.services.training.files import remove_files, take_in, work_folder
from memory.services.training.process import TrainerResult, TrainingFailed, TrainingStopped
from memory.services.training.serving import lock_row

_MAX_PROBLEM_CHARS = 500
_RECHECK_POLLS = 5


def train(*, namespace_id: int, adapter_id: uuid.UUID, now: Callable[[], datetime]) -> Adapter | None:
    """Train the adapter; return None when there is nothing to do, or another process works on it.

    It becomes a candidate if it passes; otherwise it is refused, with the reasons on its row. If its memories are
    erased or superseded meanwhile, it is stale, and nothing of it is kept. Raises OSError when it cannot be written to
    disk: the job is tried again.
    """
    with try_lock(Lock.ADAPTER, adapter_id) as mine:
        row = _find(namespace_id, adapter_id)
        if not mine or row is None:
            return None
        folder = work_folder(adapter_id)
        try:
            shutil.rmtree(folder, ignore_errors=True)
            dataset = _usable_dataset(row)
            if missing := process.find_missing():
                raise TrainingFailed(missing)
            _prepare(folder, row, dataset)
            result = process.run(folder, wanted=_Wanted(row), report=runner.report)
            return _register(row, result, folder / "adapter", now=now())
        except TrainingStopped:
            return None
        except (TrainingFailed, Conflict, Forbidden) as refusal:
            return _refuse(row, refusal, now=now())
        finally:
            shutil.rmtree(folder, ignore_errors=True)


class _Wanted:
    """Tells whether the adapter is still wanted; called often, but looks it up only now and then."""

    def __init__(self, row: Adapter) -> None:
        self._row = row
        self._polls = 0

    def __call__(self) -> bool:
        self._polls += 1
        return self._polls % _RECHECK_POLLS != 0 or _find(self._row.namespace_id, self._row.id) is not None


def _find(namespace_id: int, adapter_id: uuid.UUID) -> Adapter | None:
    return Adapter.objects.filter(namespace_id=namespace_id, id=adapter_id, state=AdapterState.TRAINING).first()


def _usable_dataset(row: Adapter) -> TrainingDataset:
    """Return its data set. Raises Forbidden, Conflict, TrainingFailed."""
    require_consent(scope_of(row, row.actor))
    dataset = TrainingDataset.objects.filter(namespace_id=row.namespace_id, id=row.dataset_id).first()
    if dataset is None:
        raise TrainingFailed("The data set is not there any more.")
    check_usable(dataset)
    if not settings.MEMOS_ADAPTER_BASE_MODEL:
        raise TrainingFailed("No base model is set: MEMOS_ADAPTER_BASE_MODEL.")
    return dataset


def _prepare(folder: Path, row: Adapter, dataset: TrainingDataset) -> None:
    """Write the trainer's input, readable only by the server's user."""
    folder.mkdir(mode=0o700, parents=True)
    for name, file in FILES.items():
        with (folder / name).open("wb") as stream:
            for piece in read_parts(dataset, file):
                stream.write(piece)
    request: dict[str, Any] = {
        **row.options,
        "base_model": str(Path(settings.MEMOS_ADAPTER_BASE_MODEL).expanduser().resolve()),
        "threads": os.cpu_count() or 1,
    }
    (folder / "request.json").write_text(json.dumps(request))


def _register(row: Adapter, result: TrainerResult, trained: Path, *, now: datetime) -> Adapter | None:
    """Judge the metrics and store the adapter and, if it passes, its files, unless it is stale by now."""
    reasons = judge_adapter(result.metrics)
    with transaction.atomic():
        stored = lock_row(row)
        if stored.state != AdapterState.TRAINING:
            return None
        # Check it again, because a memory may have been superseded during the training.
        dataset = _usable_dataset(stored)
        stored.base_model = Path(settings.MEMOS_ADAPTER_BASE_MODEL).name[:200]
        stored.base_sha256, stored.metrics, stored.refusals = result.base_sha256, result.metrics, reasons
        stored.state = AdapterState.REFUSED if reasons else AdapterState.CANDIDATE
        stored.problem = " ".join(reasons)[:_MAX_PROBLEM_CHARS]
        stored.trained_at = now
        if reasons:
            stored.ended_at = now
        else:
            stored.files = take_in(trained, stored)
        stored.save()
        audit.record(
            scope_of(stored, stored.actor),
            AuditEvent.ADAPTER_JUDGE,
            subject=str(stored.id),
            details={
                "name": stored.name,
                "dataset": str(dataset.id),
                "state": str(stored.state),
                "base_sha256": stored.base_sha256,
                "sha256": {name: about["sha256"] for name, about in stored.files.items()},
                "metrics": stored.metrics,
                "refusals": reasons,
            },
            now=now,
        )
    return stored


def _refuse(row: Adapter, refusal: MemosError, *, now: datetime) -> Adapter | None:
    with transaction.atomic():
        stored = lock_row(row)
        if stored.state != AdapterState.TRAINING:
            return None
        stored.state, stored.problem, stored.ended_at = AdapterState.REFUSED, refusal.message[:_MAX_PROBLEM_CHARS], now
        stored.save(update_fields=["state", "problem", "ended_at"])
        audit.record(
            scope_of(stored, stored.actor),
            AuditEvent.ADAPTER_JUDGE,
            subject=str(stored.id),
            details={"name": stored.name, "state": str(stored.state), "refusals": [stored.problem]},
            now=now,
        )
    # A killed run may have moved them there.
    remove_files(stored)
    return stored
