"""Carries out bulk actions of staff, batch by batch through the services, and undoes them.

Each batch is recorded in the transaction that applies it, so that an interrupted action resumes where it ended, and
undo knows exactly what to revert. Namespaces and permissions are checked when it runs, not only when it was requested.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction

from memory.errors import Conflict, Forbidden, InvalidInput, MemosError
from memory.models import Memory
from memory.postgresql import reach
from memory.services.erasure import requests
from memory.services.jobs import queue, runner
from memory.services.memories import edit, merge, renew_vectors, restore, tags
from memory.services.memories.change import check_reason
from memory.types import Access, Scope
from ops.access import access_of
from ops.models import BulkAction, BulkState, BulkVerb

# Larger actions go to a worker, and the page shows the progress.
INLINE = 200
MAX_SELECTED = 10_000
BATCH = 100
KEEP_FOR = timedelta(days=30)
JOB = queue.Kind("ops.tasks.carry_out_bulk", of_namespace=False)
UNDO_JOB = queue.Kind("ops.tasks.undo_bulk", of_namespace=False)
PERMISSIONS = {BulkVerb.ERASE: "memory.delete_memory"}
DEFAULT_PERMISSION = "memory.change_memory"

Changed = dict[uuid.UUID, Any]


def may(user: User, verb: str) -> bool:
    """Return whether the user may do this. Where they may do it depends on their namespaces."""
    return bool(user.is_active and user.is_staff and user.has_perm(PERMISSIONS.get(BulkVerb(verb), DEFAULT_PERMISSION)))


def start(
    user: User, *, verb: BulkVerb, memory_ids: Sequence[uuid.UUID], parameters: dict[str, Any], now: datetime
) -> BulkAction:
    """Record an action and run it: at once, or by a worker if it is for more than INLINE memories.

    Raises Forbidden, InvalidInput.
    """
    if not may(user, verb):
        raise Forbidden("You may not do that to memories: ask an administrator for the permission.")
    parameters = {**parameters, "reason": check_reason(parameters["reason"])}
    if verb == BulkVerb.TAG:
        parameters["add"] = tags.check_tags(parameters["add"])
    chosen = list(dict.fromkeys(memory_ids))
    if not chosen or len(chosen) > MAX_SELECTED:
        raise InvalidInput(f"Choose 1 to {MAX_SELECTED:,} memories.", detail={"field": "memory_ids"})
    BulkAction.objects.filter(created_at__lt=now - KEEP_FOR).delete()
    with transaction.atomic():
        action = BulkAction.objects.create(
            user=user, verb=verb, memory_ids=chosen, selected=len(chosen), parameters=parameters, created_at=now
        )  # fmt: skip
        if len(chosen) > INLINE:
            queue.enqueue(JOB, str(action.pk))
            return action
    return carry_out(action.pk, now=now)


def carry_out(action_id: uuid.UUID, *, now: datetime) -> BulkAction:
    """Run the rest of the action. A finished action is not changed."""
    action = BulkAction.objects.select_related("user").get(pk=action_id)
    if action.state not in (BulkState.QUEUED, BulkState.RUNNING):
        return action
    access, operation = _check_access(action), _OPERATIONS[BulkVerb(action.verb)]
    total = len(action.memory_ids)
    while action.position < total:
        batch = action.memory_ids[action.position : action.position + BATCH]
        # Embedding must not keep a transaction open; running it twice changes nothing.
        with nullcontext() if action.verb == BulkVerb.REEMBED else transaction.atomic():
            try:
                with reach.within_access(access):
                    changed, problems = operation(action, access, batch, now)
            except MemosError as error:
                changed, problems = {}, Counter({error.message: len(batch)})
            action.changed.update({str(key): value for key, value in changed.items()})
            action.problems = dict(Counter(action.problems) + problems)
            action.state = BulkState.RUNNING
            _note(
                action,
                len(batch),
                changed=action.changed,
                changed_count=len(action.changed),
                problems=action.problems,
                state=action.state,
            )
        runner.report(action.position, total)
    BulkAction.objects.filter(pk=action_id, state__in=[BulkState.QUEUED, BulkState.RUNNING]).update(
        state=BulkState.DONE, finished_at=now
    )
    action.refresh_from_db()
    return action


def ask_to_undo(action: BulkAction, user: User, *, now: datetime) -> BulkAction:
    """Undo the action, at once or by a worker. Raises Forbidden, and Conflict if it is too late."""
    if action.user_id != user.pk or not may(user, action.verb):
        raise Forbidden("Only the person who did it can undo it.")
    with transaction.atomic():
        action = BulkAction.objects.select_for_update().get(pk=action.pk)
        if action.undo_until is None or action.undo_until < now:
            raise Conflict("It cannot be undone any more: that is possible for ten minutes, once.")
        action.state, action.position = BulkState.UNDOING, 0
        action.save(update_fields=["state", "position"])
        if action.changed_count > INLINE:
            queue.enqueue(UNDO_JOB, str(action.pk))
            return action
    return undo(action.pk, now=now)


def undo(action_id: uuid.UUID, *, now: datetime) -> BulkAction:
    """Revert the rest of an action that is being undone."""
    action = BulkAction.objects.select_related("user").get(pk=action_id)
    if action.state != BulkState.UNDOING:
        return action
    access, operation = _check_access(action), _UNDOES[BulkVerb(action.verb)]
    keys = [uuid.UUID(key) for key in sorted(action.changed)]
    while action.position < len(keys):
        batch = keys[action.position : action.position + BATCH]
        with transaction.atomic(), reach.within_access(access):
            operation(action, access, batch, now)
            _note(action, len(batch))
        runner.report(action.position, len(keys))
    BulkAction.objects.filter(pk=action_id, state=BulkState.UNDOING).update(state=BulkState.UNDONE, finished_at=now)
    action.refresh_from_db()
    return action


def _note(action: BulkAction, count: int, **values: Any) -> None:
    """Record the progress. Raises Conflict if another worker has taken over, which rolls back the batch."""
    rows = BulkAction.objects.filter(pk=action.pk, position=action.position)
    if not rows.update(position=action.position + count, **values):
        raise Conflict("Another worker carries this action out.")
    action.position += count


def _check_access(action: BulkAction) -> Access:
    """Return what the requester reaches now. Raises Forbidden if they have lost the permission."""
    if not may(action.user, action.verb):
        raise Forbidden("Who asked for it may not do it any more.")
    return access_of(action.user)


def _reason(action: BulkAction, *, undone: bool = False) -> str:
    return f"Undone: {action.parameters['reason']}"[:300] if undone else str(action.parameters["reason"])


Done = tuple[Changed, Counter[str]]
Operation = Callable[[BulkAction, Access, Sequence[uuid.UUID], datetime], Done]


def _simple(verb: Callable[..., list[uuid.UUID]]) -> Operation:
    def operation(action: BulkAction, access: Access, ids: Sequence[uuid.UUID], now: datetime) -> Done:
        done = verb(access, memory_ids=ids, reason=_reason(action), now=now, request_id=str(action.pk))
        return dict.fromkeys(done), Counter()

    return operation


def _restore(action: BulkAction, access: Access, ids: Sequence[uuid.UUID], now: datetime) -> Done:
    done = restore.restore_wholly(
        access, memory_ids=ids, reason=_reason(action), now=now, request_id=str(action.pk)
    )  # fmt: skip
    return dict(done), Counter()


def _merge(action: BulkAction, access: Access, ids: Sequence[uuid.UUID], now: datetime) -> Done:
    survivor = uuid.UUID(action.parameters["survivor"])
    merged, problems = merge.merge(
        access, survivor_id=survivor, other_ids=ids, reason=_reason(action), now=now, request_id=str(action.pk)
    )
    return {identity: {"review": review} if review else None for identity, review in merged.items()}, problems


def _tag(action: BulkAction, access: Access, ids: Sequence[uuid.UUID], now: datetime) -> Done:
    changed = tags.tag(
        access, memory_ids=ids, add=action.parameters["add"], reason=_reason(action), now=now,
        request_id=str(action.pk),
    )  # fmt: skip
    return dict(changed), Counter()


def _erase(action: BulkAction, access: Access, ids: Sequence[uuid.UUID], now: datetime) -> Done:
    """Request an erasure in each namespace. Erasures are separate jobs, with receipts."""
    rows = Memory.objects.reachable_by(access).filter(pk__in=ids)
    of_namespace: dict[tuple[int, str], list[uuid.UUID]] = {}
    for namespace_id, name, identity in rows.values_list("namespace_id", "namespace__name", "pk"):
        of_namespace.setdefault((namespace_id, name), []).append(identity)
    asked: Changed = {}
    problems: Counter[str] = Counter()
    for (namespace_id, name), own in of_namespace.items():
        scope = Scope(namespace_id, name, access.actor, str(action.pk))
        try:
            erasure = requests.request(
                scope, target=requests.Target(memory_ids=tuple(own)), reason=_reason(action), now=now
            )
        except MemosError as error:
            problems[error.message] += len(own)
        else:
            asked.update(dict.fromkeys(own, str(erasure.id)))
    return asked, problems


_OPERATIONS: dict[BulkVerb, Operation] = {
    BulkVerb.ARCHIVE: _simple(edit.archive),
    BulkVerb.RESTORE: _restore,
    BulkVerb.REEMBED: _simple(renew_vectors.renew_vectors),
    BulkVerb.MERGE: _merge,
    BulkVerb.TAG: _tag,
    BulkVerb.ERASE: _erase,
}


def _undone(verb: Callable[..., Any]) -> Callable[..., None]:
    def undo_batch(action: BulkAction, access: Access, ids: Sequence[uuid.UUID], now: datetime) -> None:
        reason = _reason(action, undone=True)
        verb(access, memory_ids=ids, reason=reason, now=now, request_id=str(action.pk))

    return undo_batch


def _unrestore(action: BulkAction, access: Access, ids: Sequence[uuid.UUID], now: datetime) -> None:
    # Actions recorded before there were several ways to restore name the memories only.
    done = {identity: action.changed[str(identity)] or {"archived": True} for identity in ids}
    reason = _reason(action, undone=True)
    restore.undo_restore(access, done=done, reason=reason, now=now, request_id=str(action.pk))


def _unmerge(action: BulkAction, access: Access, ids: Sequence[uuid.UUID], now: datetime) -> None:
    kept = {identity: action.changed[str(identity)] or {} for identity in ids}
    merge.unmerge(
        access,
        survivor_id=uuid.UUID(action.parameters["survivor"]),
        others={identity: one.get("review", "") for identity, one in kept.items()},
        reason=_reason(action, undone=True),
        now=now,
        request_id=str(action.pk),
    )


def _untag(action: BulkAction, access: Access, ids: Sequence[uuid.UUID], now: datetime) -> None:
    for identity in ids:
        added = action.changed[str(identity)]["added"]
        tags.tag(
            access, memory_ids=[identity], remove=added, reason=_reason(action, undone=True), now=now,
            request_id=str(action.pk),
        )  # fmt: skip


_UNDOES: dict[BulkVerb, Callable[..., None]] = {
    BulkVerb.ARCHIVE: _undone(edit.restore),
    BulkVerb.RESTORE: _unrestore,
    BulkVerb.MERGE: _unmerge,
    BulkVerb.TAG: _untag,
}
