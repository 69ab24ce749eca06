"""Compares new memories with earlier ones in the background, and carries out the decisions of `governance.settling`.

It works session by session, and continues where the last run ended. Statements that their speaker ended or took back
leave search one by one; a memory without remaining statements is superseded. A probable new value is linked. A
contradiction goes to the review list. Nothing is deleted, and `reinstate` undoes all of it.
"""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Sequence
from datetime import datetime, timedelta

from django.utils import timezone

from memory import caller
from memory.errors import BudgetExceeded, Conflict, EmbeddingRefused, EmbeddingUnavailable
from memory.models import Memory, Session
from memory.models.locks import Lock, try_lock
from memory.services.jobs import queue
from memory.services.jobs.throttle import Throttle
from memory.services.memories import give_back, waiting_turns
from memory.services.memories.comparison import (
    MemoryComparison,
    decide,
    find_earlier,
    find_same,
    read_ahead,
    read_memory,
    select_said_by_people,
)
from memory.services.memories.later import find_later, read_overtaken
from memory.services.memories.outcome import store_outcome
from memory.services.memories.waiting_turns import WaitingSession
from memory.services.tenancy.policy import in_force
from memory.types import Scope

log = logging.getLogger("memos.settling")

BATCH = 100
# Once turns have waited for this long, further runs begin in parallel with the clock's run, up to MOST_HELPERS.
HELP_LAG = timedelta(seconds=60)
MOST_HELPERS = 15
# Tries to compare a memory that is changed meanwhile.
_TRIES = 3


def settle_pending(*, now: datetime, seconds: float = float("inf"), helper: int = 0) -> int:
    """Settles the memories that arrived since the last run; returns how many.

    Ends after about `seconds` and continues in the next run. Idempotent; several runs share the namespaces. Once turns
    have waited for HELP_LAG, it queues one more run for an idle worker; `helper` is the number of this run, 0 for the
    clock's, and helpers queue another one only after they have met another run. A memory that cannot be settled becomes
    a separate job and delays no other. Raises EmbeddingUnavailable.
    """
    deadline = time.monotonic() + seconds
    throttle = Throttle()
    total = 0
    with try_lock(Lock.SETTLE, shared=True) as is_free:
        if is_free:
            waiting_turns.take_up_skipped()
        # Namespaces that wait for their budget of model calls, or that another run has: others do not wait for them.
        passed_over: set[int] = set()
        # A single worker would carry out one helper after the other.
        is_beside_another = helper == 0
        while is_free and (sessions := waiting_turns.list_waiting(without=passed_over)):
            if is_beside_another and helper < MOST_HELPERS and _is_late(sessions):
                queue.enqueue(queue.HELP_SETTLING, helper + 1)
            for waiting in sessions:
                namespace_id = waiting.scope.namespace_id
                if namespace_id in passed_over:
                    continue
                try:
                    with try_lock(Lock.SETTLE_NAMESPACE, namespace_id) as is_mine:
                        if not is_mine:
                            passed_over.add(namespace_id)
                            is_beside_another = True
                        elif waiting_turns.is_current(waiting):
                            total += _settle_session(waiting, now=now, deadline=deadline, throttle=throttle)
                except BudgetExceeded as error:
                    passed_over.add(namespace_id)
                    extra = {"namespace": waiting.scope.namespace, "reason": error.message}
                    log.warning("new memories are not compared with earlier ones yet", extra=extra)
                if time.monotonic() > deadline:
                    return total
    return total


def _is_late(sessions: Sequence[WaitingSession]) -> bool:
    """Tells whether the waiting sessions, the longest first, have waited for long, in more than one namespace."""
    since = sessions[0].since
    is_late = since is not None and timezone.now() - since > HELP_LAG
    return is_late and any(one.scope.namespace_id != sessions[0].scope.namespace_id for one in sessions)


def settle_namespace(scope: Scope, *, now: datetime) -> int:
    """Settles all waiting turns of one namespace that has no other writer; returns how many memories."""
    total = 0
    waiting_turns.take_up_skipped(scope.namespace_id)
    while sessions := waiting_turns.list_waiting(scope.namespace_id):
        total += sum(_settle_session(waiting, now=now) for waiting in sessions)
    return total


def settle_now(scope: Scope, *, everything: bool, now: datetime) -> int:
    """Compares the waiting turns, or `everything`, at once; returns how many turns.

    Raises Conflict when the namespace's policy has settling turned off, EmbeddingUnavailable.
    """
    if not in_force(scope.namespace_id).policy.settle_conflicts:
        raise Conflict(
            f"conflicts.settle is off in the policy of {scope.namespace!r}: turn it on first (PUT /v1/policy), or see "
            "what would be done with --dry-run."
        )
    if everything:
        Session.objects.in_scope(scope).update(settled_turn=0)
    return settle_namespace(scope, now=now)


def settle_memory(scope: Scope, *, memory_id: uuid.UUID, now: datetime) -> None:
    """Settles one memory again that says something else now, is away, or is back.

    Undoes the automatic supersessions that it caused, then compares it again with memories before and after it, and the
    restored memories with those after them. Raises EmbeddingUnavailable, Conflict.
    """
    given_back = give_back.give_back(scope, newer_ids=[memory_id], now=now)
    if in_force(scope.namespace_id).policy.settle_conflicts:
        compare_with_earlier(scope, memory_id, now=now)
        for older_id in (memory_id, *given_back):
            compare_with_later(scope, older_id, anew=True, now=now)


def settle_one(
    scope: Scope, *, memory_id: uuid.UUID, now: datetime, comparison: MemoryComparison | None = None
) -> None:
    """Applies one memory to earlier ones, and later ones to it. Raises EmbeddingUnavailable, Conflict."""
    compare_with_earlier(scope, memory_id, now=now, comparison=comparison)
    compare_with_later(scope, memory_id, anew=False, now=now)


def compare_with_earlier(
    scope: Scope, memory_id: uuid.UUID, *, now: datetime, comparison: MemoryComparison | None = None
) -> None:
    """Applies one memory to earlier ones. `comparison`: the memory as it was read a moment ago.

    Raises EmbeddingUnavailable, and Conflict when the memories are changed repeatedly while they are compared.
    """
    for _ in range(_TRIES):
        comparison = comparison or read_memory(scope, memory_id)
        if comparison is None:
            return
        find_earlier(comparison)
        decide(comparison)
        find_same(comparison)
        if comparison.changes_nothing or store_outcome(comparison, now=now):
            return
        comparison = None
    raise Conflict("The memory was changed while it was compared with earlier ones.")


def compare_with_later(scope: Scope, memory_id: uuid.UUID, *, anew: bool, now: datetime) -> None:
    """Applies memories of a later time that were stored before this one to it; all of a later time with `anew`."""
    memory = read_overtaken(scope, memory_id, anew=anew)
    if memory is not None:
        for later_id in find_later(scope, memory, anew=anew):
            compare_with_earlier(scope, later_id, now=now)


def _settle_session(
    waiting: WaitingSession, *, now: datetime, deadline: float = float("inf"), throttle: Throttle | None = None
) -> int:
    """Settles the session's next BATCH of turns until the deadline, and records the last settled turn."""
    scope, settled_turn = waiting.scope, waiting.settled_turn
    rows = Memory.objects.in_scope(scope).in_session(waiting.session).filter(turn__gt=settled_turn).order_by("turn")
    turns = list(rows.values_list("turn", flat=True)[:BATCH])
    reached = settled_turn
    try:
        if turns and not in_force(scope.namespace_id).policy.settle_conflicts:
            waiting_turns.skip(waiting)
        elif turns:
            said = select_said_by_people(rows).filter(turn__lte=turns[-1])
            for memory, comparison in read_ahead(scope, said):
                if time.monotonic() > deadline:
                    return sum(one <= reached for one in turns)
                _settle_or_queue(scope, memory.pk, comparison, now=now)
                reached = memory.turn
                if throttle is not None:
                    throttle.rest()
        # Turns said since the session's row was read wait for the next run.
        reached = turns[-1] if turns else waiting.message_count
        return len(turns)
    finally:
        waiting_turns.mark_settled(waiting, turn=reached)


def _settle_or_queue(scope: Scope, memory_id: uuid.UUID, comparison: MemoryComparison | None, *, now: datetime) -> None:
    """Settles a memory; queues a separate job for a memory that cannot be settled. Raises EmbeddingUnavailable."""
    try:
        with caller.within_namespace(scope.namespace_id):
            settle_one(scope, memory_id=memory_id, now=now, comparison=comparison)
    except Exception as error:
        if isinstance(error, EmbeddingUnavailable) and not isinstance(error, EmbeddingRefused):
            raise
        log.warning("memory not settled", extra={"memory": str(memory_id), "reason": type(error).__name__})
        queue.enqueue(queue.SETTLE, scope.namespace_id, str(memory_id))
