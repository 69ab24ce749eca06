"""Finds a caller's namespace, or says that there is none: the same words for an absent one and another tenant's."""

from __future__ import annotations

from collections.abc import Collection

from memory.caches import Cache, for_seconds
from memory.enums import AccessScope
from memory.errors import InvalidInput, NamespaceGone, NotFound
from memory.models import Namespace
from memory.models.queries import tenancy as queries
from memory.types import Access, Scope

# How long a process goes on with the id that it knows of a name. Ids are never given to another namespace.
KNOWN_SECONDS = 2.0
LISTED_NAMESPACES = 20
# The namespace of the first key, and of other callers that reach all, where a request names none.
DEFAULT = "default"
# What programs write for a name that they do not have: no namespace is made of it.
NO_NAMES = frozenset({"", "null", "none", "undefined"})


# By name; a name that no namespace has is not known.
_ids: Cache[str, int] = for_seconds(KNOWN_SECONDS)


def scope_for(access: Access, *, name: str, request_id: str = "", create: bool = True) -> Scope:
    """The scope of the namespace `name`.

    With `create`, a caller who may reach every namespace and may write makes a new one by naming it. Raises NotFound,
    and InvalidInput for a name that stands for none.
    """
    identity = _identity(access, name)
    if identity is None and create and access.all_namespaces and access.may(AccessScope.WRITE):
        if name.strip().lower() in NO_NAMES:
            problem = f"must name a namespace: none is made that is called {name!r}."
            raise InvalidInput(f"namespace: {problem}", detail=[{"field": "namespace", "problem": problem}])
        identity = Namespace.objects.get_or_create(name=name)[0].pk
    if identity is None or not _reaches(access, identity):
        raise NotFound(f"There is no namespace {name!r} that this key reaches.", detail={"field": "namespace"})
    return Scope(identity, name, access.actor, request_id)


def existing_scope(access: Access, *, name: str, request_id: str = "") -> Scope | None:
    """The scope of the namespace `name`; None when there is none and the caller may know it, for it reaches all.

    Raises NotFound for others: they are told the same of a namespace that is not there and of one out of their reach.
    """
    if access.all_namespaces and _identity(access, name) is None:
        return None
    return scope_for(access, name=name, request_id=request_id, create=False)


def lock_namespace(scope: Scope) -> None:
    """Keeps the namespace until the caller's transaction ends; others go on storing in it. Raises NamespaceGone."""
    if not list(Namespace.objects.select_for_update(no_key=True).filter(pk=scope.namespace_id).values_list("pk")):
        raise miss_namespaces([scope])


def keep_namespaces(scopes: Collection[Scope]) -> None:
    """Keeps namespaces from going until the caller's transaction ends, as a foreign key does; nobody else waits for it.

    Raises NamespaceGone.
    """
    ids = {scope.namespace_id for scope in scopes}
    if queries.keep_namespaces(ids) < len(ids):
        raise miss_namespaces(scopes)


def miss_namespaces(scopes: Collection[Scope]) -> NamespaceGone:
    """The refusal of what came too late; the ids of the names are asked for anew."""
    for scope in scopes:
        _ids.forget(scope.namespace)
    return NamespaceGone()


def scope_of_existing(name: str, *, actor: str) -> Scope:
    """The scope of a namespace that is there, for reading. Raises NotFound, which lists the namespaces there are."""
    reader = Access(actor=actor, scopes=frozenset({AccessScope.READ.value}), all_namespaces=True)
    try:
        return scope_for(reader, name=name)
    except NotFound:
        known = list(Namespace.objects.order_by("name").values_list("name", flat=True)[: LISTED_NAMESPACES + 1])
        listed = ", ".join(known[:LISTED_NAMESPACES]) + (", …" if len(known) > LISTED_NAMESPACES else "")
        raise NotFound(
            f"There is no namespace {name!r}. "
            + (f"There are: {listed}." if known else "There is none yet: `manage.py seed_demo` makes one.")
        ) from None


def default_namespace(access: Access) -> str | None:
    """The name of the namespace of a request that names none: the key's own, else the only one that it reaches, and
    DEFAULT for a caller that reaches all.

    None for a key that reaches several and has no default.
    """
    if access.default_namespace:
        return access.default_namespace
    if access.all_namespaces:
        return DEFAULT
    if len(access.namespace_ids) != 1:
        return None
    (identity,) = access.namespace_ids
    return queries.find_namespace_name(identity)


def list_ids(names: Collection[str]) -> frozenset[int]:
    """The ids of those of the namespaces that are there."""
    return frozenset(Namespace.objects.filter(name__in=names).values_list("pk", flat=True))


def ensure_namespace(name: str) -> Namespace:
    """The namespace `name`, made when it is new."""
    return Namespace.objects.get_or_create(name=name)[0]


def _identity(access: Access, name: str) -> int | None:
    """The id of the namespace; what is known of one that the caller does not reach is not used.

    The database is asked for another tenant's as for one that is not there, so that both take as long.
    """
    known = _ids.get(name)
    if known is not None and _reaches(access, known):
        return known
    found = queries.find_namespace_id(name)
    return None if found is None else _ids.put(name, found)


def _reaches(access: Access, identity: int) -> bool:
    return access.all_namespaces or identity in access.namespace_ids
