"""Creates cubes, from a new namespace or an existing one, and turns a cube into a plain namespace again."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection
from datetime import datetime

from django.db import IntegrityError, transaction

from memory import audit
from memory.enums import AuditEvent, CubeKind
from memory.errors import Conflict, InvalidInput
from memory.models import Cube, CubeShare
from memory.services.cubes.find import find_cube, lock_cube, scope_of
from memory.services.cubes.share import note_revoked
from memory.services.tenancy.idempotency import make_once
from memory.services.tenancy.namespaces import existing_scope, keep_namespaces, scope_for
from memory.services.tenancy.notes import clean_note, refuse_ids
from memory.services.tenancy.users import find_user
from memory.types import Access, Idempotency, Scope

MAX_NAME_CHARS = 128
MAX_DESCRIPTION_CHARS = 1000


def create_cube(
    access: Access,
    *,
    namespace: str,
    name: str,
    description: str = "",
    owner_id: uuid.UUID | None = None,
    kinds: Collection[str] = (CubeKind.TEXTUAL,),
    now: datetime,
    request_id: str = "",
    idempotency: Idempotency | None = None,
) -> Cube:
    """Create a namespace as a cube, for callers who reach all namespaces.

    Raises NotFound for other callers and for an owner whom the caller does not see, Conflict for an existing namespace,
    InvalidInput, IdempotencyConflict.
    """
    refuse_ids({"namespace": namespace})

    def make() -> Cube:
        if existing_scope(access, name=namespace) is not None:
            raise Conflict(
                f"There is a namespace {namespace!r}: POST /v1/cubes/register makes a cube of it.",
                detail={"field": "namespace"},
            )
        with transaction.atomic():
            scope = scope_for(access, name=namespace, request_id=request_id)
            return _store(
                access, scope, name=name, description=description, owner_id=owner_id, kinds=kinds, is_new=True, now=now
            )

    return _make_once(access, make, idempotency, now=now)


def register_cube(
    access: Access,
    *,
    namespace: str,
    name: str,
    description: str = "",
    owner_id: uuid.UUID | None = None,
    kinds: Collection[str] = (CubeKind.TEXTUAL,),
    now: datetime,
    request_id: str = "",
    idempotency: Idempotency | None = None,
) -> Cube:
    """Make an existing namespace, with all its memories, a cube.

    Raises NotFound, also for an owner whom the caller does not see, Conflict for an existing cube, InvalidInput,
    IdempotencyConflict.
    """
    scope = scope_for(access, name=namespace, request_id=request_id, create=False)

    def make() -> Cube:
        with transaction.atomic():
            return _store(
                access, scope, name=name, description=description, owner_id=owner_id, kinds=kinds, is_new=False, now=now
            )

    return _make_once(access, make, idempotency, now=now)


def unregister_cube(access: Access, *, cube_id: uuid.UUID, now: datetime, request_id: str = "") -> None:
    """Remove a cube and its shares. The namespace and its memories stay as they are. Raises NotFound."""
    with transaction.atomic():
        cube = lock_cube(access, cube_id)
        scope = scope_of(access, cube, request_id=request_id)
        shares = list(CubeShare.objects.in_scope(scope))
        CubeShare.objects.in_scope(scope).delete()
        details = {"shares": len(shares)}
        audit.record(scope, AuditEvent.CUBE_UNREGISTER, subject=str(cube.pk), details=details, now=now)
        Cube.objects.in_scope(scope).filter(pk=cube.pk).delete()
    note_revoked(shares, now=now)


def take_name(name: str) -> str:
    """Return a cube's name as it may be stored. Raises InvalidInput."""
    name = name.strip()
    if not 1 <= len(name) <= MAX_NAME_CHARS or "\0" in name:
        raise InvalidInput(f"A cube's name has 1 to {MAX_NAME_CHARS} characters.", detail={"field": "name"})
    return clean_note(name, field="name")


def take_description(description: str) -> str:
    """Return a cube's description as it may be stored. Raises InvalidInput."""
    description = description.strip()
    if len(description) > MAX_DESCRIPTION_CHARS or "\0" in description:
        raise InvalidInput(
            f"A description has at most {MAX_DESCRIPTION_CHARS} characters.", detail={"field": "description"}
        )
    return clean_note(description, field="description") if description else ""


def check_kinds(kinds: Collection[str]) -> list[str]:
    """Return the kinds in their usual order, each once. Raises InvalidInput for an unknown one, or without texts."""
    unknown = sorted(set(kinds) - set(CubeKind.values))
    if unknown:
        raise InvalidInput(
            f"There is no kind of memory {', '.join(map(repr, unknown[:5]))}. There are: {', '.join(CubeKind.values)}.",
            detail={"field": "kinds"},
        )
    if CubeKind.TEXTUAL not in kinds:
        raise InvalidInput(
            "A cube always has textual memory, from which the other kinds are made: name it as well.",
            detail={"field": "kinds"},
        )
    return [kind for kind in CubeKind.values if kind in kinds]


def _make_once(access: Access, make: Callable[[], Cube], idempotency: Idempotency | None, *, now: datetime) -> Cube:
    return make_once(
        idempotency,
        make=make,
        identify=lambda cube: cube.pk,
        find=lambda identity: find_cube(access, identity),
        now=now,
    )


def _store(
    access: Access,
    scope: Scope,
    *,
    name: str,
    description: str,
    owner_id: uuid.UUID | None,
    kinds: Collection[str],
    is_new: bool,
    now: datetime,
) -> Cube:
    keep_namespaces([scope])
    if owner_id is not None:
        find_user(access, user_id=owner_id)
    cube = Cube(
        namespace_id=scope.namespace_id,
        name=take_name(name),
        description=take_description(description),
        owner_id=owner_id,
        kinds=check_kinds(kinds),
        created_by=access.actor,
        created_at=now,
        updated_at=now,
    )
    try:
        with transaction.atomic():
            cube.save(force_insert=True)
    except IntegrityError as error:
        raise Conflict(
            f"The namespace {scope.namespace!r} is a cube: GET /v1/cubes?namespace=… shows it, PATCH changes it.",
            detail={"field": "namespace"},
        ) from error
    details = {"new_namespace": is_new, "owner_id": str(owner_id) if owner_id else None, "kinds": cube.kinds}
    audit.record(scope, AuditEvent.CUBE_CREATE, subject=str(cube.pk), details=details, now=now)
    return cube
