"""Ingests turns of a file, each only once: in one transaction with the record that it was imported."""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from django.db import IntegrityError, transaction

from memory import audit
from memory.enums import GateDecision
from memory.errors import InvalidInput
from memory.models import ImportedTurn, Memory, QuarantinedItem
from memory.services.imports.source import SourceTurn
from memory.services.ingestion.ingest import ingest_batch
from memory.types import Outcome, Scope

BATCH = 200
# The attempts to import the same turns concurrently: the second import looks them up again.
_ATTEMPTS = 3


@dataclass(slots=True)
class ImportCounts:
    """The numbers of turns by outcome: `new` memories, some of them `redacted`; `present` from an earlier import;
    `gone`, imported once and deleted since, which are not restored; and `quarantined` or `rejected` by the gate.
    `degraded`: as in `Ingested`."""

    turns: int = 0
    new: int = 0
    present: int = 0
    gone: int = 0
    redacted: int = 0
    quarantined: int = 0
    rejected: int = 0
    degraded: set[str] = field(default_factory=set)

    def add(self, other: ImportCounts) -> None:
        """Add the counts of `other`."""
        for name in ("turns", "new", "present", "gone", "redacted", "quarantined", "rejected"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.degraded |= other.degraded


def take_in(
    scope: Scope,
    turns: Sequence[SourceTurn],
    *,
    now: datetime,
    record: Callable[[ImportCounts], None] = lambda _: None,
) -> ImportCounts:
    """Remember the `turns` that were not imported before. `record` is called within each transaction that stores some
    of them, with their counts."""
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            return _take_in(scope, turns, now=now, record=record)
        except IntegrityError:
            if attempt == _ATTEMPTS:
                raise
        except InvalidInput:
            # The gate refuses the name of a session: import the turns of the others.
            if len(turns) == 1:
                return _reject(turns, record=record)
            half = len(turns) // 2
            counts = take_in(scope, turns[:half], now=now, record=record)
            counts.add(take_in(scope, turns[half:], now=now, record=record))
            return counts
    raise AssertionError("unreachable")


def in_batches(turns: Iterable[SourceTurn]) -> Iterator[list[SourceTurn]]:
    """Yield the turns, BATCH at a time."""
    waiting = iter(turns)
    while batch := list(itertools.islice(waiting, BATCH)):
        yield batch


def count_known(scope: Scope, turns: Sequence[SourceTurn]) -> int:
    """Return how many of the turns were imported before."""
    return len(_find_known(scope, [_key_of(scope, turn) for turn in turns]))


def _take_in(
    scope: Scope, turns: Sequence[SourceTurn], *, now: datetime, record: Callable[[ImportCounts], None]
) -> ImportCounts:
    keyed = {_key_of(scope, turn): turn for turn in reversed(turns)}
    known = _find_known(scope, list(keyed))
    fresh = {key: keyed[key] for key in reversed(keyed) if key not in known}
    gone = len(known) - _count_kept(scope, list(known.values()))
    counts = ImportCounts(turns=len(turns), present=len(turns) - len(fresh) - gone, gone=gone)
    if not fresh:
        with transaction.atomic():
            record(counts)
        return counts

    def write_down(outcomes: Sequence[Outcome]) -> None:
        came = zip(fresh, outcomes, strict=True)
        ImportedTurn.objects.bulk_create(
            ImportedTurn(namespace_id=scope.namespace_id, key=key, memory_id=outcome.memory_id)
            for key, outcome in came
            if outcome.memory_id
        )
        verdicts = [outcome.verdict for outcome in outcomes]
        counts.new = sum(verdict.lets_in for verdict in verdicts)
        counts.redacted = verdicts.count(GateDecision.ACCEPT_REDACTED)
        counts.quarantined = verdicts.count(GateDecision.QUARANTINE)
        counts.rejected = verdicts.count(GateDecision.REJECT)
        record(counts)

    answer = ingest_batch([(scope, turn.memory) for turn in fresh.values()], now=now, beside=write_down)
    counts.degraded = set(answer.degraded)
    return counts


def _reject(turns: Sequence[SourceTurn], *, record: Callable[[ImportCounts], None]) -> ImportCounts:
    counts = ImportCounts(turns=len(turns), rejected=len(turns))
    with transaction.atomic():
        record(counts)
    return counts


def _key_of(scope: Scope, turn: SourceTurn) -> uuid.UUID:
    return uuid.UUID(audit.hash_words(scope, "import", turn.key)[:32])


def _find_known(scope: Scope, keys: Sequence[uuid.UUID]) -> dict[uuid.UUID, uuid.UUID]:
    rows = ImportedTurn.objects.in_scope(scope).filter(key__in=keys)
    return dict(rows.values_list("key", "memory_id"))


def _count_kept(scope: Scope, ids: Sequence[uuid.UUID]) -> int:
    """Return how many of the memories exist, or wait in the quarantine."""
    if not ids:
        return 0
    kept = set(Memory.objects.in_scope(scope).filter(pk__in=ids).values_list("pk", flat=True))
    waiting = QuarantinedItem.objects.in_scope(scope).filter(id__in=set(ids) - kept)
    return len(kept) + waiting.count()
