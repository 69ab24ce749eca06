"""Shares cubes with users, whose keys may then read them, or also write to them, until a moment or until revoked."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Collection
from datetime import datetime
from functools import partial
from typing import Any

from django.db import transaction

from memory import audit, ledger
from memory.enums import AuditEvent, ShareLevel
from memory.errors import Conflict, InvalidInput, NotFound
from memory.ledger import LedgerUnavailable
from memory.models import ApiKey, Cube, CubeShare, User
from memory.models.access import TOKEN_MARK
from memory.models.queries.tenancy import list_shared
from memory.postgresql import reach
from memory.services.cubes.find import find_cube, lock_cube, scope_of
from memory.services.tenancy.idempotency import make_once
from memory.services.tenancy.users import lock_user
from memory.types import Access, Idempotency

log = logging.getLogger("memos.cubes")

# The limit of shares, because each request loads all shares of its key's owner.
MOST_SHARES = 500


def list_granted(
    user_id: uuid.UUID, *, beyond: Collection[int] = (), now: datetime
) -> tuple[tuple[int, ShareLevel], ...]:
    """Return the namespaces, other than `beyond`, whose cubes are shared with the user, each with the level."""
    # The caller is known, and the question is what others have shared with them, in any namespace.
    with reach.across_namespaces():
        rows = list_shared(user_id, now=now)
    return tuple((identity, ShareLevel(level)) for identity, level in rows if identity not in beyond)


def share_cube(
    access: Access,
    *,
    cube_id: uuid.UUID,
    user_id: uuid.UUID,
    level: ShareLevel,
    expires_at: datetime | None = None,
    now: datetime,
    request_id: str = "",
    idempotency: Idempotency | None = None,
) -> CubeShare:
    """Share a cube with a user; a former share with them is replaced.

    Raises NotFound, also for a user whom the caller does not see, InvalidInput for an expiry in the past, Conflict when
    the cube, or the user, has MOST_SHARES, or a repeated request's share was revoked since; IdempotencyConflict.
    """
    return make_once(
        idempotency,
        make=partial(
            _share_cube,
            access,
            cube_id=cube_id,
            user_id=user_id,
            level=level,
            expires_at=expires_at,
            now=now,
            request_id=request_id,
        ),
        identify=lambda share: share.user_id,
        find=partial(_find_share, access, cube_id),
        now=now,
    )


def _find_share(access: Access, cube_id: uuid.UUID, user_id: uuid.UUID) -> CubeShare:
    """Return the share as it is now. Raises NotFound, and Conflict for a revoked share, which a repeat does not
    renew."""
    cube = find_cube(access, cube_id)
    share = CubeShare.objects.filter(namespace_id=cube.namespace_id, user_id=user_id).first()
    if share is None:
        raise Conflict(
            "The share that this Idempotency-Key made was revoked since. Send a new key to share the cube again.",
            detail={"header": "Idempotency-Key"},
        )
    return share


def _share_cube(
    access: Access,
    *,
    cube_id: uuid.UUID,
    user_id: uuid.UUID,
    level: ShareLevel,
    expires_at: datetime | None,
    now: datetime,
    request_id: str,
) -> CubeShare:
    if expires_at is not None and expires_at <= now:
        raise InvalidInput(
            f"expires_at: {expires_at.isoformat()} lies in the past. Give a later moment, or leave it out.",
            detail={"field": "expires_at"},
        )
    with transaction.atomic():
        # Lock the user before the cube, as an erasure of the user does, so that no share is added while it runs.
        lock_user(access, user_id)
        cube = lock_cube(access, cube_id)
        scope = scope_of(access, cube, request_id=request_id)
        shares = CubeShare.objects.in_scope(scope)
        before = shares.filter(user_id=user_id).first()
        if before is None:
            _refuse_many(shares.count(), f"The cube {cube_id}")
            _refuse_many(len(list_granted(user_id, now=now)), f"The user {user_id}")
        share, _ = CubeShare.objects.update_or_create(
            namespace_id=cube.namespace_id,
            user_id=user_id,
            defaults={"level": level, "expires_at": expires_at, "created_by": access.actor, "created_at": now},
        )
        details = {"user_id": str(user_id), "before": _standing(before), "after": _standing(share)}
        audit.record(scope, AuditEvent.CUBE_SHARE, subject=str(cube_id), details=details, now=now)
    return share


def revoke_share(
    access: Access, *, cube_id: uuid.UUID, user_id: uuid.UUID, now: datetime, request_id: str = ""
) -> None:
    """Revoke a share: from the next request on, the user's keys do not reach the cube. Raises NotFound.

    The erasure ledger records it, so that restoring an older backup does not bring the share back.
    """
    with transaction.atomic():
        cube = lock_cube(access, cube_id)
        scope = scope_of(access, cube, request_id=request_id)
        share = CubeShare.objects.in_scope(scope).filter(user_id=user_id).first()
        if share is None:
            raise NotFound(f"The cube {cube_id} is not shared with a user {user_id}.", detail={"field": "user_id"})
        details = {"user_id": str(user_id), "before": _standing(share)}
        # Delete by a query, because a deleted instance would lose its ids.
        CubeShare.objects.in_scope(scope).filter(user_id=user_id).delete()
        audit.record(scope, AuditEvent.CUBE_REVOKE, subject=str(cube_id), details=details, now=now)
    note_revoked([share], now=now)


def note_revoked(shares: Collection[CubeShare], *, now: datetime) -> None:
    """Record revoked shares in the erasure ledger."""
    try:
        for share in shares:
            ledger.note_revoked_share(share.namespace_id, share.user_id, now=now)
    except LedgerUnavailable as away:
        # They are revoked anyway.
        log.warning("a revoked share is not in the erasure ledger", extra={"reason": away.message})


def list_shares(access: Access, *, cube_id: uuid.UUID) -> tuple[Cube, list[CubeShare]]:
    """Return the cube and its shares, newest first, including expired ones. Raises NotFound."""
    cube = find_cube(access, cube_id)
    return cube, list(CubeShare.objects.filter(namespace_id=cube.namespace_id).order_by("-created_at", "user_id"))


def find_owner(access: Access, *, prefix: str) -> User:
    """Return the user whose key begins with `prefix`, with or without its mark.

    Raises NotFound, also for a key without an owner, or of a user whom the caller does not see.
    """
    bare = prefix.removeprefix(f"{TOKEN_MARK}_").partition("_")[0]
    owner_id = ApiKey.objects.filter(prefix=bare).values_list("owner_id", flat=True).first()
    user = User.objects.reachable_by(access).filter(pk=owner_id).first() if owner_id else None
    if user is None:
        raise NotFound(
            f"There is no key {bare!r} of a user that this key reaches: name the user by its id.",
            detail={"field": "key"},
        )
    return user


def users_of(access: Access, shares: Collection[CubeShare]) -> dict[uuid.UUID, User]:
    """Return the users of the shares, by their ids, as far as the caller sees them."""
    ids = [share.user_id for share in shares]
    return {user.pk: user for user in User.objects.reachable_by(access).filter(pk__in=ids)}


def to_dict(share: CubeShare, user: User | None, *, now: datetime) -> dict[str, Any]:
    """Return a share as clients see it. A user whom the caller does not see has no name."""
    return {
        "user_id": str(share.user_id),
        "user_name": user.name if user else None,
        "level": share.level,
        "expires_at": share.expires_at.isoformat() if share.expires_at else None,
        "expired": share.expires_at is not None and share.expires_at <= now,
        "created_by": share.created_by,
        "created_at": share.created_at.isoformat(),
    }


def _standing(share: CubeShare | None) -> dict[str, Any] | None:
    """Describe a share for the audit log."""
    if share is None:
        return None
    return {"level": str(share.level), "expires_at": share.expires_at.isoformat() if share.expires_at else None}


def _refuse_many(count: int, of: str) -> None:
    if count >= MOST_SHARES:
        raise Conflict(
            f"{of} has {MOST_SHARES} shares, and may have no more: revoke those that are not needed.",
            detail={"field": "user_id"},
        )
