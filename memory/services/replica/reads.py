"""Sends reads to the replica where that changes no answer that its caller could tell, and else to the primary.

A caller's own writes, and those in the namespaces that are read, are there at once: each writing request says up to
where the log had come when it was done, and a read asks the replica whether it has replayed that far.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection
from typing import TypeVar

from django.db import DatabaseError, InterfaceError

from memory.errors import RedisAway
from memory.metrics import count_replica_read
from memory.postgresql import replica
from memory.postgresql.replica import ReplicaAway, ReplicaBehind
from memory.stores import last_writes
from memory.types import Access

log = logging.getLogger("memos.replica")

Result = TypeVar("Result")

# A key of more namespaces than this is asked for by itself: what others write in them may lag for it.
MOST_NAMESPACES = 100


class _State:
    """What this process has said, and what it could not say."""

    is_away = False
    owes_floor = False


_state = _State()


def read(work: Callable[[], Result], *, actor: str, namespace_ids: Collection[int]) -> Result:
    """What `work` answers, which reads and writes nothing: from the replica if that has all that the actor wrote, and
    all that anyone wrote in the namespaces, else from the primary.

    Where the replica fails in the middle, the work is done again on the primary.
    """
    if not replica.may_read() or not _is_ready(actor, namespace_ids):
        return work()
    try:
        with replica.reading():
            result = work()
    except (DatabaseError, InterfaceError) as error:
        if not replica.is_of_replica(error):
            raise
        if replica.is_lost():
            replica.leave_alone()
            _note_away(str(error))
        else:
            count_replica_read("repeated")
            log.warning("a read is done again on the primary", extra={"reason": str(error)})
        return work()
    count_replica_read("replica")
    return result


def read_for(access: Access, work: Callable[[], Result]) -> Result:
    """`read` for who reaches these namespaces; of who reaches all of them, what others write may lag."""
    return read(work, actor=access.actor, namespace_ids=_namespaces(access))


def note_write(*, actor: str = "", namespace_ids: Collection[int] = ()) -> None:
    """Has reads of the actor, and of these namespaces, find what was committed until now. Never raises."""
    _note(lambda position: last_writes.raise_position(position, actor=actor, namespace_ids=namespace_ids))


def note_write_for_all() -> None:
    """Has everyone's reads find what was committed until now. Never raises."""
    _note(last_writes.raise_floor)


def note_write_of(access: Access, namespace_ids: Collection[int]) -> None:
    """`note_write` of a request that has named these namespaces; where it named none, of all that it may have meant."""
    if namespace_ids or not access.all_namespaces:
        note_write(actor=access.actor, namespace_ids=namespace_ids or access.namespace_ids)
    else:
        note_write_for_all()


def _namespaces(access: Access) -> Collection[int]:
    return access.namespace_ids if len(access.namespace_ids) <= MOST_NAMESPACES else ()


def _note(say: Callable[[int], None]) -> None:
    if not replica.is_configured():
        return
    try:
        _pay()
        say(replica.read_position())
    except (RedisAway, DatabaseError, InterfaceError) as error:
        # Said for everyone as soon as it can be.
        _state.owes_floor = True
        log.warning("the last write could not be noted", extra={"reason": str(error)})


def _pay() -> None:
    """Says what could not be said. Raises RedisAway, and Django's database errors."""
    if _state.owes_floor:
        last_writes.raise_floor(replica.read_position())
        _state.owes_floor = False


def _is_ready(actor: str, namespace_ids: Collection[int]) -> bool:
    """Whether the replica can answer; else it is counted why not."""
    try:
        _pay()
        position = last_writes.read_position(actor=actor, namespace_ids=namespace_ids)
        if position is None:
            position = replica.read_position()
            last_writes.raise_floor(position)
        replica.check(position)
    except RedisAway:
        count_replica_read("redis_away")
        return False
    except ReplicaBehind:
        _note_back()
        count_replica_read("behind")
        return False
    except ReplicaAway as away:
        _note_away(str(away))
        return False
    _note_back()
    return True


def _note_away(reason: str) -> None:
    count_replica_read("replica_away")
    if not _state.is_away:
        _state.is_away = True
        log.warning("the replica cannot be read from; the primary answers", extra={"reason": reason})


def _note_back() -> None:
    if _state.is_away:
        _state.is_away = False
        log.warning("the replica can be read from again")
