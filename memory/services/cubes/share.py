"""Shares cubes with users, whose keys then read them, or write to them as well; until a moment, or until revoked."""

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

# Whoever calls carries with its key all that is shared with its owner.
MOST_SHARES = 500


def list_granted(
    user_id: uuid.UUID, *, beyond: Collection[int] = (), now: datetime
) -> tuple[tuple[int, ShareLevel], ...]:
    """The namespaces, other than `beyond`, whose cubes are shared with the user, each with what for."""
    # Who is calling is known, and what of others' is open to them is what is asked: of every namespace.
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
    """Shares a cube with a user, in the place of what it was shared with them for before.

    Raises NotFound, also for a user whom the caller does not see, InvalidInput for an expiry that is over, Conflict
    where the cube, or the user, has MOST_SHARES, or a repeated request's share was revoked since; IdempotencyConflict.
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
    """The share as it stands. Raises NotFound, and Conflict for one that was revoked, which a repeat leaves so."""
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
        # Before the cube, as an erasure of the user does: what it ends is not shared beside it.
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
    """Ends a share: from the next request on the user's keys do not reach the cube. Raises NotFound.

    It is in the erasure ledger, so that a restored older backup does not bring it back.
    """
    with transaction.atomic():
        cube = lock_cube(access, cube_id)
        scope = scope_of(access, cube, request_id=request_id)
        share = CubeShare.objects.in_scope(scope).filter(user_id=user_id).first()
        if share is None:
            raise NotFound(f"The cube {cube_id} is not shared with a user {user_id}.", detail={"field": "user_id"})
        details = {"user_id": str(user_id), "before": _standing(share)}
        # By a query: deleted itself, the share would no longer know whose it was.
        CubeShare.objects.in_scope(scope).filter(user_id=user_id).delete()
        audit.record(scope, AuditEvent.CUBE_REVOKE, subject=str(cube_id), details=details, now=now)
    note_revoked([share], now=now)


def note_revoked(shares: Collection[CubeShare], *, now: datetime) -> None:
    """Takes down in the erasure ledger that shares are revoked, after they are."""
    try:
        for share in shares:
            ledger.note_revoked_share(share.namespace_id, share.user_id, now=now)
    except LedgerUnavailable as away:
        # They are revoked all the same.
        log.warning("a revoked share is not in the erasure ledger", extra={"reason": away.message})


def list_shares(access: Access, *, cube_id: uuid.UUID) -> tuple[Cube, list[CubeShare]]:
    """With whom a cube is shared, the newest first, those that have expired among them. Raises NotFound."""
    cube = find_cube(access, cube_id)
    return cube, list(CubeShare.objects.filter(namespace_id=cube.namespace_id).order_by("-created_at", "user_id"))


def find_owner(access: Access, *, prefix: str) -> User:
    """The user whose key begins with `prefix`, with or without its mark.

    Raises NotFound, also where the key is nobody's, or of a user whom the caller does not see.
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
    """The users of the shares, by their ids, as far as the caller sees them."""
    ids = [share.user_id for share in shares]
    return {user.pk: user for user in User.objects.reachable_by(access).filter(pk__in=ids)}


def to_dict(share: CubeShare, user: User | None, *, now: datetime) -> dict[str, Any]:
    """A share as clients see it. A user whom the caller does not see has no name."""
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
    """A share for the audit log."""
    if share is None:
        return None
    return {"level": str(share.level), "expires_at": share.expires_at.isoformat() if share.expires_at else None}


def _refuse_many(count: int, of: str) -> None:
    if count >= MOST_SHARES:
        raise Conflict(
            f"{of} has {MOST_SHARES} shares, and may have no more: revoke those that are not needed.",
            detail={"field": "user_id"},
        )
