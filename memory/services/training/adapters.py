"""Keeps the registry of adapters: their data sets, states and metrics. `serving` puts them to use."""

from __future__ import annotations

import re
import uuid
from collections.abc import Collection
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import transaction

from memory import audit
from memory.enums import AdapterState, AuditEvent
from memory.errors import Conflict, InvalidInput, NotFound
from memory.models import Adapter, Namespace, TrainingDataset
from memory.models.paging import narrow, page_of
from memory.services.jobs import queue
from memory.services.tenancy.namespaces import lock_namespace
from memory.services.training.consent import require_consent
from memory.services.training.datasets import check_usable, find_dataset, name_of
from memory.services.training.process import MAX_SECONDS
from memory.services.training.staleness import find_stale
from memory.types import Access, ListFilter, Scope

NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,46}[a-z0-9])?")
MAX_TRAINING = 3
# The time of the job besides that of the trainer.
BESIDES_TRAINING_SECONDS = 600


@dataclass(frozen=True, slots=True)
class AdapterOptions:
    """The options of training: the `rank` of the adapter's matrices, at most `epochs` epochs, and `batch` examples a
    step."""

    rank: int = 8
    epochs: int = 12
    learning_rate: float = 0.0015
    batch: int = 8
    seed: int = 0

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def start_training(
    scope: Scope,
    *,
    name: str,
    dataset_id: uuid.UUID,
    options: AdapterOptions,
    now: datetime,
    in_background: bool = True,
) -> Adapter:
    """Request an adapter, which a job trains on the data set.

    Raises Forbidden without consent, NotFound, InvalidInput for an invalid name, Conflict for a cube without parametric
    memory, for an unusable data set, without a base model, and while MAX_TRAINING adapters are being trained.
    """
    require_consent(scope)
    if not NAME.fullmatch(name):
        raise InvalidInput(
            "The name of an adapter has 1 to 48 small letters, digits and hyphens, none at its ends.",
            detail={"field": "name"},
        )
    if not settings.MEMOS_ADAPTER_BASE_MODEL:
        raise Conflict(
            "No base model is set: MEMOS_ADAPTER_BASE_MODEL names a folder (safetensors) or a GGUF file on the server.",
            detail={"setting": "MEMOS_ADAPTER_BASE_MODEL"},
        )
    own = Access(actor=scope.actor, namespace_ids=frozenset({scope.namespace_id}))
    dataset = find_dataset(own, dataset_id=dataset_id)
    check_usable(dataset)
    if not dataset.manifest["files"]["sft.jsonl"]["lines"]:
        raise Conflict(
            "The data set has no line of sft.jsonl: there is nothing to learn.", detail={"field": "dataset_id"}
        )
    with transaction.atomic():
        lock_namespace(scope)
        waiting = Adapter.objects.in_scope(scope).filter(state=AdapterState.TRAINING).count()
        if waiting >= MAX_TRAINING:
            raise Conflict(
                f"{waiting} adapters of {scope.namespace!r} are being trained: wait for one, or retire it.",
                detail={"training": waiting},
            )
        row = create_adapter(scope, name=name, dataset=dataset, options=options, now=now)
        if in_background:
            queue_training(row)
    return row


def create_adapter(
    scope: Scope, *, name: str, dataset: TrainingDataset, options: AdapterOptions, now: datetime
) -> Adapter:
    """Create the row of an adapter to train. Inside the caller's transaction."""
    row = Adapter.objects.create(
        namespace_id=scope.namespace_id,
        name=name,
        dataset_id=dataset.id,
        options=options.to_dict(),
        actor=scope.actor,
        created_at=now,
    )
    details = {"name": name, "dataset": str(dataset.id), "options": row.options}
    audit.record(scope, AuditEvent.ADAPTER_TRAIN, subject=str(row.id), details=details, now=now)
    return row


def queue_training(row: Adapter) -> None:
    """Queue the job that trains it. Inside the caller's transaction."""
    seconds = MAX_SECONDS + BESIDES_TRAINING_SECONDS
    queue.enqueue(queue.TRAIN_ADAPTER, row.namespace_id, str(row.id), seconds=seconds)


def find_adapter(access: Access, *, adapter_id: uuid.UUID) -> Adapter:
    """Return an adapter of a namespace that the caller reaches. Raises NotFound."""
    row = Adapter.objects.reachable_by(access).filter(id=adapter_id).first()
    if row is None:
        raise NotFound(f"There is no adapter {adapter_id} that this key reaches.", detail={"field": "id"})
    return row


def list_adapters(
    access: Access, *, wanted: ListFilter, cursor: uuid.UUID | None
) -> tuple[list[dict[str, Any]], uuid.UUID | None]:
    """Return the adapters, newest first, from `cursor` on, and the cursor of the next page. Raises NotFound."""
    rows = narrow(Adapter.objects.reachable_by(access), access, wanted)
    if cursor is not None:
        rows = rows.filter(id__lte=cursor)
    page, following = page_of(rows, wanted.limit)
    return describe_adapters(page), following.id if following else None


def describe_adapters(rows: Collection[Adapter]) -> list[dict[str, Any]]:
    """Return adapters as clients see them: one whose memories no longer hold is shown as stale at once."""
    names = dict(Namespace.objects.filter(pk__in={row.namespace_id for row in rows}).values_list("pk", "name"))
    stale: dict[uuid.UUID, dict[str, int]] = {}
    for namespace_id in names:
        own = [row.dataset_id for row in rows if row.namespace_id == namespace_id]
        stale |= find_stale(namespace_id, own)
        marked = TrainingDataset.objects.filter(namespace_id=namespace_id, id__in=own)
        for dataset_id, reasons in marked.values_list("id", "stale"):
            if reasons:
                stale[dataset_id] = {**reasons, **stale.get(dataset_id, {})}
    return [_to_dict(row, names.get(row.namespace_id, ""), stale.get(row.dataset_id, {})) for row in rows]


def scope_of(row: Adapter, actor: str) -> Scope:
    """Return the scope in which `actor` changes the adapter, whose id is used as the request's."""
    return Scope(row.namespace_id, name_of(row.namespace_id), actor, str(row.id))


def _to_dict(row: Adapter, namespace: str, stale: dict[str, int]) -> dict[str, Any]:
    current = row.state in (AdapterState.TRAINING, AdapterState.CANDIDATE, AdapterState.ACTIVE)
    plain = ("name", "options", "base_model", "base_sha256", "files", "metrics", "refusals", "served_by", "actor")
    moments = ("created_at", "trained_at", "activated_at", "ended_at")
    return {
        "id": str(row.id),
        "namespace": namespace,
        "state": AdapterState.STALE.value if current and stale else str(row.state),
        "model": row.served_name,
        "dataset_id": str(row.dataset_id),
        "problem": row.problem or None,
        "stale": stale,
        "rebuild": row.rebuild,
        "erasures": [str(one) for one in row.erasures],
        **{name: getattr(row, name) for name in plain},
        **{name: moment.isoformat() if (moment := getattr(row, name)) else None for name in moments},
    }
