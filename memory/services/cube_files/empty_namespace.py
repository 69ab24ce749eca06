"""Takes a namespace away that a load has made and that nothing came into."""

from __future__ import annotations

from django.apps import apps
from django.db import models

from memory.models import (
    AuditLog,
    AuditSeal,
    AuditWords,
    CubeFile,
    CubeFilePart,
    IVFIndex,
    IVFList,
    Job,
    Namespace,
    NamespaceStat,
)

# What tells of a load itself, counters that are 0, lists that no vector came into: a namespace that has nothing else is
# empty.
_OF_LOADS = (AuditLog, AuditSeal, AuditWords, CubeFilePart, IVFIndex, IVFList, Job, NamespaceStat)


def remove_if_empty(namespace_id: int) -> bool:
    """Deletes the namespace unless somebody keeps something in it, or another load or dump is not over.

    What is told of it (the load, its audit events) stays. Inside the caller's transaction; whoever stores the first
    thing in it meanwhile waits for that to end.
    """
    found = Namespace.objects.select_for_update().filter(pk=namespace_id)
    if not found or CubeFile.objects.filter(namespace_id=namespace_id, finished_at=None).exists():
        return False
    if any(_has_rows(model, namespace_id) for model in _list_tables()):
        return False
    Namespace.objects.filter(pk=namespace_id).delete()
    return True


def _list_tables() -> list[type[models.Model]]:
    """The tables that have a namespace's rows."""
    return [
        model
        for model in apps.get_models(include_auto_created=True)
        if model not in (*_OF_LOADS, CubeFile)
        and any(getattr(column, "attname", "") == "namespace_id" for column in model._meta.concrete_fields)
    ]


def _has_rows(model: type[models.Model], namespace_id: int) -> bool:
    return model._base_manager.filter(namespace_id=namespace_id).exists()
