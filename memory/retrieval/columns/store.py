"""Holds namespaces as columns in this process, and keeps them current.

A namespace is loaded in the background when it is first searched; SQL answers meanwhile. Each search begins with a
statement that reads the changes, so a question finds everything that was written before it. A thread also reads the
changes of all held namespaces once a second, and confirms that in Redis, because an erasure waits for it
(`stores/index_holders.py`).
"""

from __future__ import annotations

import logging
import os
import queue
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from django.conf import settings
from django.db import DatabaseError, InterfaceError, connection

from memory.models.sql import read_clock
from memory.postgresql import reach
from memory.retrieval.columns.columns import Columns, TermStatistics
from memory.retrieval.columns.load import Changes, Snapshot, read_all, read_changed, read_changes
from memory.retrieval.question import Question
from memory.retrieval.size import count_memories
from memory.stores import index_holders
from memory.stores.index_holders import LEASE_SECONDS
from memory.types import Scope

log = logging.getLogger("memos.columns")

LOOK_EVERY_SECONDS = 1.0
# If there are more changes than this, the namespace is read again in the background, and the question does not wait.
MOST_CHANGES = 500
# A namespace that was not searched for this long is dropped.
IDLE_SECONDS = 1800.0

_Key = tuple[int, int]


@dataclass(slots=True)
class _Held:
    """Holds the columns of one namespace, and the snapshot up to which they are current. The lock guards both.

    `confirmed` and `asked`: when changes were last taken in, and when the namespace was last searched (monotonic
    seconds).
    """

    columns: Columns
    dimensions: int
    seen: Snapshot
    confirmed: float
    asked: float
    lock: threading.Lock = field(default_factory=threading.Lock)
    is_gone: bool = False


class ColumnStore:
    """Holds the columns of namespaces, up to `budget` bytes together; the least recently searched are dropped first."""

    def __init__(self, budget: int) -> None:
        self._budget = budget
        self._lock = threading.Lock()
        self._held: OrderedDict[_Key, _Held] = OrderedDict()
        self._loading: set[_Key] = set()
        # Namespaces that exceeded the budget by themselves, with the number of memories that they had then.
        self._too_large: dict[_Key, int] = {}
        # Keys of namespaces to load, with the number of dimensions of their vectors; None ends the thread.
        self._wanted: queue.SimpleQueue[tuple[_Key, int] | None] = queue.SimpleQueue()
        self._holder = f"{os.uname().nodename}:{os.getpid()}"
        self._said: set[int] = set()
        self._closing = threading.Event()
        # Loading has a separate thread, because an erasure waits for the one that looks for changes.
        self._threads = [
            threading.Thread(target=self._load_wanted, name="columns-load", daemon=True),
            threading.Thread(target=self._watch, name="columns-watch", daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        """Stops the background threads, waits for them, and drops everything."""
        self._closing.set()
        self._wanted.put(None)
        for thread in self._threads:
            thread.join()
        self._held.clear()

    @contextmanager
    def current(
        self, scope: Scope, question: Question, changes: Changes | None
    ) -> Iterator[tuple[Columns, TermStatistics] | None]:
        """Yields the current columns of the namespace, locked for the caller, or None if SQL must answer.

        `changes`: the changes since `last_seen`, if the caller has read them; the columns are then current as of that
        read. Otherwise they are read here.
        """
        key = (scope.namespace_id, question.model_id)
        held = self._get(key)
        if held is None:
            self._load(key, scope, question)
            yield None
            return
        if changes is None:
            changes = read_changes(scope.namespace_id, held.seen)
        dimensions = len(question.vector)
        if dimensions != held.dimensions or len(changes.memory_ids) + len(changes.alias_ids) > MOST_CHANGES:
            self.forget(key)
            self._load(key, scope, question)
            yield None
            return
        with held.lock:
            if held.is_gone or not _take_in(held, key, changes):
                self.forget(key)
                yield None
                return
            held.asked = time.monotonic()
            yield held.columns, changes.statistics

    def last_seen(self, key: _Key) -> Snapshot | None:
        """Returns the snapshot up to which the namespace's columns are current; None if it is not held."""
        with self._lock:
            held = self._held.get(key)
            return held.seen if held is not None else None

    def forget(self, key: _Key) -> None:
        """Drops the columns of the namespace, if they are held."""
        with self._lock:
            held = self._held.pop(key, None)
        if held is not None:
            held.is_gone = True

    def _get(self, key: _Key) -> _Held | None:
        with self._lock:
            held = self._held.get(key)
            if held is not None:
                self._held.move_to_end(key)
            return held

    def _load(self, key: _Key, scope: Scope, question: Question) -> None:
        """Queues the namespace for loading in the background, unless it is too large."""
        memories = count_memories(scope)
        if memories > settings.MEMOS_LARGE_NAMESPACE_MEMORIES:
            return
        with self._lock:
            if key in self._loading or memories >= self._too_large.get(key, memories + 1):
                return
            self._loading.add(key)
        self._wanted.put((key, len(question.vector)))

    def _load_wanted(self) -> None:
        while (wanted := self._wanted.get()) is not None and not self._closing.is_set():
            try:
                self._load_now(*wanted)
            except Exception:  # the thread goes on, because other namespaces wait to be loaded
                log.exception("a namespace was not loaded")
            finally:
                connection.close()

    def _load_now(self, key: _Key, dimensions: int) -> None:
        try:
            started = time.monotonic()
            # Confirmed before reading, so that an erasure in the meantime waits until it is taken in.
            with reach.across_namespaces():
                index_holders.confirm(self._holder, {key[0]}, read_clock())
            self._said.add(key[0])
            # The whole namespace is read, whatever the first caller may reach, because others are answered from it too.
            with reach.within(key[0]):
                columns, seen = read_all(*key, dimensions)
            held = _Held(columns, dimensions, seen, confirmed=started, asked=started)
            if time.monotonic() - started > LEASE_SECONDS:
                log.warning("a namespace takes too long to load", extra={"namespace": key[0]})
                return
            with self._lock:
                self._held[key] = held
                self._too_large.pop(key, None)
            self._make_room()
        finally:
            with self._lock:
                self._loading.discard(key)

    def _make_room(self) -> None:
        """Drops namespaces larger than the budget, and then the least recently searched until the rest fits."""
        with self._lock:
            sizes = {key: held.columns.bytes for key, held in self._held.items()}
        for key in [key for key, size in sizes.items() if size > self._budget]:
            self._refuse(key, sizes.pop(key))
        total = sum(sizes.values())
        for key, size in sizes.items():
            if total <= self._budget:
                return
            self.forget(key)
            total -= size

    def _refuse(self, key: _Key, size: int) -> None:
        """Drops a namespace that exceeds the budget, and does not load it again until it has fewer memories.

        Loading it would push all other namespaces out.
        """
        with self._lock:
            held = self._held.get(key)
            if held is not None:
                self._too_large[key] = held.columns.count
        self.forget(key)
        log.warning(
            "a namespace is larger than MEMOS_COLUMNS_MB: SQL answers", extra={"namespace": key[0], "bytes": size}
        )

    def _watch(self) -> None:
        while not self._closing.wait(LOOK_EVERY_SECONDS):
            try:
                self._look_for_changes()
            except Exception:  # the thread goes on, because it drops what erasures wait for
                log.exception("columns were not looked at")
            if not self._held:
                connection.close()
        connection.close()

    def _look_for_changes(self) -> None:
        with self._lock:
            held = dict(self._held)
        now = time.monotonic()
        for key, one in held.items():
            if now - one.asked > IDLE_SECONDS:
                self.forget(key)
        try:
            if held:
                self._confirm(held)
        except (DatabaseError, InterfaceError) as error:
            log.warning("columns could not be confirmed", extra={"reason": str(error)})
            # The next look opens a new connection: a lost one is only noticed at the start of a request, which this
            # thread does not have.
            connection.close()
        for key, one in held.items():
            if time.monotonic() - one.confirmed > LEASE_SECONDS:
                self.forget(key)
        with self._lock:
            left = self._said - {namespace_id for namespace_id, _ in (*self._held, *self._loading)}
        if left:
            index_holders.leave(self._holder, left)
            self._said -= left

    def _confirm(self, held: dict[_Key, _Held]) -> None:
        """Takes in the changes of each namespace, and confirms the time up to which it has."""
        with reach.across_namespaces():
            moment = read_clock()
            for key, one in held.items():
                changes = read_changes(key[0], one.seen)
                if len(changes.memory_ids) + len(changes.alias_ids) > MOST_CHANGES:
                    self.forget(key)
                    continue
                with one.lock:
                    if not _take_in(one, key, changes):
                        self.forget(key)
            self._make_room()
        with self._lock:
            loading = {namespace_id for namespace_id, _ in self._loading}
        index_holders.confirm(self._holder, {namespace_id for namespace_id, _ in held} - loading, moment)


def _take_in(held: _Held, key: _Key, changes: Changes) -> bool:
    """Brings the columns up to date, and returns whether they may stay.

    Returns False, so that they are read again, if a memory was erased (no trace of it may stay) or if too many rows are
    obsolete.
    """
    if changes.memory_ids or changes.alias_ids:
        changed = read_changed(*key, held.dimensions, changes)
        if changed.gone:
            return False
        for identity in changed.out_of_search:
            held.columns.remove(identity)
        for row in changed.rows:
            held.columns.put(row)
        for alias in changes.alias_ids:
            held.columns.names.forget(alias)
        for alias, name_key, entity in changed.aliases:
            held.columns.names.put(alias, name_key, entity)
    if changes.seen.is_after(held.seen):
        held.seen = changes.seen
    held.confirmed = max(held.confirmed, changes.started)
    return not held.columns.are_worn


_store: ColumnStore | None = None


def open_store() -> None:
    """Starts to hold searched namespaces in this process; must be called after a fork."""
    global _store  # noqa: PLW0603 - one a process
    if settings.MEMOS_COLUMNS_MB:
        _store = ColumnStore(settings.MEMOS_COLUMNS_MB * 1024 * 1024)


def close_store() -> None:
    """Drops all columns, so that SQL answers from now on."""
    global _store
    store, _store = _store, None
    if store is not None:
        store.close()


def last_seen(scope: Scope, model_id: int) -> Snapshot | None:
    """Returns the snapshot up to which this process's columns of the namespace are current; None if it has none."""
    return None if _store is None else _store.last_seen((scope.namespace_id, model_id))


@contextmanager
def columns_for(
    scope: Scope, question: Question, changes: Changes | None = None
) -> Iterator[tuple[Columns, TermStatistics] | None]:
    """Yields the namespace's columns, which answer the question as SQL would, or None if SQL must answer.

    `changes`: the changes since `last_seen`, if the caller has read them already. It yields None for a question with a
    predicate, and within a transaction, whose writes must not enter columns that others read.
    """
    if _store is None or question.predicate is not None or connection.in_atomic_block:
        yield None
        return
    with _store.current(scope, question, changes) as found:
        yield found
