"""Finds cubes: those of the namespaces that the caller reaches, and the ones shared with the owner of its key.

A caller's `Access` reaches shares only if the view has requested it (`Access.reach_shares`), so a cube that is found
here is one that the caller may read, write to, or manage.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Mapping
from typing import Any

from memory.enums import CubeKind
from memory.errors import Conflict, NotFound
from memory.models import Cube, User
from memory.models.paging import narrow, page_of
from memory.models.scoped import ScopedQuerySet
from memory.types import Access, ListFilter, Scope

# The level of a caller whose key itself reaches the cube's namespace.
OWN = "own"


def find_cube(access: Access, cube_id: uuid.UUID) -> Cube:
    """Return a cube that the caller reaches. Raises NotFound, with the same words for another tenant's and for a
    missing one."""
    cube = Cube.objects.reachable_by(access).select_related("namespace").filter(pk=cube_id).first()
    if cube is None:
        raise _refuse(cube_id)
    return cube


def find_cubes(access: Access, cube_ids: Collection[uuid.UUID]) -> list[Cube]:
    """Return the cubes, in the order of the ids, each once. Raises NotFound for the first one that the caller does not
    reach."""
    wanted = list(dict.fromkeys(cube_ids))
    rows = Cube.objects.reachable_by(access).select_related("namespace").filter(pk__in=wanted)
    found = {cube.pk: cube for cube in rows}
    for cube_id in wanted:
        if cube_id not in found:
            raise _refuse(cube_id)
    return [found[cube_id] for cube_id in wanted]


def find_cube_of(access: Access, *, namespace: str) -> Cube:
    """Return the cube of a namespace. Raises NotFound if there is none, or the caller does not reach it."""
    cube = Cube.objects.reachable_by(access).select_related("namespace").filter(namespace__name=namespace).first()
    if cube is None:
        raise NotFound(
            f"There is no cube of a namespace {namespace!r} that this key reaches.", detail={"field": "namespace"}
        )
    return cube


def cubes_of(scopes: Collection[Scope]) -> dict[int, Cube]:
    """Return the cubes of these namespaces, by the namespace's id; namespaces that are not cubes are left out."""
    rows = Cube.objects.filter(namespace_id__in=[scope.namespace_id for scope in scopes])
    return {cube.namespace_id: cube for cube in rows}


def lock_cube(access: Access, cube_id: uuid.UUID) -> Cube:
    """Lock the cube until the caller's transaction ends, and return it. Raises NotFound."""
    rows: ScopedQuerySet[Cube] = Cube.objects.reachable_by(access)
    cube = rows.select_related("namespace").select_for_update(of=("self",)).filter(pk=cube_id).first()
    if cube is None:
        raise _refuse(cube_id)
    return cube


def list_cubes(
    access: Access,
    *,
    namespace: str | None = None,
    owner_id: uuid.UUID | None = None,
    cursor: uuid.UUID | None = None,
    limit: int,
) -> tuple[list[Cube], uuid.UUID | None]:
    """Return the cubes that the caller reaches, newest first, and the cursor of the next page.

    Raises NotFound for a namespace that it does not reach.
    """
    rows = narrow(Cube.objects.reachable_by(access), access, ListFilter(namespace, None, limit))
    if owner_id is not None:
        rows = rows.filter(owner_id=owner_id)
    if cursor is not None:
        rows = rows.filter(pk__lte=cursor)
    page, following = page_of(rows.select_related("namespace"), limit)
    return page, following.pk if following else None


def scope_of(access: Access, cube: Cube, *, request_id: str = "") -> Scope:
    """Return the caller's scope in the cube's namespace."""
    return Scope(cube.namespace_id, cube.namespace.name, access.actor, request_id)


def level_of(access: Access, cube: Cube) -> str:
    """Return what the caller may do with a cube that it reaches: OWN, or a ShareLevel."""
    return access.share_of(cube.namespace_id) or OWN


def require_kind(cube: Cube, kind: CubeKind) -> None:
    """Raise Conflict unless the kind of memory is on in the cube."""
    if kind not in cube.kinds:
        raise Conflict(
            f"The cube {cube.pk} has no {kind.value} memory: turn it on with PATCH /v1/cubes/{cube.pk} "
            f'{{"kinds": {_as_json([*cube.kinds, kind.value])}}}.',
            detail={"field": "kinds", "kind": kind.value},
        )


def owners_of(access: Access, cubes: Collection[Cube]) -> dict[uuid.UUID, User]:
    """Return the owners of the cubes, by their ids, as far as the caller sees them: users are not shared with a
    cube."""
    ids = {cube.owner_id for cube in cubes if cube.owner_id is not None}
    rows = User.objects.reachable_by(access.leave_shares()).filter(pk__in=ids)
    return {user.pk: user for user in rows} if ids else {}


def describe_whose(cube: Cube) -> dict[str, Any]:
    """Describe the cube that a hit comes from."""
    return {"id": str(cube.pk), "name": cube.name, "owner_id": str(cube.owner_id) if cube.owner_id else None}


def to_dict(access: Access, cube: Cube, owners: Mapping[uuid.UUID, User]) -> dict[str, Any]:
    """Return a cube as clients see it. An owner who is not in `owners`, because the caller does not see them, has no
    name; the creator is shown only to callers at the level OWN."""
    owner = owners.get(cube.owner_id) if cube.owner_id else None
    return {
        "id": str(cube.pk),
        "name": cube.name,
        "description": cube.description,
        "namespace": cube.namespace.name,
        "owner": {"id": str(cube.owner_id), "name": owner.name if owner else None} if cube.owner_id else None,
        "kinds": list(cube.kinds),
        "level": level_of(access, cube),
        "revision": cube.revision,
        "created_by": cube.created_by if level_of(access, cube) == OWN else "",
        "created_at": cube.created_at.isoformat(),
        "updated_at": cube.updated_at.isoformat(),
    }


def _refuse(cube_id: uuid.UUID) -> NotFound:
    return NotFound(f"There is no cube {cube_id} that this key reaches.", detail={"field": "cube_id"})


def _as_json(kinds: Collection[str]) -> str:
    return "[" + ", ".join(f'"{kind}"' for kind in kinds) + "]"
