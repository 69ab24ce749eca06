"""Unloads adapters that have learnt erased memories, and deletes their files, as part of an erasure."""

from __future__ import annotations

import uuid
from datetime import datetime
from typing import Any

from django.db import transaction

from memory import audit
from memory.enums import AuditEvent
from memory.errors import AdapterServerUnavailable, Conflict
from memory.models import Adapter, TrainingDataset
from memory.models.locks import Lock, try_lock
from memory.services.training.files import has_files, remove_files
from memory.services.training.serving import hold_name, lock_row, take_out
from memory.types import Scope


def unlearn(scope: Scope, *, erasure_id: uuid.UUID, now: datetime) -> str:
    """Unload and delete all adapters that the erasure has marked; return what it waits for, or ''.

    Run again, it continues with the rest.
    """
    waits = []
    for row in _list_stale_adapters(scope, erasure_id):
        if waiting := _unlearn_one(scope, row, now=now):
            waits.append(waiting)
    return " ".join(waits)


def list_unlearned(scope: Scope, *, erasure_id: uuid.UUID) -> dict[str, Any]:
    """Return the data sets and adapters that had learnt erased memories, for the receipt."""
    datasets = TrainingDataset.objects.in_scope(scope).filter(erasures__contains=[erasure_id]).order_by("id")
    adapters = Adapter.objects.in_scope(scope).filter(erasures__contains=[erasure_id]).order_by("id")
    return {
        "datasets": [str(identity) for identity in datasets.values_list("id", flat=True)],
        "adapters": [{"id": str(row.id), "name": row.name, "model": row.served_name} for row in adapters],
    }


def _list_stale_adapters(scope: Scope, erasure_id: uuid.UUID) -> list[Adapter]:
    rows = Adapter.objects.in_scope(scope).filter(erasures__contains=[erasure_id]).order_by("id")
    # The database may not know of files if a training was killed in between.
    return [row for row in rows if row.files or row.served_by or has_files(row)]


def _unlearn_one(scope: Scope, row: Adapter, *, now: datetime) -> str:
    with hold_name(row) as mine, try_lock(Lock.ADAPTER, row.id) as untrained:
        if not mine or not untrained:
            return f"The adapter {row.name} is being trained or loaded: that is stopped."
        row = Adapter.objects.in_scope(scope).get(id=row.id)
        try:
            take_out(row)
            remove_files(row)
        except (AdapterServerUnavailable, Conflict) as away:
            return f"Adapter {row.name}: {away.message}"
        except OSError as error:
            return f"The files of the adapter {row.name} cannot be deleted ({error.strerror})."
        with transaction.atomic():
            stored = lock_row(row)
            if stored.files:
                stored.files = {}
                stored.save(update_fields=["files"])
                details = {"name": stored.name, "stale": {"erased": True}, "files_deleted": True}
                audit.record(scope, AuditEvent.ADAPTER_STALE, subject=str(stored.id), details=details, now=now)
    return ""
