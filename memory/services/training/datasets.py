"""Accepts requests for data sets, reports their progress, and downloads and drops them. `export` makes them."""

from __future__ import annotations

import uuid
import zlib
from collections.abc import Collection, Iterator
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

import orjson
from django.db import transaction

from memory import audit
from memory.enums import AuditEvent, JobState, TrainingFile, TrainingOrigin, TrainingState
from memory.errors import Conflict, NotFound
from memory.models import Job, Namespace, TrainingDataset, TrainingPart
from memory.models.paging import narrow, page_of
from memory.services.jobs import queue
from memory.services.tenancy.namespaces import lock_namespace
from memory.services.training.consent import require_consent
from memory.services.training.staleness import describe, find_stale
from memory.types import Access, ListFilter, Scope

JOB_SECONDS = 3_600
# The most unfinished data sets of a namespace.
MAX_OPEN = 5
MAX_LINES = 20_000
MANIFEST = "manifest.json"
FILES = {f"{file.value}.jsonl": file for file in TrainingFile}


@dataclass(frozen=True, slots=True)
class TrainingOptions:
    """The contents of a data set: memories of these `origins`; `min_importance` (0 to 1) applies to unmarked
    memories."""

    origins: tuple[TrainingOrigin, ...] = tuple(TrainingOrigin)
    min_importance: float = 0.6
    max_lines: int = 5_000

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "origins": [one.value for one in self.origins]}

    @classmethod
    def of(cls, values: dict[str, Any]) -> TrainingOptions:
        origins = tuple(TrainingOrigin(one) for one in values["origins"])
        return cls(origins, values["min_importance"], values["max_lines"])


def start_export(
    scope: Scope,
    options: TrainingOptions,
    *,
    now: datetime,
    rebuild_of: uuid.UUID | None = None,
    in_background: bool = True,
) -> TrainingDataset:
    """Request a data set, which a job makes.

    Raises Forbidden without consent, Conflict for a cube without parametric memory, and while MAX_OPEN data sets are
    unfinished.
    """
    require_consent(scope)
    with transaction.atomic():
        # Lock the row of the namespace, so that concurrent requests are counted one after the other.
        lock_namespace(scope)
        waiting = TrainingDataset.objects.in_scope(scope).filter(finished_at=None).count()
        if waiting >= MAX_OPEN:
            raise Conflict(
                f"{waiting} training exports of {scope.namespace!r} are not made yet: wait for one of them, or delete "
                "it.",
                detail={"open": waiting},
            )
        row = TrainingDataset.objects.create(
            namespace_id=scope.namespace_id,
            options=options.to_dict(),
            rebuild_of=rebuild_of,
            actor=scope.actor,
            created_at=now,
        )
        if in_background:
            queue.enqueue(queue.EXPORT_TRAINING, scope.namespace_id, str(row.id), seconds=JOB_SECONDS)
    return row


def find_dataset(access: Access, *, dataset_id: uuid.UUID) -> TrainingDataset:
    """Return a data set of a namespace that the caller reaches. Raises NotFound."""
    row = TrainingDataset.objects.reachable_by(access).filter(id=dataset_id).first()
    if row is None:
        raise _not_found(dataset_id)
    return row


def list_datasets(
    access: Access, *, wanted: ListFilter, cursor: uuid.UUID | None
) -> tuple[list[dict[str, Any]], uuid.UUID | None]:
    """Return the data sets, newest first, from `cursor` on, and the cursor of the next page. Raises NotFound."""
    rows = narrow(TrainingDataset.objects.reachable_by(access), access, wanted)
    if cursor is not None:
        rows = rows.filter(id__lte=cursor)
    page, following = page_of(rows, wanted.limit)
    return describe_datasets(page), following.id if following else None


def read_file(access: Access, *, dataset_id: uuid.UUID, name: str, now: datetime) -> tuple[int, Iterator[bytes]]:
    """Return the size and the pieces of a data set's file, or of its manifest, and record that it was read.

    Raises NotFound, Forbidden when consent was withdrawn, and Conflict when the cube has no parametric memory, or the
    data set is unfinished, stale or dropped.
    """
    row = find_dataset(access, dataset_id=dataset_id)
    if name != MANIFEST and name not in FILES:
        raise NotFound(
            f"There is no file {name!r}: there are {', '.join([*FILES, MANIFEST])}.", detail={"field": "file"}
        )
    scope = Scope(row.namespace_id, name_of(row.namespace_id), access.actor, str(row.id))
    require_consent(scope)
    check_usable(row)
    with transaction.atomic():
        audit.record(scope, AuditEvent.TRAINING_READ, subject=str(row.id), details={"file": name}, now=now)
    if name == MANIFEST:
        written = orjson.dumps(manifest_of(row), option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS) + b"\n"
        return len(written), iter([written])
    return row.manifest["files"][name]["bytes"], read_parts(row, FILES[name])


def drop_dataset(access: Access, *, dataset_id: uuid.UUID, now: datetime) -> TrainingDataset:
    """Delete the files of a data set, or cancel an unfinished one. Raises NotFound.

    The list of its memories is kept for the adapters that were trained on it. Repeating it changes nothing.
    """
    with transaction.atomic():
        row = TrainingDataset.objects.reachable_by(access).filter(id=dataset_id).select_for_update().first()
        if row is None:
            raise _not_found(dataset_id)
        if row.dropped_at is None:
            row.dropped_at, row.finished_at = now, row.finished_at or now
            row.save(update_fields=["dropped_at", "finished_at"])
            TrainingPart.objects.filter(namespace_id=row.namespace_id, dataset_id=row.id).delete()
            scope = Scope(row.namespace_id, name_of(row.namespace_id), access.actor, str(row.id))
            audit.record(scope, AuditEvent.TRAINING_DROP, subject=str(row.id), details={}, now=now)
    return row


def check_usable(row: TrainingDataset) -> None:
    """Raise Conflict for an unusable data set, with the reason."""
    if row.problem:
        raise Conflict(f"The data set was not made: {row.problem}", detail={"state": TrainingState.FAILED.value})
    if row.dropped_at is not None:
        raise Conflict("The files of the data set were deleted: export it anew.", detail={"state": "dropped"})
    if row.finished_at is None:
        raise Conflict("The data set is not made yet: ask again when its state is done.", detail={"state": "queued"})
    if reasons := stale_reasons(row):
        raise Conflict(
            f"The data set is stale ({describe(reasons)} since it was made): export it anew.",
            detail={"state": TrainingState.STALE.value, "stale": reasons},
        )


def stale_reasons(row: TrainingDataset) -> dict[str, int]:
    """Count its memories that have changed, by reason, as of now."""
    now = find_stale(row.namespace_id, [row.id]).get(row.id, {})
    return {**row.stale, **now}


def describe_datasets(rows: Collection[TrainingDataset]) -> list[dict[str, Any]]:
    """Return data sets as clients see them."""
    names = dict(Namespace.objects.filter(pk__in={row.namespace_id for row in rows}).values_list("pk", "name"))
    stale: dict[uuid.UUID, dict[str, int]] = {}
    for namespace_id in names:
        stale |= find_stale(namespace_id, [row.id for row in rows if row.namespace_id == namespace_id])
    return [_to_dict(row, names.get(row.namespace_id, ""), {**row.stale, **stale.get(row.id, {})}) for row in rows]


def manifest_of(row: TrainingDataset) -> dict[str, Any]:
    """Return the manifest of the data set."""
    return {**row.manifest, "dataset_id": str(row.id), "namespace": name_of(row.namespace_id), "options": row.options}


def name_of(namespace_id: int) -> str:
    """Return the name of a namespace."""
    return Namespace.objects.filter(pk=namespace_id).values_list("name", flat=True).first() or ""


def read_parts(row: TrainingDataset, file: TrainingFile) -> Iterator[bytes]:
    """Yield the pieces of one of its files, each read by a separate statement."""
    parts = TrainingPart.objects.filter(namespace_id=row.namespace_id, dataset_id=row.id, file=file)
    number = 0
    while (data := parts.filter(number=number).values_list("data", flat=True).first()) is not None:
        yield zlib.decompress(data)
        number += 1


def _to_dict(row: TrainingDataset, namespace: str, stale: dict[str, int]) -> dict[str, Any]:
    return {
        "id": str(row.id),
        "namespace": namespace,
        "state": _state_of(row, stale),
        "problem": row.problem or None,
        "options": row.options,
        "files": row.manifest.get("files", {}),
        "memories": row.manifest.get("memories", 0),
        "redacted": row.manifest.get("redacted", 0),
        "left_out": row.manifest.get("left_out", {}),
        "policy_version": row.manifest.get("policy_version"),
        "snapshot_at": row.manifest.get("snapshot_at"),
        "stale": stale,
        "rebuild_of": str(row.rebuild_of) if row.rebuild_of else None,
        "actor": row.actor,
        "created_at": row.created_at.isoformat(),
        "finished_at": row.finished_at.isoformat() if row.finished_at else None,
    }


def _state_of(row: TrainingDataset, stale: dict[str, int]) -> str:
    if row.problem:
        return TrainingState.FAILED.value
    if row.dropped_at is not None:
        return TrainingState.DROPPED.value
    if row.finished_at is not None:
        return TrainingState.STALE.value if stale else TrainingState.DONE.value
    arguments = [row.namespace_id, str(row.id)]
    jobs = Job.objects.filter(namespace_id=row.namespace_id, kind=queue.EXPORT_TRAINING.name, arguments=arguments)
    state = jobs.order_by("-id").values_list("state", flat=True).first() or JobState.RUNNING
    return TrainingState.RUNNING.value if state == JobState.DONE else str(state)


def _not_found(dataset_id: uuid.UUID) -> NotFound:
    return NotFound(f"There is no training export {dataset_id} that this key reaches.", detail={"field": "id"})
