"""Takes a namespace away that was made for a file (an upload, an import, a load) and that nothing came into."""

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

# Of a load's options: the name of the namespace that was made for it.
MADE = "made_namespace"
# What tells of files and requests, counters that are 0: a namespace that has nothing else is empty.
_OF_FILES = (
    AuditLog, AuditSeal, AuditWords, CubeFilePart, ImportPart, Job, NamespaceStat, RequestMinute,
)  # fmt: skip
_OPEN = Q(finished_at=None)
_REFUSED = ~Q(problem="") | Q(cancelled_at__isnull=False)


@contextmanager
def fill_namespace(access: Access, *, name: str) -> Iterator[Scope]:
    """The scope of the namespace `name`. One that is not there yet is made, and goes again at the end, whatever ends
    it, when nothing came into it; one that was there stays as it is.

    For a caller who may make namespaces, outside of a transaction. Raises NotFound for who does not reach it.
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
    """Whether the namespace was made for a file that is not over: another that is announced takes it away, too, if it
    is the last. The caller has locked the namespace.
    """
    return (
        Upload.objects.filter(namespace_id=namespace_id, made_namespace=True).exists()
        or CubeFile.objects.filter(_OPEN, namespace_id=namespace_id, options__has_key=MADE).exists()
        or MemoryImport.objects.filter(_OPEN, namespace_id=namespace_id).exclude(made_namespace="").exists()
    )


def lock_to_remove(namespace_id: int) -> bool:
    """Keeps others from storing in the namespace until the caller's transaction ends; False if it is gone.

    Whoever removes rows of uploads and then the namespace locks this first, as those do who use an upload.
    """
    return bool(Namespace.objects.select_for_update().filter(pk=namespace_id))


def remove_if_empty(namespace_id: int) -> bool:
    """Deletes the namespace unless somebody keeps or has announced something in it.

    What is told of a load or import that came to nothing, and its audit events, stay. Inside the caller's transaction;
    whoever stores the first thing in it meanwhile waits for that to end.
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
    """The tables that have a namespace's rows."""
    return [
        model
        for model in apps.get_models(include_auto_created=True)
        if model not in (*_OF_FILES, CubeFile, MemoryImport)
        and any(getattr(column, "attname", "") == "namespace_id" for column in model._meta.concrete_fields)
    ]


def _has_rows(model: type[models.Model], namespace_id: int) -> bool:
    return model._base_manager.filter(namespace_id=namespace_id).exists()
