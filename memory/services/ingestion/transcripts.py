"""Imports the turns of a transcript, each exactly once, even if an earlier import was interrupted."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime

import orjson

from memory.errors import Conflict, IdempotencyConflict
from memory.models import Memory
from memory.services.ingestion.ingest import ingest_batch
from memory.types import Idempotency, NewMemory, Scope

# Stored keys contain the ranges of batches: with another size, files imported before would be imported again.
BATCH = 200


@dataclass(slots=True)
class Imported:
    """The numbers of turns by outcome: `new`; `present` from an earlier import; `gone`, imported earlier and deleted
    since, which are not restored; `kept_out`, quarantined or rejected by the gate in this import. `degraded`: as in
    `Ingested`."""

    new: int = 0
    present: int = 0
    gone: int = 0
    kept_out: int = 0
    degraded: set[str] = field(default_factory=set)


def import_turns(
    scope: Scope,
    *,
    turns: Sequence[NewMemory],
    source: str,
    clock: Callable[[], datetime],
    progress: Callable[[int], None] = lambda _: None,
) -> Imported:
    """Remember `turns` in their order, BATCH at a time; summaries are requested as with every other ingest.

    `source` is the SHA-256 (hex) of the file: batches that the namespace has already are skipped, so an interrupted
    import continues where it ended. `progress(turns)` is called after every batch. Raises Conflict when the file was
    imported into the namespace before with other options, so that the same batches hold other turns.
    """
    done = Imported()
    for start in range(0, len(turns), BATCH):
        batch = turns[start : start + BATCH]
        key = Idempotency(
            # Use the id, not the name: a namespace that was deleted and created again is another one.
            principal=f"import:{source}:{scope.namespace_id}",
            key=f"{start}-{start + len(batch)}",
            body_hash=hashlib.sha256(orjson.dumps([asdict(turn) for turn in batch])).hexdigest(),
            keep_forever=True,
        )
        try:
            answer = ingest_batch([(scope, turn) for turn in batch], now=clock(), idempotency=key)
        except IdempotencyConflict as error:
            raise Conflict(
                f"This file was imported into {scope.namespace!r} before with other options (session, format, skipped "
                "lines): use the same ones, or another namespace."
            ) from error
        if answer.replayed:
            kept = _count_kept(scope, answer.memory_ids)
            done.present += kept
            done.gone += len(answer.memory_ids) - kept
        else:
            done.new += len(answer.memory_ids)
            done.kept_out += len(batch) - len(answer.memory_ids)
        done.degraded |= set(answer.degraded)
        progress(len(batch))
    return done


def _count_kept(scope: Scope, memory_ids: Sequence[uuid.UUID]) -> int:
    return Memory.objects.in_scope(scope).filter(pk__in=memory_ids).count()
