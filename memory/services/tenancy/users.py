"""Creates, finds, lists and changes users, who are visible only to callers who reach their namespace."""

from __future__ import annotations

import re
import uuid
from collections.abc import Collection, Mapping
from datetime import datetime
from functools import partial
from typing import Any

from django.db import IntegrityError, transaction
from psycopg.errors import UniqueViolation

from memory import audit
from memory.enums import AuditEvent
from memory.errors import Conflict, InvalidInput, NotFound, PreconditionFailed
from memory.gate.fields import judge_fields
from memory.models import User, UserNamespace
from memory.models.paging import narrow, page_of
from memory.models.scoped import ScopedQuerySet
from memory.services.tenancy.idempotency import make_once
from memory.services.tenancy.namespaces import keep_namespaces, lock_namespace, scope_for
from memory.services.tenancy.notes import clean_note, refuse, refuse_ids
from memory.services.tenancy.policy import in_force
from memory.services.tenancy.zones import PREFERENCE
from memory.text.zones import problem_of_zone
from memory.types import Access, ChangeTerms, Idempotency, ListFilter, Scope

MAX_NAME_CHARS = 128
MOST_NAMESPACES = 100
# The table of users, or a shard of it.
_TABLE = re.compile(r"memory_user(?:_\d+)?")
# A shard's constraint. Citus passes on only the message of a node's error, without its fields.
_NAME_ONCE = re.compile(r"\buser_name_once_\d+\b")


def create_user(
    access: Access,
    *,
    namespace: str,
    name: str,
    display_name: str = "",
    preferences: Mapping[str, Any] | None = None,
    metadata: Mapping[str, Any] | None = None,
    namespaces: Collection[str] = (),
    now: datetime,
    request_id: str = "",
    idempotency: Idempotency | None = None,
) -> User:
    """Create a user who belongs to `namespace`; `namespaces` are others that are the user's.

    Raises NotFound for a namespace that the caller does not reach, InvalidInput, NamespaceGone, IdempotencyConflict,
    and Conflict for a name that is taken.
    """
    scope = scope_for(access, name=namespace, request_id=request_id, create=False)
    others = _find_namespaces(access, namespaces, home=scope)
    user = User(
        namespace_id=scope.namespace_id,
        name=_take_name(name),
        display_name=_take_display_name(display_name),
        preferences=_clean(scope.namespace_id, preferences or {}, field="preferences"),
        metadata=_clean(scope.namespace_id, metadata or {}, field="metadata"),
        created_by=access.actor,
        created_at=now,
        updated_at=now,
    )
    return make_once(
        idempotency,
        make=partial(_store, scope, user, others, now=now),
        identify=lambda made: made.pk,
        find=lambda identity: find_user(access, user_id=identity),
        now=now,
    )


def _store(scope: Scope, user: User, others: Mapping[int, str], *, now: datetime) -> User:
    try:
        with transaction.atomic():
            lock_namespace(scope)
            user.save(force_insert=True)
            _insert_links(user, others, actor=scope.actor)
            details = {"namespaces": sorted(others.values())}
            audit.record(scope, AuditEvent.USER_CREATE, subject=str(user.pk), details=details, now=now)
    except IntegrityError as error:
        raise _refuse_name(error, user.name, scope.namespace) from error
    return user


def find_user(access: Access, *, user_id: uuid.UUID) -> User:
    """Return a user whom the caller sees. Raises NotFound, with the same words for another tenant's and for a missing
    one."""
    user = User.objects.reachable_by(access).select_related("namespace").filter(pk=user_id).first()
    if user is None:
        raise NotFound(f"There is no user {user_id} that this key reaches.", detail={"field": "user_id"})
    return user


def list_users(
    access: Access,
    *,
    namespace: str | None = None,
    name: str | None = None,
    cursor: uuid.UUID | None = None,
    limit: int,
) -> tuple[list[User], uuid.UUID | None]:
    """Return the users whom the caller sees, newest first, and the cursor of the next page. `name`: only of exactly
    that name.

    Raises NotFound for a namespace that the caller does not reach.
    """
    rows = narrow(User.objects.reachable_by(access), access, ListFilter(namespace, None, limit))
    if name is not None:
        rows = rows.filter(name=name)
    if cursor is not None:
        rows = rows.filter(pk__lte=cursor)
    page, following = page_of(rows.select_related("namespace"), limit)
    return page, following.pk if following else None


def change_user(
    access: Access,
    *,
    user_id: uuid.UUID,
    wanted: Mapping[str, Any],
    terms: ChangeTerms,
    now: datetime,
) -> User:
    """Change values of a user: `name`, `display_name`, `preferences`, `metadata`, `namespaces`; omitted ones stay.

    Only namespaces that the caller reaches are added or removed. Raises as `create_user`, and PreconditionFailed.
    """
    named = wanted.get("namespaces")
    try:
        with transaction.atomic():
            user = lock_user(access, user_id)
            check_revision(user, terms)
            scope = Scope(user.namespace_id, user.namespace.name, access.actor, terms.request_id)
            changed = _set_values(user, wanted)
            details: dict[str, Any] = {}
            if named is not None:
                others = _find_namespaces(access, named, home=scope)
                before = _link_namespaces(access, user, others)
                if before != sorted(others.values()):
                    changed.append("namespaces")
                    details = {"before": before, "after": sorted(others.values())}
            if not changed:
                return user
            user.revision += 1
            user.updated_at = now
            user.save()
            details = {"changed": changed, "revision": user.revision, **details}
            audit.record(scope, AuditEvent.USER_CHANGE, subject=str(user.pk), details=details, now=now)
    except IntegrityError as error:
        raise _refuse_name(error, str(wanted.get("name")), user.namespace.name) from error
    return user


def namespaces_of(access: Access, users: Collection[User]) -> dict[uuid.UUID, list[str]]:
    """Return the names of each user's other namespaces that the caller reaches, by user id."""
    names: dict[uuid.UUID, list[str]] = {user.pk: [] for user in users}
    rows = UserNamespace.objects.reachable_by(access).filter(user_id__in=list(names))
    for user_id, name in rows.order_by("namespace__name").values_list("user_id", "namespace__name"):
        names[user_id].append(name)
    return names


def to_dict(user: User, namespaces: Collection[str]) -> dict[str, Any]:
    """Return a user as clients see it; `namespaces` are the others that the caller reaches."""
    return {
        "id": str(user.pk),
        "namespace": user.namespace.name,
        "name": user.name,
        "display_name": user.display_name,
        "preferences": user.preferences,
        "metadata": user.metadata,
        "namespaces": [user.namespace.name, *namespaces],
        "revision": user.revision,
        "created_by": user.created_by,
        "created_at": user.created_at.isoformat(),
        "updated_at": user.updated_at.isoformat(),
    }


def lock_user(access: Access, user_id: uuid.UUID) -> User:
    """Lock the user until the caller's transaction ends, and return it. Raises NotFound."""
    rows: ScopedQuerySet[User] = User.objects.reachable_by(access)
    user = rows.select_related("namespace").select_for_update(of=("self",)).filter(pk=user_id).first()
    if user is None:
        raise NotFound(f"There is no user {user_id} that this key reaches.", detail={"field": "user_id"})
    return user


def check_revision(user: User, terms: ChangeTerms) -> None:
    """Raise PreconditionFailed when the user, locked by the caller, is at another revision than the caller read."""
    if terms.revisions is not None and user.revision not in terms.revisions:
        raise PreconditionFailed(
            f"The user is at revision {user.revision}: read it again, and send the change with the new ETag.",
            detail={"header": "If-Match", "revision": user.revision},
        )


def _set_values(user: User, wanted: Mapping[str, Any]) -> list[str]:
    """Set the wanted values; return the names of the changed ones."""
    values = {name: wanted[name] for name in ("name", "display_name", "preferences", "metadata") if name in wanted}
    if "name" in values:
        values["name"] = _take_name(values["name"])
    if "display_name" in values:
        values["display_name"] = _take_display_name(values["display_name"])
    for name in ("preferences", "metadata"):
        if name in values:
            values[name] = _clean(user.namespace_id, values[name], field=name)
    changed = [name for name, value in values.items() if getattr(user, name) != value]
    for name in changed:
        setattr(user, name, values[name])
    return changed


def _find_namespaces(access: Access, names: Collection[str], *, home: Scope) -> dict[int, str]:
    """Return the named namespaces other than the user's own, by id. Raises NotFound, InvalidInput."""
    if len(names) > MOST_NAMESPACES:
        raise InvalidInput(f"A user has up to {MOST_NAMESPACES} namespaces.", detail={"field": "namespaces"})
    scopes = [scope_for(access, name=name, create=False) for name in dict.fromkeys(names)]
    return {scope.namespace_id: scope.namespace for scope in scopes if scope.namespace_id != home.namespace_id}


def _link_namespaces(access: Access, user: User, wanted: Mapping[int, str]) -> list[str]:
    """Set the user's other namespaces within the caller's reach; return the names of the former ones."""
    rows = UserNamespace.objects.reachable_by(access).filter(user_id=user.pk)
    before = dict(rows.values_list("namespace_id", "namespace__name"))
    gone = [identity for identity in before if identity not in wanted]
    UserNamespace.objects.filter(namespace_id__in=gone, user_id=user.pk).delete()
    new = {identity: name for identity, name in wanted.items() if identity not in before}
    _insert_links(user, new, actor=access.actor)
    return sorted(before.values())


def _insert_links(user: User, names: Mapping[int, str], *, actor: str) -> None:
    """Link the user to the namespaces, given by id. Raises NamespaceGone."""
    if names:
        keep_namespaces([Scope(identity, name, actor) for identity, name in names.items()])
    UserNamespace.objects.bulk_create([UserNamespace(namespace_id=identity, user_id=user.pk) for identity in names])


def _take_name(name: str) -> str:
    name = name.strip()
    if not 1 <= len(name) <= MAX_NAME_CHARS or "\0" in name:
        raise InvalidInput(f"A user's name has 1 to {MAX_NAME_CHARS} characters.", detail={"field": "name"})
    refuse_ids({"name": name})
    return name


def _take_display_name(name: str) -> str:
    name = name.strip()
    if len(name) > MAX_NAME_CHARS or "\0" in name:
        raise InvalidInput(f"A display name has at most {MAX_NAME_CHARS} characters.", detail={"field": "display_name"})
    return clean_note(name, field="display_name") if name else ""


def _clean(namespace_id: int, values: Mapping[str, Any], *, field: str) -> dict[str, Any]:
    """Return the values as the namespace's gate lets them in. Raises InvalidInput, also for an unknown zone."""
    if field == "preferences" and PREFERENCE in values and (problem := problem_of_zone(values[PREFERENCE])):
        place = f"{field}.{PREFERENCE}"
        raise InvalidInput(f"{place}: {problem}", detail=[{"field": place, "problem": problem}])
    verdict = judge_fields({field: dict(values)}, policy=in_force(namespace_id).gate)
    refuse(verdict)
    return dict(verdict.values[field])


def _refuse_name(error: IntegrityError, name: str, namespace: str) -> Exception:
    """Return the error for a name that is taken; any other error is returned as it is."""
    if not isinstance(error.__cause__, UniqueViolation) or not _is_of_name(error.__cause__):
        return error
    return Conflict(
        f"The namespace {namespace!r} has a user {name!r}: change that one, or choose another name.",
        detail={"field": "name"},
    )


def _is_of_name(refusal: UniqueViolation) -> bool:
    said = refusal.diag
    if said.table_name is None:
        return _NAME_ONCE.search(said.message_primary or "") is not None
    # Identify it by its table, which has one constraint besides its primary key: partitions and shards rename it.
    return _TABLE.fullmatch(said.table_name) is not None and "_pkey" not in (said.constraint_name or "")
