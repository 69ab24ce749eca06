"""Removes a namespace that was created for a file (an upload, an import, a load) if nothing was stored in it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.apps import apps
from django.db import models, transaction
from django.db.models import Q

from memory.models import (
    AuditLog,
    AuditSeal,
    AuditWords,
    CubeFile,
    CubeFilePart,
    ImportPart,
    Job,
    MemoryImport,
    Namespace,
    NamespaceStat,
    RequestMinute,
    Upload,
)
from memory.services.tenancy.namespaces import existing_scope
from memory.types import Access, Scope

# The option of a load with the name of the namespace that was created for it.
MADE = "made_namespace"
# Records of files and requests, and zero counters: a namespace with nothing else is empty.
_OF_FILES = (
    AuditLog, AuditSeal, AuditWords, CubeFilePart, ImportPart, Job, NamespaceStat, RequestMinute,
)  # fmt: skip
_OPEN = Q(finished_at=None)
_REFUSED = ~Q(problem="") | Q(cancelled_at__isnull=False)


@contextmanager
def fill_namespace(access: Access, *, name: str) -> Iterator[Scope]:
    """Yield the scope of the namespace `name`, which is created if it does not exist.

    A created namespace that is still empty at the end is removed again, even after an error. For a caller who may
    create namespaces, outside of a transaction. Raises NotFound for a caller who does not reach it.
    """
    scope, is_new = existing_scope(access, name=name), False
    if scope is None:
        row, is_new = Namespace.objects.get_or_create(name=name)
        scope = Scope(row.pk, name, access.actor)
    try:
        yield scope
    finally:
        if is_new:
            with transaction.atomic():
                remove_if_empty(scope.namespace_id)


def was_made_for_file(namespace_id: int) -> bool:
    """Return whether the namespace was created for an unfinished file, the last of which removes it. The caller has
    locked the namespace."""
    return (
        Upload.objects.filter(namespace_id=namespace_id, made_namespace=True).exists()
        or CubeFile.objects.filter(_OPEN, namespace_id=namespace_id, options__has_key=MADE).exists()
        or MemoryImport.objects.filter(_OPEN, namespace_id=namespace_id).exclude(made_namespace="").exists()
    )


def lock_to_remove(namespace_id: int) -> bool:
    """Prevent others from storing in the namespace until the caller's transaction ends; return False if it is gone.

    Code that removes rows of uploads and then the namespace locks this first, as code that uses an upload does.
    """
    return bool(Namespace.objects.select_for_update().filter(pk=namespace_id))


def remove_if_empty(namespace_id: int) -> bool:
    """Delete the namespace unless something is stored or announced in it; return whether it was deleted.

    Records of a failed load or import, and audit events, stay. Inside the caller's transaction; writers that store the
    first row in it meanwhile wait for that to end.
    """
    if not lock_to_remove(namespace_id) or Namespace.objects.filter(pk=namespace_id).exclude(description="").exists():
        return False
    loads = CubeFile.objects.filter(namespace_id=namespace_id)
    imports = MemoryImport.objects.filter(namespace_id=namespace_id)
    if loads.filter(_OPEN | ~(_REFUSED | Q(dry_run=True))).exists() or imports.filter(_OPEN | ~_REFUSED).exists():
        return False
    if any(_has_rows(model, namespace_id) for model in _list_tables()):
        return False
    Namespace.objects.filter(pk=namespace_id).delete()
    return True


def _list_tables() -> list[type[models.Model]]:
    """Return the models whose rows belong to a namespace."""
    return [
        model
        for model in apps.get_models(include_auto_created=True)
        if model not in (*_OF_FILES, CubeFile, MemoryImport)
        and any(getattr(column, "attname", "") == "namespace_id" for column in model._meta.concrete_fields)
    ]


def _has_rows(model: type[models.Model], namespace_id: int) -> bool:
    return model._base_manager.filter(namespace_id=namespace_id).exists()
