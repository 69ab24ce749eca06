"""Manages API keys: issued once, never shown again, revoked for good."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Collection
from dataclasses import asdict
from datetime import datetime

from django.db import transaction

from memory import audit, ledger
from memory.enums import AccessScope, AuditEvent
from memory.errors import Conflict, InvalidInput, NotFound
from memory.governance.budget import Budget
from memory.ledger import LedgerUnavailable
from memory.models import ApiKey, Namespace, User
from memory.models.access import TOKEN_MARK
from memory.services.tenancy.namespaces import DEFAULT, ensure_namespace
from memory.services.tenancy.notes import clean_note
from memory.types import Access

log = logging.getLogger("memos.keys")

MAX_NAME_CHARS = 100


def issue_key(
    *,
    name: str,
    scopes: Collection[str],
    actor: str,
    now: datetime,
    namespaces: Collection[Namespace] = (),
    namespace_names: Collection[str] = (),
    all_namespaces: bool = False,
    default_namespace: str = "",
    expires_at: datetime | None = None,
    requests_per_minute: int | None = None,
    budget: Budget | None = None,
    owner: User | None = None,
) -> tuple[ApiKey, str]:
    """Create a key; return it with its token, which is not stored. Raises InvalidInput.

    It reaches `namespaces` and those named in `namespace_names`, which are created if they are new. Requests that name
    no namespace get `default_namespace`; if omitted, that is the only one that the key reaches, DEFAULT for a key that
    reaches all, and none for a key that reaches several. `owner`: the user whose key it is; it also reaches the cubes
    shared with them.
    """
    name = name.strip()
    if not name or len(name) > MAX_NAME_CHARS or "\0" in name:
        raise InvalidInput(f"A key's name has 1 to {MAX_NAME_CHARS} characters.", detail={"field": "name"})
    name = clean_note(name, field="name")
    granted = check_scopes(scopes)
    if all_namespaces and (namespaces or namespace_names):
        raise InvalidInput("Grant either all namespaces or the named ones, not both.", detail={"field": "namespaces"})
    if not all_namespaces and not namespaces and not namespace_names:
        raise InvalidInput(
            "A key without a namespace reaches nothing: name one, or grant all namespaces.",
            detail={"field": "namespaces"},
        )
    named = list(dict.fromkeys([*(one.name for one in namespaces), *namespace_names]))
    if not default_namespace and (all_namespaces or len(named) == 1):
        default_namespace = DEFAULT if all_namespaces else named[0]
    if default_namespace and not all_namespaces and default_namespace not in named:
        raise InvalidInput(
            f"The default namespace {default_namespace!r} is none of those that the key reaches.",
            detail={"field": "default_namespace"},
        )
    if expires_at is not None and expires_at <= now:
        raise InvalidInput("The expiry lies in the past.", detail={"field": "expires_at"})
    if requests_per_minute is not None and not 0 <= requests_per_minute < 2**31:
        raise InvalidInput("Requests a minute are 0 (no limit) or more.", detail={"field": "requests_per_minute"})
    budget = budget or Budget()
    check_budget(budget)
    key = ApiKey(
        name=name,
        scopes=granted,
        all_namespaces=all_namespaces,
        default_namespace=default_namespace,
        expires_at=expires_at,
        requests_per_minute=requests_per_minute,
        created_at=now,
        owner_id=owner.pk if owner else None,
        **{f"budget_{name}": value for name, value in asdict(budget).items()},
    )
    token = key.set_new_secret()
    with transaction.atomic():
        reached = [*namespaces, *(ensure_namespace(named) for named in dict.fromkeys(namespace_names))]
        key.save(force_insert=True)
        key.namespaces.set(reached)
        audit.record_system(
            actor,
            AuditEvent.KEY_ISSUE,
            subject=str(key),
            details={
                "key_id": key.pk,
                "name": name,
                "prefix": key.prefix,
                "scopes": granted,
                "all_namespaces": all_namespaces,
                "namespaces": sorted(namespace.name for namespace in reached),
                "default_namespace": default_namespace,
                "expires_at": expires_at.isoformat() if expires_at else None,
                "requests_per_minute": requests_per_minute,
                **({"owner_id": str(owner.pk)} if owner else {}),
                **({"budget": {name: str(value) for name, value in asdict(budget).items()}} if budget else {}),
            },
            now=now,
        )
    return key, token


def find_key(access: Access, *, prefix: str) -> ApiKey:
    """Return the key with this prefix, with or without its mark, if it reaches nothing beyond the caller's reach.

    Raises NotFound.
    """
    bare = prefix.strip().removeprefix(f"{TOKEN_MARK}_").partition("_")[0]
    key = ApiKey.objects.filter(prefix=bare).defer("digest").first()
    if key is not None and not access.all_namespaces:
        beyond = set(key.namespaces.values_list("pk", flat=True)) - access.namespace_ids
        if key.all_namespaces or beyond:
            key = None
    if key is None:
        raise NotFound(f"There is no key {bare!r} within reach.", detail={"field": "key"})
    return key


def list_keys_of(access: Access, *, user_id: uuid.UUID) -> list[ApiKey]:
    """Return the user's keys that reach nothing beyond the caller's reach, newest first."""
    keys = ApiKey.objects.filter(owner_id=user_id).defer("digest").prefetch_related("namespaces")
    reached = (
        key
        for key in keys.order_by("-created_at")
        if access.all_namespaces
        or not (key.all_namespaces or {one.pk for one in key.namespaces.all()} - access.namespace_ids)
    )
    return list(reached)


def set_owner(*, key_id: int, owner: User | None, actor: str, now: datetime) -> bool:
    """Set the owner of a key, which then also reaches the cubes shared with them; return False if that is the owner
    already.

    Raises NotFound, and Conflict for a revoked key.
    """
    with transaction.atomic():
        key = ApiKey.objects.select_for_update().filter(pk=key_id).first()
        if key is None:
            raise NotFound("There is no such API key.", detail={"field": "key_id"})
        if key.revoked_at is not None:
            raise Conflict("The key is revoked: issue another for the user.", detail={"field": "key_id"})
        before, after = key.owner_id, owner.pk if owner else None
        if before == after:
            return False
        key.owner_id = after
        key.save(update_fields=["owner_id"])
        audit.record_system(
            actor,
            AuditEvent.KEY_OWNER,
            subject=str(key),
            details={
                "key_id": key.pk,
                "before": str(before) if before else None,
                "after": str(after) if after else None,
            },
            now=now,
        )
    return True


def revoke_key(*, key_id: int, actor: str, now: datetime) -> bool:
    """Revoke a key for good; return False if it was revoked already. Raises NotFound."""
    with transaction.atomic():
        key = ApiKey.objects.select_for_update().filter(pk=key_id).first()
        if key is None:
            raise NotFound("There is no such API key.", detail={"field": "key_id"})
        if key.revoked_at is not None:
            return False
        key.revoked_at = now
        key.save(update_fields=["revoked_at"])
        audit.record_system(
            actor,
            AuditEvent.KEY_REVOKE,
            subject=str(key),
            details={"key_id": key.pk, "name": key.name, "prefix": key.prefix},
            now=now,
        )
    try:
        ledger.note_revoked(key)
    except LedgerUnavailable as away:
        # The key is revoked anyway; the next backup adds it to the ledger.
        log.warning("a revoked key is not in the erasure ledger", extra={"key": str(key), "reason": away.message})
    return True


def check_budget(budget: Budget) -> None:
    """Raise InvalidInput for a budget with a negative limit, or a soft one that never warns."""
    for limit in budget.limits():
        if not 0 < limit.most < 10**8 * (1 if limit.unit == "usd" else 10**7):
            field = f"budget_{'hard' if limit.hard else 'soft'}_{limit.unit}"
            raise InvalidInput(f"{field} is {limit.most:f}: write 0 (no limit) or more.", detail={"field": field})
    for name, problem in budget.problems().items():
        raise InvalidInput(f"budget_{name} {problem}", detail={"field": f"budget_{name}"})


def check_scopes(scopes: Collection[str]) -> list[str]:
    """Return the scopes in their usual order, each once. Raises InvalidInput for none or an unknown one."""
    unknown = sorted(set(scopes) - set(AccessScope.values))
    if unknown or not scopes:
        raise InvalidInput(
            f"Scopes are one or more of {', '.join(AccessScope.values)}"
            + (f"; unknown: {', '.join(unknown)}." if unknown else "."),
            detail={"field": "scopes"},
        )
    return [scope for scope in AccessScope.values if scope in scopes]
