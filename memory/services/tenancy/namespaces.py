"""Finds a caller's namespace, with the same error for a missing one and for another tenant's."""

from __future__ import annotations

from collections.abc import Collection

from memory.caches import Cache, for_seconds
from memory.enums import AccessScope
from memory.errors import InvalidInput, NamespaceGone, NotFound
from memory.models import Namespace
from memory.models.queries import tenancy as queries
from memory.types import Access, Scope

# The time for which a process uses the id that it knows for a name. Ids are never reused for another namespace.
KNOWN_SECONDS = 2.0
LISTED_NAMESPACES = 20
# The namespace for requests that name none, of the first key and of other callers that reach all.
DEFAULT = "default"
# Placeholders that programs send for a missing name: no namespace is created for them.
NO_NAMES = frozenset({"", "null", "none", "undefined"})


# Ids by name; names without a namespace are not cached.
_ids: Cache[str, int] = for_seconds(KNOWN_SECONDS)


def scope_for(access: Access, *, name: str, request_id: str = "", create: bool = True) -> Scope:
    """Return the scope of the namespace `name`.

    With `create`, a caller who may reach every namespace and may write creates a new one by naming it. Raises NotFound,
    and InvalidInput for a placeholder.
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
    """Return the scope of the namespace `name`; None if it does not exist and the caller reaches all namespaces.

    Raises NotFound for other callers, who get the same error for a missing namespace and for one out of their reach.
    """
    if access.all_namespaces and _identity(access, name) is None:
        return None
    return scope_for(access, name=name, request_id=request_id, create=False)


def lock_namespace(scope: Scope) -> None:
    """Lock the namespace against deletion until the caller's transaction ends; others can store in it. Raises
    NamespaceGone."""
    if not list(Namespace.objects.select_for_update(no_key=True).filter(pk=scope.namespace_id).values_list("pk")):
        raise miss_namespaces([scope])


def keep_namespaces(scopes: Collection[Scope]) -> None:
    """Lock namespaces against deletion until the caller's transaction ends, as a foreign key does, without delaying
    others.

    Raises NamespaceGone.
    """
    ids = {scope.namespace_id for scope in scopes}
    if queries.keep_namespaces(ids) < len(ids):
        raise miss_namespaces(scopes)


def miss_namespaces(scopes: Collection[Scope]) -> NamespaceGone:
    """Return the error for namespaces that are gone, and forget their cached ids."""
    for scope in scopes:
        _ids.forget(scope.namespace)
    return NamespaceGone()


def scope_of_existing(name: str, *, actor: str) -> Scope:
    """Return the scope of an existing namespace for reading. Raises NotFound, which lists the existing namespaces."""
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
    """Return the name of the namespace for requests that name none: the key's own default, else the only one that it
    reaches, and DEFAULT for a caller that reaches all.

    Returns None for a key that reaches several and has no default.
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
    """Return the ids of the existing namespaces among these names."""
    return frozenset(Namespace.objects.filter(name__in=names).values_list("pk", flat=True))


def ensure_namespace(name: str) -> Namespace:
    """Return the namespace `name`, which is created if it is new."""
    return Namespace.objects.get_or_create(name=name)[0]


def _identity(access: Access, name: str) -> int | None:
    """Return the id of the namespace, from the cache only if the caller reaches it.

    The database is asked for another tenant's namespace as for a missing one, so that both take the same time.
    """
    known = _ids.get(name)
    if known is not None and _reaches(access, known):
        return known
    found = queries.find_namespace_id(name)
    return None if found is None else _ids.put(name, found)


def _reaches(access: Access, identity: int) -> bool:
    return access.all_namespaces or identity in access.namespace_ids
