"""Finds a caller's namespace, or says that there is none: the same words for an absent one and another tenant's."""

from __future__ import annotations

from memory.enums import AccessScope
from memory.errors import NotFound
from memory.models import Namespace
from memory.models.sql import fetch
from memory.types import Access, Scope


def scope_for(access: Access, *, name: str, request_id: str = "") -> Scope:
    """The scope of the namespace `name`.

    A caller who may reach every namespace and may write makes a new one by naming it. Raises NotFound.
    """
    known = fetch("SELECT id FROM memory_namespace WHERE name = %(name)s", {"name": name}, prepared=True)
    identity = known[0][0] if known else None
    if identity is None and access.all_namespaces and access.may(AccessScope.WRITE):
        identity = Namespace.objects.get_or_create(name=name)[0].pk
    if identity is None or not (access.all_namespaces or identity in access.namespace_ids):
        raise NotFound(f"There is no namespace {name!r} that this key reaches.", detail={"field": "namespace"})
    return Scope(identity, name, access.actor, request_id)


def ensure_namespace(name: str) -> Namespace:
    """The namespace `name`, made when it is new."""
    return Namespace.objects.get_or_create(name=name)[0]
