"""Configures cubes: their names and owners, the kinds of memory that are on, and the policy of their namespaces."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db import transaction

from memory import audit
from memory.enums import AuditEvent
from memory.errors import PreconditionFailed
from memory.models import Cube
from memory.services.cubes.create import check_kinds, take_description, take_name
from memory.services.cubes.find import lock_cube, scope_of
from memory.services.tenancy.policy import governing, put_policy
from memory.services.tenancy.users import find_user
from memory.types import Access, ChangeTerms


def change_cube(
    access: Access, *, cube_id: uuid.UUID, wanted: Mapping[str, Any], terms: ChangeTerms, now: datetime
) -> Cube:
    """Change values of a cube: `name`, `description`, `owner_id`, `kinds`, `policy`; omitted ones stay.

    `policy` is the namespace's whole policy, as `put_policy` takes it, and becomes a new version of it. Raises
    NotFound, also for an owner whom the caller does not see, InvalidInput and PreconditionFailed.
    """
    with transaction.atomic():
        cube = lock_cube(access, cube_id)
        if terms.revisions is not None and cube.revision not in terms.revisions:
            raise PreconditionFailed(
                f"The cube is at revision {cube.revision}: read it again, and send the change with the new ETag.",
                detail={"header": "If-Match", "revision": cube.revision},
            )
        scope = scope_of(access, cube, request_id=terms.request_id)
        changed = _set_values(access, cube, wanted)
        details: dict[str, Any] = {}
        if "policy" in wanted:
            before = governing(cube.namespace_id).version
            details["policy_version"] = put_policy(scope, wanted=wanted["policy"], now=now).version
            if details["policy_version"] != before:
                changed.append("policy")
        if not changed:
            return cube
        cube.revision += 1
        cube.updated_at = now
        cube.save()
        details |= {
            "changed": changed,
            "revision": cube.revision,
            "owner_id": str(cube.owner_id) if cube.owner_id else None,
            "kinds": list(cube.kinds),
        }
        audit.record(scope, AuditEvent.CUBE_CHANGE, subject=str(cube.pk), details=details, now=now)
    return cube


def _set_values(access: Access, cube: Cube, wanted: Mapping[str, Any]) -> list[str]:
    """Set the wanted values; return the names of the changed ones."""
    values: dict[str, Any] = {}
    if "name" in wanted:
        values["name"] = take_name(wanted["name"])
    if "description" in wanted:
        values["description"] = take_description(wanted["description"])
    if "kinds" in wanted:
        values["kinds"] = check_kinds(wanted["kinds"])
    if "owner_id" in wanted:
        owner_id = wanted["owner_id"]
        if owner_id is not None and owner_id != cube.owner_id:
            find_user(access, user_id=owner_id)
        values["owner_id"] = owner_id
    changed = [name for name, value in values.items() if getattr(cube, name) != value]
    for name in changed:
        setattr(cube, name, values[name])
    return changed
