"""Carries an erasure out in batches. It resumes after a kill, is idempotent, and ends with a proof.

It stays correct next to concurrent work as follows:
- The request has recorded the ids (`ErasedMemory`); from then on no query stores a pack with one of them.
- Locks are taken in one order: erasure, documents, memories by id, counters; or erasure, sessions in the order of
  `services/index/insert.py`. Writers lock sessions, then counters.
- A summary is stored under its session's lock, and only while its turns and the card before it exist; sessions are
  settled under the same lock after the memories are gone.
- Holds are checked with a batch's memories locked. Before the first batch a hold refuses the erasure; after that,
  memories that came under a hold are taken out of it and kept, and the receipt counts them.
- Before packs are swept, the erasure waits for every statement that stores packs and began before the ids were
  recorded.
- An activation cache repeats its memories: its file is deleted, then its row; while a worker uses it, or only another
  machine has its folder, the erasure waits.
- The ledger outside of the database (`memory.ledger`) records the erasure before the first row is deleted, and its end
  before the receipt does; while it cannot be written, the erasure waits.
"""

from __future__ import annotations

import logging
import time
import traceback
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from typing import Any

import psycopg
from django.db import OperationalError, connection, transaction
from django.db.models import F

from memory import audit, ledger
from memory.enums import AuditEvent, ErasedSessionState, ErasureStatus
from memory.errors import Conflict, WindowUnavailable
from memory.ledger import LedgerUnavailable
from memory.models import Document, DocumentChunk, ErasedMemory, ErasedSession, Erasure, Memory
from memory.models.locks import Lock, lock_in_transaction, try_lock
from memory.models.sql import read_clock
from memory.services.activation.erased import drop_held
from memory.services.erasure import proof as erasure_proof
from memory.services.erasure import sessions, words
from memory.services.erasure.facts import read_preferences_again, take_down_late
from memory.services.erasure.holder import Erased, Sweep
from memory.services.erasure.holders import CACHES, HOLDERS, drop_dumps
from memory.services.erasure.requests import JOB_SECONDS, OPEN, refuse_held
from memory.services.erasure.sessions import CONSOLE, WINDOW, WORKING
from memory.services.index.recount import differences
from memory.services.jobs import queue
from memory.services.memories import recompare
from memory.services.tenancy import holds
from memory.services.training.unlearn import list_unlearned, unlearn
from memory.stores import index_holders

log = logging.getLogger("memos.erasing")

BATCH = 500
MAX_ATTEMPTS = 10
DEADLOCK_TRIES = 5
REDIS_AWAY = "Redis does not answer: session windows may hold messages until it does, or until they expire."
# Queries cannot store packs while this lock is waited for.
BARRIER_MILLISECONDS = 2_000

Clock = Callable[[], datetime]


class _Later(Exception):
    """The job's time is over; the next job continues."""


class _StillHeld(Exception):
    """Erased data still exists, or exists again."""


def carry_out(
    *,
    namespace_id: int,
    erasure_id: uuid.UUID,
    now: Clock,
    seconds: float = JOB_SECONDS / 2,
) -> bool:
    """Erase the memories that the erasure names, prove it and finish the receipt.

    Returns False when another process does so, or when there is nothing (more) to do. After `seconds` it queues the
    rest. Obstacles are recorded on the receipt, and `requests.request_lost` retries.
    """
    with _claim(namespace_id, erasure_id, now=now) as erasure:
        if erasure is None:
            return False
        erased = Erased.of(erasure)
        try:
            waits = _Run(erasure, erased, now, time.monotonic() + seconds).all()
            if not waits:
                waits = _finish(erasure, erased, now=now())
            if waits:
                _wait(erasure, waits)
        except _Later:
            _row(erasure).update(queued_at=now())
            queue.enqueue(queue.ERASE, namespace_id, str(erasure_id), seconds=JOB_SECONDS)
        except Conflict as refusal:
            _fail(erasure, refusal.message, now=now())
        except LedgerUnavailable as away:
            _wait(erasure, away.message)
        except Exception as error:
            # Neither raise nor log the message, because the message of a database error may quote a row.
            place = traceback.extract_tb(error.__traceback__)[-1]
            reason = str(error) if isinstance(error, _StillHeld) else type(error).__name__
            log.error(
                "erasure interrupted",
                extra={"erasure": str(erasure_id), "reason": reason, "place": f"{place.name}:{place.lineno}"},
            )
            _try_again(erasure, reason, now=now())
        return True


class _Run:
    """One run: every step continues from an earlier run, and does nothing if that run finished it."""

    def __init__(self, erasure: Erasure, erased: Erased, now: Clock, deadline: float) -> None:
        self._erasure = erasure
        self._erased = erased
        self._now = now
        self._deadline = deadline

    def all(self) -> str:
        """Take every step; return what the erasure waits for, or ''. Raises _Later, Conflict, _StillHeld."""
        erasure, erased = self._erasure, self._erased
        needles = words.collect(erased, after=erasure.cleared_to)
        if not erasure.holders:
            self._step(partial(self._take_down_copies, needles))
            refuse_held(erased.scope, erased.id)
            ledger.note_begin(erasure)
            _row(erasure).update(holders=erasure_proof.count_holders(erased))
        asked = erasure_proof.probes(erased, after=erasure.cleared_to, now=self._now())
        found_before = erasure_proof.count_found(erased, asked)
        self._step(self._read_preferences_again)
        while self._step(self._clear_batch):
            self._in_time()
        while self._step(lambda row: sessions.settle(erased)):
            self._in_time()
        barrier = _barrier()
        self._sweep()
        waits = [barrier, unlearn(erased.scope, erasure_id=erased.id, now=self._now())]
        found_after = erasure_proof.count_found(erased, asked)
        self._keep_search(searched=len(asked), before=found_before, after=found_after)
        for made in sessions.rebuild(erased, now=self._now):
            row = _row(erasure).get()
            _row(erasure).update(summaries=row.summaries + made)
            self._in_time()
        waits += [self._clear_windows(), self._drop_caches()]
        waiting = " ".join(filter(None, waits))
        if not waiting:
            self._step(lambda row: words.clear(erased, needles))
            self._keep_words(words.look(erased, needles))
            # Web processes hold the index of namespaces in memory.
            index_holders.wait_until_confirmed(erasure.namespace_id, read_clock())
        return waiting

    def _in_time(self) -> None:
        if time.monotonic() > self._deadline:
            raise _Later

    def _step(self, act: Callable[[Erasure], Counter[str] | None]) -> bool:
        """Run `act` in a transaction and add its counts to the receipt; return False when `act` had nothing to do."""
        for tries in range(1, DEADLOCK_TRIES + 1):
            try:
                with transaction.atomic():
                    row = _row(self._erasure).select_for_update().get()
                    done = act(row)
                    if done is None:
                        return False
                    for name, number in done.items():
                        entry = row.holders.setdefault(name, {})
                        entry["cleared"] = entry.get("cleared", 0) + number
                    row.save(update_fields=["holders", "cleared_to"])
                    return True
            except OperationalError as error:
                if not isinstance(error.__cause__, psycopg.errors.DeadlockDetected) or tries == DEADLOCK_TRIES:
                    raise
        raise AssertionError("unreachable")

    def _take_down_copies(self, needles: Sequence[str], row: Erasure) -> Counter[str]:
        if copies := words.take_down_copies(self._erased, needles):
            _row(row).update(found=F("found") + copies)
        return Counter()

    def _read_preferences_again(self, row: Erasure) -> Counter[str]:
        read_preferences_again(self._erased)
        return Counter()

    def _clear_batch(self, row: Erasure) -> Counter[str] | None:
        named = ErasedMemory.objects.in_scope(self._erased.scope).filter(erasure_id=row.id).order_by("memory_id")
        if row.cleared_to is not None:
            named = named.filter(memory_id__gt=row.cleared_to)
        ids = list(named.values_list("memory_id", flat=True)[:BATCH])
        if not ids:
            return None
        _lock(self._erased, ids)
        row.cleared_to = ids[-1]
        # These holds were placed after the request, when earlier batches may be gone. The traces of those batches still
        # have to be swept, so the erasure continues without the held memories.
        if kept := set(holds.under_hold(row.namespace_id, ids)):
            named.filter(memory_id__in=kept).delete()
            entry = row.holders.setdefault("memory_memory", {})
            entry["kept"] = entry.get("kept", 0) + len(kept)
            ids = [identity for identity in ids if identity not in kept]
            if not ids:
                return Counter()
        ids = [*ids, *take_down_late(self._erased, ids)]
        now = self._now()
        recompare.ask_of_authors(self._erased.scope.namespace_id, ids)
        return Counter({holder.name: holder.clear(self._erased, ids, now) for holder in HOLDERS if holder.clear})

    def _sweep(self) -> None:
        for holder in HOLDERS:
            if holder.sweep is not None:
                self._step(partial(self._run_sweep, holder.name, holder.sweep))

    def _run_sweep(self, name: str, sweep: Sweep, row: Erasure) -> Counter[str]:
        done = sweep(self._erased)
        return done if isinstance(done, Counter) else Counter({name: done})

    def _clear_windows(self) -> str:
        try:
            self._step(lambda row: Counter({WINDOW: sessions.clear_windows(self._erased)}))
            self._step(lambda row: Counter({WORKING: sessions.clear_working_memory(self._erased)}))
            self._step(lambda row: Counter({CONSOLE: sessions.clear_probes(self._erased)}))
        except WindowUnavailable:
            return REDIS_AWAY
        return ""

    def _drop_caches(self) -> str:
        """Delete the activation caches that contain erased memories; return what the deletion waits for, or ''."""
        erased, waits = self._erased, []

        def drop(row: Erasure) -> Counter[str]:
            done = drop_held(
                erased.scope, erasure_id=erased.id, whole=erased.whole_namespace, asked_at=erased.asked_at,
                now=self._now(),
            )  # fmt: skip
            waits.append(done.waits)
            return Counter({CACHES: done.dropped})

        try:
            self._step(drop)
        except (Conflict, OSError) as error:
            return (
                f"The folder of activation caches cannot be written ({type(error).__name__}): see MEMOS_ACTIVATION_DIR."
            )
        return waits[-1]

    def _keep_search(self, *, searched: int, before: int, after: int) -> None:
        """Add the search results of this run. A run after a kill searches only for the memories that it clears
        itself."""
        row = _row(self._erasure).get()
        former = row.proof.get("search", {"searched": 0, "found_before": 0, "found_after": 0})
        search = {
            "searched": former["searched"] + searched,
            "found_before": former["found_before"] + before,
            "found_after": after,
        }
        _row(self._erasure).update(proof={**row.proof, "search": search})

    def _keep_words(self, looked: Mapping[str, Any]) -> None:
        """Add where this run found the words of the memories that it cleared itself."""
        row = _row(self._erasure).get()
        former = row.proof.get("words", {"searched": 0, "said_by_others": 0, "memory_ids": [], "found": {}, "left": 0})
        added = {name: former[name] + looked[name] for name in ("searched", "said_by_others", "left")}
        ids = list(dict.fromkeys([*former["memory_ids"], *looked["memory_ids"]]))
        found = Counter(former["found"])
        found.update(looked["found"])
        _row(self._erasure).update(proof={**row.proof, "words": {**added, "memory_ids": ids, "found": dict(found)}})


def _lock(erased: Erased, memory_ids: list[uuid.UUID]) -> None:
    lock_in_transaction(Lock.VECTORS, erased.scope.namespace_id)
    chunks = DocumentChunk.objects.in_scope(erased.scope).filter(memory_id__in=memory_ids)
    documents = Document.objects.in_scope(erased.scope).filter(id__in=chunks.values("document_key"))
    memories = Memory.objects.in_scope(erased.scope).filter(pk__in=memory_ids)
    list(documents.order_by("id").select_for_update().values_list("id"))
    list(memories.order_by("pk").select_for_update().values_list("pk"))


def _barrier() -> str:
    """Wait for every earlier statement that stores a pack; return a message if one does not end, else ''."""
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(f"SET LOCAL lock_timeout = {BARRIER_MILLISECONDS}")
            cursor.execute("LOCK TABLE memory_contextpack IN SHARE MODE")
    except OperationalError as error:
        if not isinstance(error.__cause__, psycopg.errors.LockNotAvailable):
            raise
        return "A transaction that writes context packs does not end."
    return ""


def _finish(erasure: Erasure, erased: Erased, *, now: datetime) -> str:
    """Count every holder again and finish the erasure, or return what it waits for. Raises _StillHeld."""
    left = {name: entry["counted"] for name, entry in erasure_proof.count_holders(erased).items()}
    if None in (left[WINDOW], left[WORKING], left[CONSOLE]):
        return REDIS_AWAY
    with transaction.atomic():
        row = _row(erasure).select_for_update().get()
        for name, number in left.items():
            row.holders.setdefault(name, {}).update(left=number)
            row.holders[name].setdefault("cleared", 0)
        row.proof = {
            **row.proof,
            "left": sum(number or 0 for number in left.values()),
            "counters_exact": not differences([erased.scope.namespace_id]),
            "audit": erasure_proof.count_audit_events(erased),
            "training": list_unlearned(erased.scope, erasure_id=erased.id),
        }
        row.save(update_fields=["holders", "proof"])
    holding = [name for name, number in left.items() if number]
    if row.proof["words"]["left"]:
        holding.append("what the server wrote: proof.words says where")
    if holding or row.proof["search"]["found_after"]:
        raise _StillHeld(f"Still held by: {', '.join(holding) or 'the search'}.")
    ledger.note_end(row, ErasureStatus.FINISHED)
    with transaction.atomic():
        _row(erasure).select_for_update().get()
        # A dump that was read before the erasure may have been stored since the holders were counted.
        drop_dumps(erased)
        _row(erasure).update(status=ErasureStatus.FINISHED, finished_at=now, waiting_for="", error="")
        _record(row, ErasureStatus.FINISHED, {"proof": row.proof, "summaries": row.summaries}, now=now)
    return ""


def _try_again(erasure: Erasure, reason: str, *, now: datetime) -> None:
    """Restart the erasure from its beginning, at most MAX_ATTEMPTS times."""
    with transaction.atomic():
        row = _row(erasure).select_for_update().get()
        if row.attempts + 1 >= MAX_ATTEMPTS:
            _fail(erasure, reason, now=now)
            return
        ErasedSession.objects.in_scope(Erased.of(erasure).scope).filter(erasure_id=erasure.id).update(
            state=ErasedSessionState.OPEN
        )
        _row(erasure).update(
            status=ErasureStatus.WAITING,
            waiting_for=f"The next try, after: {reason}"[:200],
            attempts=row.attempts + 1,
            cleared_to=None,
        )


def _wait(erasure: Erasure, what: str) -> None:
    _row(erasure).update(status=ErasureStatus.WAITING, waiting_for=what[:200])


def _fail(erasure: Erasure, reason: str, *, now: datetime) -> None:
    """Finish the erasure as failed, or have it wait while the ledger cannot record which memories are gone."""
    try:
        ledger.note_end(_row(erasure).get(), ErasureStatus.FAILED)
    except LedgerUnavailable as away:
        _wait(erasure, away.message)
        return
    with transaction.atomic():
        _row(erasure).update(status=ErasureStatus.FAILED, error=reason[:300], waiting_for="", finished_at=now)
        _record(erasure, ErasureStatus.FAILED, {"reason": reason}, now=now)


def _record(erasure: Erasure, status: ErasureStatus, details: Mapping[str, Any], *, now: datetime) -> None:
    cleared = {name: entry.get("cleared", 0) for name, entry in erasure.holders.items()}
    audit.record(
        Erased.of(erasure).scope,
        AuditEvent.ERASURE_FINISH,
        session=erasure.session,
        subject=str(erasure.id),
        details={"status": status, "target": erasure.target, "cleared": cleared, **details},
        now=now,
    )


@contextmanager
def _claim(namespace_id: int, erasure_id: uuid.UUID, *, now: Clock) -> Iterator[Erasure | None]:
    """Yield the erasure if the caller is to carry it out, else None."""
    with try_lock(Lock.ERASURE, erasure_id) as mine:
        if not mine:
            yield None
            return
        erasure = Erasure.objects.filter(namespace_id=namespace_id, id=erasure_id, status__in=OPEN).first()
        if erasure is not None:
            erasure.started_at = erasure.started_at or now()
            erasure.status = ErasureStatus.RUNNING
            erasure.waiting_for = ""
            erasure.save(update_fields=["status", "started_at", "waiting_for"])
        yield erasure


def _row(erasure: Erasure) -> Any:
    return Erasure.objects.filter(namespace_id=erasure.namespace_id, id=erasure.id)
