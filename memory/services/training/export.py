"""Makes a data set: reads memories, makes lines, and stores them at a moment at which all memories are as they were
read."""

from __future__ import annotations

import hashlib
import uuid
import zlib
from collections.abc import Callable
from datetime import datetime
from typing import Any

from django.db import transaction

from memory import audit
from memory.enums import AuditEvent, TrainingFile
from memory.models import TrainingDataset, TrainingPart, TrainingSource
from memory.models.large_values import add_part
from memory.services.jobs import runner
from memory.services.tenancy.policy import governing, in_force
from memory.services.training.consent import find_obstacle
from memory.services.training.datasets import TrainingOptions, name_of
from memory.services.training.lines import TrainingLines, strictest
from memory.services.training.materials import list_materials
from memory.services.training.staleness import lock_sources
from memory.types import Scope

FORMAT_VERSION = 1
# The number of attempts, because memories may change while they are read.
TRIES = 3
_PART_BYTES = 1024 * 1024
_STORED_AT_ONCE = 2_000


def make_dataset(*, namespace_id: int, dataset_id: uuid.UUID, now: Callable[[], datetime]) -> TrainingDataset | None:
    """Make the requested data set, all or nothing; return None when there is nothing (more) to do.

    Its row records why it was not made. Raises nothing for problems that a person can solve.
    """
    row = TrainingDataset.objects.filter(namespace_id=namespace_id, id=dataset_id, finished_at=None).first()
    if row is None:
        return None
    scope = Scope(namespace_id, name_of(namespace_id), row.actor, str(row.id))
    for _ in range(TRIES):
        if obstacle := find_obstacle(namespace_id):
            return _end(scope, row, problem=obstacle, now=now())
        lines = _read(scope, TrainingOptions.of(row.options))
        stored = _store(scope, row, lines, now=now)
        if stored is not None:
            return stored
    return _end(scope, row, problem="Memories were changed each time they were read: ask again.", now=now())


def _read(scope: Scope, options: TrainingOptions) -> TrainingLines:
    lines = TrainingLines(scope.namespace, strictest(in_force(scope.namespace_id).gate), options.max_lines)
    for origin in options.origins:
        for material in list_materials(scope, origin, min_importance=options.min_importance):
            lines.add(material)
            runner.report(lines.count, options.max_lines)
    return lines


def _store(
    scope: Scope, row: TrainingDataset, lines: TrainingLines, *, now: Callable[[], datetime]
) -> TrainingDataset | None:
    """Store it if every memory is as it was read, and was not named by an erasure; else return None."""
    with transaction.atomic():
        if not lock_sources(scope.namespace_id, lines.sources):
            return None
        stored = _lock(row)
        if stored is None:
            return row
        moment = now()
        files = {file: lines.write(file) for file in TrainingFile}
        stored.manifest = _manifest(scope, lines, files, now=moment)
        stored.finished_at = moment
        stored.save(update_fields=["manifest", "finished_at"])
        TrainingSource.objects.bulk_create(
            [
                TrainingSource(
                    namespace_id=scope.namespace_id,
                    dataset_id=row.id,
                    memory_id=one.memory_id,
                    fingerprint=one.fingerprint,
                    superseded=one.superseded,
                )
                for one in lines.sources.values()
            ],
            batch_size=_STORED_AT_ONCE,
        )
        for file, data in files.items():
            for number, start in enumerate(range(0, len(data), _PART_BYTES)):
                add_part(
                    TrainingPart,
                    namespace_id=scope.namespace_id,
                    dataset_id=row.id,
                    file=file.value,
                    number=number,
                    data=zlib.compress(data[start : start + _PART_BYTES], 6),
                )
        _record(scope, stored, now=moment)
    return stored


def _manifest(scope: Scope, lines: TrainingLines, files: dict[TrainingFile, bytes], *, now: datetime) -> dict[str, Any]:
    return {
        "format_version": FORMAT_VERSION,
        "files": {
            f"{file.value}.jsonl": {
                "lines": len(lines.files[file]),
                "bytes": len(data),
                "sha256": hashlib.sha256(data).hexdigest(),
            }
            for file, data in files.items()
        },
        "origins": dict(sorted(lines.origins.items())),
        "memories": len(lines.sources),
        "redacted": lines.redacted,
        "left_out": dict(sorted(lines.left_out.items())),
        "policy_version": governing(scope.namespace_id).version,
        "snapshot_at": now.isoformat(),
    }


def _end(scope: Scope, row: TrainingDataset, *, problem: str, now: datetime) -> TrainingDataset:
    with transaction.atomic():
        stored = _lock(row)
        if stored is None:
            return row
        stored.problem, stored.finished_at = problem, now
        stored.save(update_fields=["problem", "finished_at"])
        _record(scope, stored, now=now)
    return stored


def _lock(row: TrainingDataset) -> TrainingDataset | None:
    own = TrainingDataset.objects.filter(namespace_id=row.namespace_id, id=row.id, finished_at=None)
    return own.select_for_update().first()


def _record(scope: Scope, row: TrainingDataset, *, now: datetime) -> None:
    files = row.manifest.get("files", {})
    audit.record(
        scope,
        AuditEvent.TRAINING_EXPORT,
        subject=str(row.id),
        details={
            "lines": {name: about["lines"] for name, about in files.items()},
            "sha256": {name: about["sha256"] for name, about in files.items()},
            "memories": row.manifest.get("memories", 0),
            "problem": row.problem,
        },
        now=now,
    )
