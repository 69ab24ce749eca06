"""Verifies the audit chain: which seals do not hold, and which of their events are missing, changed or slipped in."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime

from memory.models import AuditSeal
from memory.models.queries import audit as queries
from memory.services.audit.chain import (
    BEFORE_ALL,
    GENESIS,
    MARK_BYTES,
    Place,
    SealedRow,
    late_ids,
    list_rows,
    members,
    newest_seal,
    rows_between,
    seal_hash,
    seals_after,
)

LISTED = 20
MAX_FAULTS = 10


@dataclass(frozen=True, slots=True)
class SealFault:
    """A seal that does not hold: the problem, and the events that show it (at most LISTED of each kind)."""

    number: int
    what: str
    missing: list[uuid.UUID] = field(default_factory=list)
    changed: list[uuid.UUID] = field(default_factory=list)
    added: list[uuid.UUID] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Proof:
    """The result of a verification. `waiting` events are not sealed yet, the oldest since `waiting_since`.

    `head` is the newest seal's number and hash (hex): noted elsewhere, it shows later that the end was not cut off.
    """

    seals: int
    events: int
    total: int
    waiting: int
    waiting_since: datetime | None
    head: tuple[int, str] | None
    faults: list[SealFault]


def verify(*, newest: int | None = None) -> Proof:
    """Recompute the hashes, seal by seal from the first (or of about the `newest` events), with one seal in memory at a
    time.

    Stops at MAX_FAULTS.
    """
    head = newest_seal()
    start = _predecessor(head.total - newest) if head and newest is not None else None
    late = late_ids()
    before, after = start, _end(start)
    seals = events = 0
    faults: list[SealFault] = []
    for seal in seals_after(start.number if start else 0):
        faults += _faults(seal, before, after, late)
        if len(faults) >= MAX_FAULTS:
            break
        seals, events, before, after = seals + 1, events + seal.count, seal, _end(seal)
    waiting, since = queries.count_after(_end(head))
    return Proof(
        seals, events, head.total if head else 0, waiting, since,
        (head.number, bytes(head.hash).hex()) if head else None, faults,
    )  # fmt: skip


def holds_at(number: int, digest: str) -> bool:
    """Return whether seal `number` exists with the hash `digest` (hex), as noted down earlier."""
    seal = AuditSeal.objects.filter(number=number).defer("members").first()
    return seal is not None and bytes(seal.hash).hex() == digest.lower()


def _predecessor(total: int) -> AuditSeal | None:
    """Return the newest seal that ends at `total` events or before."""
    return AuditSeal.objects.filter(total__lte=max(total, 0)).defer("members").first()


def _end(seal: AuditSeal | None) -> Place:
    return (seal.last_xact, seal.last_id) if seal else BEFORE_ALL


def _faults(seal: AuditSeal, before: AuditSeal | None, after: Place, late: set[uuid.UUID]) -> Iterator[SealFault]:
    expected = (before.number if before else 0) + 1
    if seal.number != expected:
        gone = f"seal {expected} is" if seal.number == expected + 1 else f"seals {expected} to {seal.number - 1} are"
        yield SealFault(expected, f"{gone} missing")
        # The previous seal is missing, so take the beginning from the seal itself.
        after = (seal.first_xact, uuid.UUID(int=max(seal.first_id.int - 1, 0)))
    elif bytes(seal.previous) != (bytes(before.hash) if before else GENESIS):
        yield SealFault(seal.number, "it does not follow the seal before it")
    own = members(seal)
    rows = list_rows(list(own)) if seal.late else [r for r in rows_between(after, _end(seal)) if r.id not in late]
    if seal_hash(seal, (row.digest for row in rows)) != bytes(seal.hash):
        yield _explain_fault(seal, own, rows)


def _explain_fault(seal: AuditSeal, own: dict[uuid.UUID, bytes], rows: list[SealedRow]) -> SealFault:
    # Look them up by their ids too: a row whose `xact` was changed lies elsewhere.
    there = {row.id: row.digest for row in (*rows, *list_rows(list(own)))}
    missing = [identity for identity in own if identity not in there]
    changed = [identity for identity, mark in own.items() if there.get(identity, mark)[:MARK_BYTES] != mark]
    added = [identity for identity in there if identity not in own]
    counts = {"missing": len(missing), "changed": len(changed), "slipped in": len(added)}
    what = ", ".join(f"{count} {word}" for word, count in counts.items() if count)
    return SealFault(
        seal.number,
        f"of its {seal.count} events {what}" if what else "its events are there, but the seal itself was changed",
        missing[:LISTED],
        changed[:LISTED],
        added[:LISTED],
    )
