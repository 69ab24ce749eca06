"""Stores the settings of a project for mem0's clients, which read them back. Nothing else in MemOS uses them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db import transaction

from memory import audit
from memory.enums import AuditEvent
from memory.models import Namespace
from memory.services.tenancy.namespaces import miss_namespaces
from memory.types import Scope


def read_project(scope: Scope) -> dict[str, Any]:
    """Return the stored settings. Raises NamespaceGone."""
    return _find(scope).mem0_project


def change_project(scope: Scope, *, wanted: Mapping[str, Any], now: datetime) -> None:
    """Store these settings and leave the others as they are. Raises NamespaceGone."""
    with transaction.atomic():
        namespace = _find(scope, lock=True)
        namespace.mem0_project = {**namespace.mem0_project, **wanted}
        namespace.save(update_fields=["mem0_project"])
        audit.record(scope, AuditEvent.PROJECT_CHANGE, details={"changed": sorted(wanted)}, now=now)


def _find(scope: Scope, *, lock: bool = False) -> Namespace:
    rows = Namespace.objects.select_for_update(no_key=True) if lock else Namespace.objects
    namespace = rows.filter(pk=scope.namespace_id).first()
    if namespace is None:
        raise miss_namespaces([scope])
    return namespace
