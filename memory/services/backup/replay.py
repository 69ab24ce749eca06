"""Repeats, in a database restored from a backup, the erasures since the backup was made."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction

from memory.enums import ErasureStatus
from memory.errors import BackupError
from memory.governance.policy import nest
from memory.ledger import Ledger, LedgerErasure, secret_mark
from memory.models import ApiKey, CubeShare, ErasedMemory, Erasure, MemoryUpkeep, Namespace
from memory.services.erasure import requests, run
from memory.services.erasure.users import forget_user
from memory.services.retention.exemptions import exempt
from memory.services.tenancy import keys
from memory.services.tenancy.policy import governing, put_policy
from memory.types import Scope

REASON = "Erased after the backup that was restored."
HOLD = "legal_hold"
# The time that a restore waits for an erasure, and the interval between its attempts.
WAIT_SECONDS, PAUSE_SECONDS = 60.0, 1.0
# The number of memories that one transaction frees from their holds.
_AT_ONCE = 1_000


@dataclass(frozen=True, slots=True)
class Replayed:
    """The numbers of repeated erasures, of memories erased by them, and of API keys revoked again."""

    erasures: int
    memories: int
    revoked_keys: int


def other_secrets(ledger: Ledger) -> int:
    """Count the erasures that name a session or speaker by a hash made with another MEMOS_SECRET_KEY."""
    return sum(bool(erased.secret) and erased.secret != secret_mark() for erased in ledger.erasures.values())


def replay(ledger: Ledger, *, actor: str, now: Callable[[], datetime]) -> Replayed:
    """Carry out every erasure of the ledger that this database has not finished, and revoke keys again.

    A legal hold that the backup brought back was no longer in force when the erasure was carried out, so it is lifted.
    Raises BackupError when an erasure does not finish.
    """
    done = memories = 0
    for erased in sorted(ledger.erasures.values(), key=lambda one: one.asked_at):
        scope = _scope_of(erased, actor)
        if scope is None:
            continue
        erasure = _take_down(scope, erased, now=now())
        if erasure is None:
            continue
        with _without_holds(scope, erasure.id, now=now):
            ended = _carry_to_its_end(scope, erasure.id, now=now)
        if ended.status != ErasureStatus.FINISHED:
            raise BackupError(
                f"The erasure {erasure.id}, which the ledger says was carried out after the backup, is "
                f"{ended.status}: {ended.error or ended.waiting_for}"
            )
        done, memories = done + 1, memories + ended.holders.get("memory_memory", {}).get("cleared", 0)
    _forget_users(ledger)
    _revoke_shares(ledger)
    return Replayed(done, memories, _revoke(ledger, actor=actor, now=now()))


def _carry_to_its_end(scope: Scope, erasure_id: uuid.UUID, *, now: Callable[[], datetime]) -> Erasure:
    """Carry the erasure out, and return it once it is over or has waited WAIT_SECONDS.

    On a machine that is busy with a restore, Redis may not answer for a while.
    """
    until = time.monotonic() + WAIT_SECONDS
    while True:
        run.carry_out(namespace_id=scope.namespace_id, erasure_id=erasure_id, now=now, seconds=float("inf"))
        erasure = Erasure.objects.get(namespace_id=scope.namespace_id, id=erasure_id)
        if erasure.status != ErasureStatus.WAITING or time.monotonic() > until:
            return erasure
        time.sleep(PAUSE_SECONDS)


def _scope_of(erased: LedgerErasure, actor: str) -> Scope | None:
    """Return the namespace if the backup has it. A later namespace with the same number is a different one."""
    namespace = Namespace.objects.filter(pk=erased.namespace_id, created_at__lte=erased.asked_at).first()
    return Scope(namespace.pk, namespace.name, actor) if namespace else None


def _take_down(scope: Scope, erased: LedgerErasure, *, now: datetime) -> Erasure | None:
    """Return the erasure to carry out; None when the backup was made after its end, or when it erased nothing."""
    if erased.only_these and not erased.memories:
        return None
    known = Erasure.objects.filter(namespace_id=scope.namespace_id, id=erased.id).first()
    if known is None:
        return requests.take_down_again(scope, erased, reason=REASON, now=now)
    return known if known.status in requests.OPEN else None


@contextmanager
def _without_holds(scope: Scope, erasure_id: uuid.UUID, *, now: Callable[[], datetime]) -> Iterator[None]:
    """Lift legal holds on the erasure's memories inside the context; that of a namespace is restored afterwards."""
    before = governing(scope.namespace_id)
    held = before.effective.policy.legal_hold
    if held:
        put_policy(scope, wanted=nest({**before.overrides, HOLD: False}), reason=REASON, now=now())
    named = ErasedMemory.objects.in_scope(scope).filter(erasure_id=erasure_id)
    alone = MemoryUpkeep.objects.in_scope(scope).filter(memory_id__in=named.values("memory_id"), legal_hold=True)
    while ids := list(alone.values_list("memory_id", flat=True)[:_AT_ONCE]):
        exempt(scope, memory_ids=ids, legal_hold=False, reason=REASON, now=now())
    try:
        yield
    finally:
        if held:
            put_policy(scope, wanted=nest(before.overrides), reason=REASON, now=now())


def _forget_users(ledger: Ledger) -> None:
    """Erase again the users who were erased, with their shares; ids of users are never reused."""
    for namespace_id, user_id in ledger.users:
        with transaction.atomic():
            forget_user(namespace_id, user_id)


def _revoke_shares(ledger: Ledger) -> None:
    """Revoke again the shares that were revoked after the backup; a share created since then stays."""
    for (namespace_id, user_id), revoked_at in ledger.shares.items():
        CubeShare.objects.filter(namespace_id=namespace_id, user_id=user_id, created_at__lte=revoked_at).delete()


def _revoke(ledger: Ledger, *, actor: str, now: datetime) -> int:
    usable = ApiKey.objects.filter(revoked_at=None, pk__in={identity for identity, _ in ledger.revoked_keys})
    gone = [key.pk for key in usable if (key.pk, key.prefix) in ledger.revoked_keys]
    return sum(keys.revoke_key(key_id=identity, actor=actor, now=now) for identity in gone)
