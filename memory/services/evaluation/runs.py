"""Manages the rows of evaluation runs: requested, started, finished or failed, and listed."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import IntegrityError, transaction

from memory import audit
from memory.enums import AuditEvent, EvaluationStatus, JobState
from memory.errors import Conflict, Forbidden, InvalidInput, NotFound
from memory.models import EvaluationResult, EvaluationRun, Job
from memory.models.locks import Lock, try_lock
from memory.models.paging import narrow
from memory.services.jobs import queue
from memory.services.tenancy.namespaces import lock_namespace
from memory.types import Access, ListFilter, Scope

_OPEN = (EvaluationStatus.QUEUED, EvaluationStatus.RUNNING)
_FOLDER_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
DEFAULT_TOP_K = 50
MAX_SECONDS = 3_600


@dataclass(frozen=True, slots=True)
class Options:
    """The options of a run: hits for each question, only these types and groups (empty: all), and each retriever
    separately."""

    top_k: int = DEFAULT_TOP_K
    types: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    arms: bool = False

    @classmethod
    def of(cls, run: EvaluationRun) -> Options:
        """Return the options of `run`."""
        stored = run.options
        return cls(stored["top_k"], tuple(stored["types"]), tuple(stored["groups"]), stored["arms"])


@dataclass(frozen=True, slots=True)
class Measured:
    """The measurements of a run; `results` are unsaved rows."""

    digest: str
    configuration: Mapping[str, Any]
    metrics: Mapping[str, Any]
    notes: Sequence[str]
    results: Sequence[EvaluationResult]


def dataset_folder(name: str) -> Path:
    """Return the folder `name` among the server's data sets. Raises InvalidInput, NotFound."""
    if not _FOLDER_NAME.fullmatch(name):
        raise InvalidInput(
            "A dataset is named by its folder: 1 to 100 letters, digits, dots, dashes and underscores.",
            detail={"field": "dataset"},
        )
    home = Path(settings.MEMOS_EVALUATION_DIR).resolve()
    folder = (home / name).resolve()
    # A link inside the folder must not lead out of it either.
    if folder.parent != home or not folder.is_dir():
        raise NotFound(f"There is no dataset {name!r} in `datasets` in MEMOS_DATA_DIR.", detail={"field": "dataset"})
    return folder


def request(
    access: Access, *, scope: Scope | None, dataset: str, options: Options, label: str, now: datetime
) -> EvaluationRun:
    """Queue an evaluation of the scope's namespace by its judgements, or (scope None) of a dataset.

    Raises Forbidden for a dataset when the caller does not reach all namespaces, InvalidInput and NotFound as
    `dataset_folder`, Conflict while the same evaluation is queued or running, NamespaceGone.
    """
    if scope is None:
        if not access.all_namespaces:
            raise Forbidden(
                "Datasets need a key of all namespaces. Evaluate a namespace of yours by its judgements instead.",
                detail={"field": "dataset"},
            )
        dataset_folder(dataset)
    with transaction.atomic():
        if scope is not None:
            lock_namespace(scope)
        run = create(scope, dataset=dataset, options=options, label=label, actor=access.actor, now=now)
        queue.enqueue(queue.EVALUATE, run.namespace_id, str(run.pk), seconds=MAX_SECONDS)
    return run


def create(
    scope: Scope | None, *, dataset: str, options: Options, label: str, actor: str, now: datetime
) -> EvaluationRun:
    """Create a run that is not started yet. Raises Conflict while the same evaluation is queued or running."""
    run = EvaluationRun(
        namespace_id=scope.namespace_id if scope else 0,
        namespace=scope.namespace if scope else "",
        dataset=dataset,
        options=asdict(options),
        label=label,
        actor=actor,
        created_at=now,
    )
    if _try_insert(run):
        return run
    # A run whose process was killed has left only its row, which must not block a new one.
    if fail_lost(now=now) and _try_insert(run):
        return run
    same = EvaluationRun.objects.filter(namespace_id=run.namespace_id, dataset=dataset, status__in=_OPEN).first()
    if same is None:
        raise Conflict("The same was under way and has just ended: ask again.", detail={"id": None})
    raise Conflict(f"The same is {same.status} already: evaluation {same.pk}.", detail={"id": str(same.pk)})


def _try_insert(run: EvaluationRun) -> bool:
    """Insert the row; return False when the database refuses it (`evaluation_open_once`), so that only one of equal
    concurrent requests succeeds."""
    try:
        with transaction.atomic():
            run.save(force_insert=True)
    except IntegrityError:
        return False
    return True


@contextmanager
def claim(run: EvaluationRun, *, now: datetime) -> Iterator[bool]:
    """Yield whether the caller may carry the run out, which is then `running`.

    It may not when the run is finished, or another process works on it. That process has an advisory lock, which ends
    with its connection, so a run whose process was killed can be distinguished from one that takes long.
    """
    with try_lock(Lock.EVALUATION, run.pk) as mine:
        if not mine:
            yield False
            return
        with transaction.atomic():
            rows = _row(run).filter(status__in=_OPEN)
            begun = rows.update(status=EvaluationStatus.RUNNING, started_at=now)
            if begun:
                _record(run, AuditEvent.EVALUATION_START, {"options": run.options}, now=now)
        yield bool(begun)


def finish(run: EvaluationRun, measured: Measured, *, now: datetime) -> EvaluationRun:
    """Store the measurements of the run, with the results of each question."""
    with transaction.atomic():
        # A run that begins again after its process was killed has stored none.
        EvaluationResult.objects.bulk_create(measured.results, batch_size=1_000)
        _row(run).update(
            status=EvaluationStatus.FINISHED,
            content_digest=measured.digest,
            configuration=dict(measured.configuration),
            metrics=dict(measured.metrics),
            notes=list(measured.notes),
            finished_at=now,
        )
        _record(
            run,
            AuditEvent.EVALUATION_FINISH,
            {"status": EvaluationStatus.FINISHED, "questions": len(measured.results)},
            now=now,
        )
    return _row(run).get()


def fail(run: EvaluationRun, *, reason: str, now: datetime) -> None:
    """End the run without measurements; `reason` explains it in a sentence."""
    with transaction.atomic():
        _row(run).update(status=EvaluationStatus.FAILED, error=reason, finished_at=now)
        details = {"status": EvaluationStatus.FAILED, "reason": reason}
        _record(run, AuditEvent.EVALUATION_FINISH, details, now=now)


def fail_lost(*, now: datetime) -> int:
    """Fail the runs that are marked as running without a process, and queued ones whose job was discarded.

    Returns how many.
    """
    lost = 0
    runs = EvaluationRun.objects.across_namespaces()
    for run in runs.filter(status=EvaluationStatus.QUEUED):
        of_run = Job.objects.filter(namespace_id=run.namespace_id, kind=queue.EVALUATE.name, arguments__1=str(run.pk))
        if of_run.filter(state=JobState.DISCARDED).exists():
            fail(run, reason="Its job was discarded. Start it again.", now=now)
            lost += 1
    for run in runs.filter(status=EvaluationStatus.RUNNING):
        with try_lock(Lock.EVALUATION, run.pk) as mine:
            if mine and _row(run).filter(status=EvaluationStatus.RUNNING).exists():
                fail(run, reason="The process that carried it out has ended. Start it again.", now=now)
                lost += 1
    return lost


def find(access: Access, *, run_id: uuid.UUID) -> EvaluationRun:
    """Return a run that the caller reaches; a dataset's run needs access to all namespaces. Raises NotFound."""
    run = EvaluationRun.objects.reachable_by(access).filter(pk=run_id).first()
    if run is None:
        raise NotFound(f"There is no evaluation {run_id} that this key reaches.", detail={"field": "id"})
    return run


def list_runs(access: Access, *, wanted: ListFilter) -> list[dict[str, Any]]:
    """Return the newest runs that the caller reaches. Raises NotFound for a namespace that it does not reach."""
    rows = narrow(EvaluationRun.objects.reachable_by(access), access, wanted)
    return [to_dict(run) for run in rows[: wanted.limit]]


def to_dict(run: EvaluationRun) -> dict[str, Any]:
    """Return a run as clients see it."""
    return {
        "id": str(run.pk),
        "status": str(run.status),
        "namespace": run.namespace or None,
        "dataset": run.dataset or None,
        "label": run.label,
        "options": run.options,
        "content_digest": run.content_digest,
        "configuration": run.configuration,
        "metrics": run.metrics,
        "notes": run.notes,
        "error": run.error,
        "actor": run.actor,
        "created_at": run.created_at.isoformat(),
        "started_at": run.started_at.isoformat() if run.started_at else None,
        "finished_at": run.finished_at.isoformat() if run.finished_at else None,
    }


def results(run: EvaluationRun) -> list[dict[str, Any]]:
    """Return the scores of each question, in the order of asking."""
    rows = EvaluationResult.objects.filter(namespace_id=run.namespace_id, run_id=run.pk).order_by("number")
    names = ("group", "query_id", "type", "fingerprint", "metrics", "context_tokens", "milliseconds")
    return list(rows.values(*names))


def _row(run: EvaluationRun) -> Any:
    return EvaluationRun.objects.filter(namespace_id=run.namespace_id, pk=run.pk)


def _record(run: EvaluationRun, event: AuditEvent, details: Mapping[str, Any], *, now: datetime) -> None:
    details = {"dataset": run.dataset, "label": run.label, **details}
    scope = Scope(run.namespace_id, run.namespace, run.actor)
    audit.record(scope, event, subject=str(run.pk), details=details, now=now)
