"""Erases users: their row and all references to it at once, and their memories by separate erasures."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import F

from memory import audit, ledger
from memory.enums import AuditEvent, ErasureStatus
from memory.errors import Conflict, InvalidInput, NotFound
from memory.models import ApiKey, Cube, CubeShare, Erasure, Namespace, User, UserErasure, UserNamespace
from memory.postgresql import reach
from memory.services.erasure import requests
from memory.services.erasure.requests import Target
from memory.services.memories.change import check_reason
from memory.services.tenancy.keys import revoke_key
from memory.services.tenancy.users import check_revision, lock_user
from memory.types import Access, ChangeTerms, Scope

# The statuses of the parts, worst first: the worst one is the status of the whole.
_WORST = (
    ErasureStatus.FAILED,
    ErasureStatus.WAITING,
    ErasureStatus.RUNNING,
    ErasureStatus.QUEUED,
)
DRY_RUN = "dry_run"


@dataclass(frozen=True, slots=True)
class _Part:
    """The part of an erasure in one namespace."""

    scope: Scope
    target: Target


def erase_user(
    access: Access,
    *,
    user_id: uuid.UUID,
    reason: str,
    confirm: str,
    terms: ChangeTerms,
    now: datetime,
) -> UserErasure:
    """Erase a user: at once the row, the shares and the ownership of cubes and keys; the memories by jobs.

    A cube of the user whose namespace has no other user is emptied; in the user's other namespaces, memories under the
    user's names are erased. Keys of the user are revoked if the caller reaches all that they reach. `confirm` is the
    user's name. All or nothing: raises NotFound, InvalidInput, PreconditionFailed, LedgerUnavailable, and Conflict for
    namespaces that the caller does not reach, or a legal hold.
    """
    with transaction.atomic():
        user = lock_user(access, user_id)
        check_revision(user, terms)
        if confirm != user.name:
            raise InvalidInput(
                "confirm: must be the user's name: this erases the user and its memories (with dry_run it says what).",
                detail={"field": "confirm"},
            )
        reason = check_reason(reason)
        scope = Scope(user.namespace_id, user.namespace.name, access.actor, terms.request_id)
        parts = _list_parts(access, user, request_id=terms.request_id)
        erasures = [requests.request(part.scope, target=part.target, reason=reason, now=now) for part in parts]
        receipt = UserErasure(
            namespace_id=user.namespace_id,
            user_id=user.pk,
            reason=reason,
            erasures=[{"namespace_id": one.namespace_id, "id": str(one.id)} for one in erasures],
            actor=access.actor,
            created_at=now,
        )
        receipt.keys_revoked = _end_keys(access, user, now=now)
        receipt.shares_ended, receipt.cubes_disowned = forget_user(user.namespace_id, user.pk)
        receipt.save(force_insert=True)
        audit.record(
            scope,
            AuditEvent.USER_ERASE,
            subject=str(user_id),
            details={
                "reason": reason,
                "erasures": [str(one.id) for one in erasures],
                "keys_revoked": receipt.keys_revoked,
                "shares_ended": receipt.shares_ended,
                "cubes_disowned": receipt.cubes_disowned,
            },
            now=now,
        )
        ledger.note_user(user.namespace_id, user.pk)
    return receipt


def preview(access: Access, *, user_id: uuid.UUID, reason: str, now: datetime) -> dict[str, Any]:
    """Return the receipt that `erase_user` would make, without ids. Stores nothing. Raises as it does."""
    with transaction.atomic():
        user = lock_user(access, user_id)
        found = [
            requests.preview(part.scope, target=part.target, reason=reason, now=now)
            for part in _list_parts(access, user, request_id="")
        ]
        with reach.across_namespaces():
            shares = CubeShare.objects.across_namespaces().filter(user_id=user_id).count()
            cubes = Cube.objects.across_namespaces().filter(owner_id=user_id).count()
        return {
            "user_id": str(user_id),
            "namespace": user.namespace.name,
            "status": DRY_RUN,
            "reason": reason,
            "erasures": [
                {name: one[name] for name in ("id", "namespace", "target", "found", "status")} for one in found
            ],
            "keys_revoked": len(_list_keys(access, user)),
            "shares_ended": shares,
            "cubes_disowned": cubes,
            "actor": access.actor,
            "created_at": now.isoformat(),
        }


def find_receipt(access: Access, *, user_id: uuid.UUID) -> UserErasure:
    """Return the receipt of a user who belonged to a namespace that the caller reaches. Raises NotFound."""
    receipt = UserErasure.objects.reachable_by(access).select_related("namespace").filter(user_id=user_id).first()
    if receipt is None:
        raise NotFound(f"No user {user_id} that this key reached was erased.", detail={"field": "user_id"})
    return receipt


def to_dict(access: Access, receipt: UserErasure) -> dict[str, Any]:
    """Return the receipt as clients see it; `erasures` are those in namespaces that the caller reaches."""
    ids = [uuid.UUID(one["id"]) for one in receipt.erasures]
    rows = list(Erasure.objects.reachable_by(access).filter(id__in=ids).order_by("id"))
    statuses = {row.status for row in rows}
    return {
        "user_id": str(receipt.user_id),
        "namespace": receipt.namespace.name,
        "status": next((str(one) for one in _WORST if one in statuses), str(ErasureStatus.FINISHED)),
        "reason": receipt.reason,
        "erasures": [
            {
                "id": str(row.id),
                "namespace": row.namespace,
                "target": str(row.target),
                "found": row.found,
                "status": str(row.status),
            }
            for row in rows
        ],
        "keys_revoked": receipt.keys_revoked,
        "shares_ended": receipt.shares_ended,
        "cubes_disowned": receipt.cubes_disowned,
        "actor": receipt.actor,
        "created_at": receipt.created_at.isoformat(),
    }


def forget_user(namespace_id: int, user_id: uuid.UUID) -> tuple[int, int]:
    """Delete a user's row and all references to the user, in every namespace: shares, ownership, keys.

    Returns how many shares ended, and how many cubes lost their owner. Inside a transaction.
    """
    # Only ids are used: the right to erase the user includes ending what others have set up for the user.
    with reach.across_namespaces():
        shares, _ = CubeShare.objects.across_namespaces().filter(user_id=user_id).delete()
        cubes = Cube.objects.across_namespaces().filter(owner_id=user_id)
        disowned = cubes.update(owner_id=None, revision=F("revision") + 1)
        UserNamespace.objects.across_namespaces().filter(user_id=user_id).delete()
        ApiKey.objects.filter(owner_id=user_id).update(owner_id=None)
        User.objects.filter(namespace_id=namespace_id, pk=user_id).delete()
    return shares, disowned


def _list_parts(access: Access, user: User, *, request_id: str) -> Iterator[_Part]:
    """Yield the part of each of the user's namespaces. Raises Conflict for one that the caller does not reach."""
    with reach.across_namespaces():
        linked = UserNamespace.objects.across_namespaces().filter(user_id=user.pk)
        owned = set(Cube.objects.across_namespaces().filter(owner_id=user.pk).values_list("namespace_id", flat=True))
        ids = sorted({user.namespace_id, *owned, *linked.values_list("namespace_id", flat=True)})
    if not access.all_namespaces and not set(ids) <= access.namespace_ids:
        raise Conflict(
            "The user has memories in namespaces that this key does not reach, and nothing was erased. Ask with a key "
            "that reaches all of them.",
            detail={"field": "user_id"},
        )
    names = dict(Namespace.objects.filter(pk__in=ids).values_list("pk", "name"))
    for identity in ids:
        scope = Scope(identity, names[identity], access.actor, request_id)
        if identity in owned and not _has_others(identity, user):
            yield _Part(scope, Target(whole_namespace=True))
            continue
        for speaker in dict.fromkeys(filter(None, (user.name, user.display_name))):
            yield _Part(scope, Target(speaker=speaker))


def _has_others(namespace_id: int, user: User) -> bool:
    """Return whether the namespace has another user as well."""
    return (
        User.objects.filter(namespace_id=namespace_id).exclude(pk=user.pk).exists()
        or UserNamespace.objects.filter(namespace_id=namespace_id).exclude(user_id=user.pk).exists()
    )


def _list_keys(access: Access, user: User) -> list[int]:
    """Return the user's keys that reach nothing beyond the caller's reach."""
    keys = ApiKey.objects.filter(owner_id=user.pk, revoked_at=None).order_by("pk")
    if not access.all_namespaces:
        beyond = ApiKey.objects.filter(owner_id=user.pk).exclude(namespaces=None)
        beyond = beyond.filter(namespaces__in=Namespace.objects.exclude(pk__in=access.namespace_ids))
        keys = keys.filter(all_namespaces=False).exclude(pk__in=beyond.values("pk"))
    return list(keys.values_list("pk", flat=True))


def _end_keys(access: Access, user: User, *, now: datetime) -> int:
    return sum(revoke_key(key_id=identity, actor=access.actor, now=now) for identity in _list_keys(access, user))
