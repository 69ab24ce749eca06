"""Clears erased memories from sessions (summaries, rows and windows), working memory and the console's questions."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Any

from memory.enums import ErasedSessionState
from memory.errors import RedisAway, WindowUnavailable
from memory.models import ErasedMemory, ErasedSession
from memory.models.queries import erasure as queries
from memory.models.scoped import ScopedQuerySet
from memory.services.erasure.holder import Erased
from memory.services.summaries import condense
from memory.stores import asked, probes, responses, window, working

# The number of sessions that one transaction processes.
AT_ONCE = 100
WINDOW = "redis_window"
WORKING = "redis_working_memory"
CONSOLE = "redis_console_probes"
# A memory's id begins with its time: messages of older memories are in their windows by now, or never will be.
_MAY_BE_ON_ITS_WAY = timedelta(minutes=10)


def settle(erased: Erased) -> Counter[str] | None:
    """Process the next AT_ONCE sessions once their memories are gone; return the numbers of deleted rows, or None at
    the end.

    Deletes summaries that repeat an erased turn, with all later ones made from them. A session without a turn is
    deleted too, unless its row hides its listing from the audit log. Inside a transaction.
    """
    sessions = list(_open(erased).order_by("session").values_list("session", flat=True)[:AT_ONCE])
    if not sessions:
        return None
    summaries, emptied, left = queries.clear_sessions(erased.scope.namespace_id, erased.id, sessions)
    _open(erased).filter(session__in=left).update(state=ErasedSessionState.REBUILD)
    _open(erased).filter(session__in=sessions).update(state=ErasedSessionState.DONE)
    return Counter({"memory_condensation": summaries, "memory_session": emptied})


def rebuild(erased: Erased, *, now: Callable[[], datetime]) -> Iterator[int]:
    """Make the summaries of sessions that lost one again, from the remaining turns; yield the number of each."""
    waiting = _of(erased).filter(state=ErasedSessionState.REBUILD)
    for session in list(waiting.order_by("session").values_list("session", flat=True)):
        made = condense.condense_session(erased.scope, session=session, now=now())
        waiting.filter(session=session).update(state=ErasedSessionState.DONE)
        yield len(made)


def count_windows(erased: Erased) -> int:
    """Count the messages of erased memories in windows. Raises WindowUnavailable."""
    return sum(len(ids) for _, ids in _in_windows(erased))


def clear_windows(erased: Erased) -> int:
    """Remove the messages of erased memories from the windows; return how many. Raises WindowUnavailable.

    Stored responses from which a conversation could continue are deleted with their session, because they hold all of
    it.
    """
    namespace_id = erased.scope.namespace_id
    recent = ErasedMemory.objects.in_scope(erased.scope).filter(
        erasure_id=erased.id, memory_id__gte=_first_id(erased.asked_at - _MAY_BE_ON_ITS_WAY)
    )
    ids = [str(identity) for identity in recent.values_list("memory_id", flat=True)]
    for start in range(0, len(ids), 10_000):
        window.refuse(namespace_id, ids[start : start + 10_000])
    try:
        responses.forget(namespace_id, list(_of(erased).values_list("session", flat=True)))
    except RedisAway as error:
        raise WindowUnavailable("Responses that a talk goes on from (Redis) do not answer.") from error
    return sum(window.remove(namespace_id, session, held) for session, held in _in_windows(erased))


def count_working_memory(erased: Erased) -> int:
    """Count the erased memories in working memory. Raises WindowUnavailable."""
    return len(_in_working_memory(erased))


def clear_working_memory(erased: Erased) -> int:
    """Remove erased memories from working memory; return how many. Raises WindowUnavailable."""
    namespace_id = erased.scope.namespace_id
    named = _in_working_memory(erased)
    gone = ErasedMemory.objects.in_scope(erased.scope).filter(erasure_id=erased.id)
    try:
        # Also remove how often they were requested, and memories kept because an erased session requested them.
        ids = list(gone.values_list("memory_id", flat=True))
        for start in range(0, len(ids), 10_000):
            asked.drop(namespace_id, ids[start : start + 10_000])
        by_session = {one: asking.session for one, asking in working.askings(namespace_id).items()}
        sessions = set(_of(erased).filter(session__in=by_session.values()).values_list("session", flat=True))
        working.drop(namespace_id, [one for one, session in by_session.items() if session in sessions])
        return working.drop(namespace_id, named)
    except RedisAway as error:
        raise WindowUnavailable("Working memory (Redis) does not answer.") from error


def count_probes(erased: Erased) -> int:
    """Count the namespace's console questions that are older than the erasure. Raises WindowUnavailable."""
    try:
        return probes.count(erased.scope.namespace_id, until=erased.asked_at)
    except RedisAway as error:
        raise WindowUnavailable("The questions of the console (Redis) do not answer.") from error


def clear_probes(erased: Erased) -> int:
    """Delete all console questions about the namespace, because a question may quote erased memories; return how many.

    Raises WindowUnavailable.
    """
    try:
        return probes.forget(erased.scope.namespace_id)
    except RedisAway as error:
        raise WindowUnavailable("The questions of the console (Redis) do not answer.") from error


def _in_working_memory(erased: Erased) -> list[uuid.UUID]:
    # Read everything, including entries older than today's policy keeps them.
    try:
        named = working.everything(erased.scope.namespace_id)
    except RedisAway as error:
        raise WindowUnavailable("Working memory (Redis) does not answer.") from error
    rows = ErasedMemory.objects.in_scope(erased.scope).filter(erasure_id=erased.id, memory_id__in=named)
    return list(rows.values_list("memory_id", flat=True))


def _in_windows(erased: Erased) -> Iterator[tuple[str, set[str]]]:
    """Yield each session that has erased memories in its window, with these memories."""
    sessions = list(_of(erased).order_by("session").values_list("session", flat=True))
    for start in range(0, len(sessions), AT_ONCE):
        held = window.memory_ids_of(erased.scope.namespace_id, sessions[start : start + AT_ONCE])
        ids = [identity for own in held.values() for identity in own]
        if not ids:
            continue
        rows = ErasedMemory.objects.in_scope(erased.scope).filter(erasure_id=erased.id, memory_id__in=ids)
        gone = {str(identity) for identity in rows.values_list("memory_id", flat=True)}
        for session, own in held.items():
            if mine := gone.intersection(own):
                yield session, mine


def _first_id(moment: datetime) -> str:
    """Return the smallest UUIDv7 (RFC 9562) of a moment."""
    milliseconds = f"{int(moment.timestamp() * 1000):012x}"
    return f"{milliseconds[:8]}-{milliseconds[8:]}-7000-8000-000000000000"


def _of(erased: Erased) -> ScopedQuerySet[Any]:
    return ErasedSession.objects.in_scope(erased.scope).filter(erasure_id=erased.id)


def _open(erased: Erased) -> ScopedQuerySet[Any]:
    return _of(erased).filter(state=ErasedSessionState.OPEN)
