"""Seals audit events into a hash chain (as in Schneier & Kelsey, "Secure audit logs", 1999) without delaying writers.

Every event carries `xact`, the number of the transaction that wrote it. When no running transaction has a number below
H (PostgreSQL's `pg_snapshot_xmin`), the rows below H are complete and final: in the order (xact, id), they get a seal
whose hash covers the previous seal and the digest of each row. So a row cannot appear, change or vanish inside a sealed
range unnoticed, and sealing only reads finished rows.

A dump that is restored on another cluster meets transaction numbers that start low again. Then a new era begins: the
column's default adds an offset, so that new rows come after all existing ones. Rows that were written before the server
noticed lie between sealed ones; they get a `late` seal that names them.
"""

from __future__ import annotations

import hashlib
import logging
import uuid
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from django.db import transaction

from memory.errors import Conflict
from memory.models import AuditSeal
from memory.models.locks import Lock, try_lock_in_transaction
from memory.models.queries import audit as queries

log = logging.getLogger("memos.audit")

# The most rows of one seal: their digests are in memory when it is made and when it is verified.
SEAL_ROWS = 10_000
SEALS_A_RUN = 100
# The most rows read of a seal's range; it only has more if very many were slipped in.
RANGE_ROWS = 10 * SEAL_ROWS
ID_BYTES, MARK_BYTES = 16, 8
# No cluster reaches this number: PostgreSQL did not assign a higher one.
MAX_XACT = 2**60
GENESIS = bytes(32)
BEFORE_ALL = (-1, uuid.UUID(int=0))
_VERSION = b"memos audit seal 1"

Place = tuple[int, uuid.UUID]


@dataclass(frozen=True, slots=True)
class SealedRow:
    """An event that is sealed, or about to be."""

    id: uuid.UUID
    xact: int
    digest: bytes


@dataclass(frozen=True, slots=True)
class Era:
    """The numbering of transactions: `xact` is the cluster's own number plus `offset`."""

    number: int
    offset: int
    cluster: str


def seal(*, now: datetime, limit: int = SEALS_A_RUN) -> int:
    """Seal all settled events, in at most `limit` seals, each committed; return how many events.

    Only one run works at a time: another returns 0. Without new events it seals nothing.
    """
    sealed = 0
    for _ in range(limit):
        with transaction.atomic():
            if not try_lock_in_transaction(Lock.AUDIT_SEALS):
                break
            before = last = newest_seal()
            if era := _renumber_if_needed(last, now=now):
                last = newest_seal()
            era = era or _era_of(last)
            rows = _rows(_place(last), before=queries.read_horizon() + era.offset)
            if rows:
                last = _add_seal(last, rows, era, now=now)
        sealed += (last.total if last else 0) - (before.total if before else 0)
        if len(rows) < SEAL_ROWS:
            break
    return sealed


def recognise_cluster(*, now: datetime) -> bool:
    """Begin a new era if the database was restored on another cluster; return whether it was. To be called before
    serving."""
    with transaction.atomic():
        mine = try_lock_in_transaction(Lock.AUDIT_SEALS)
        return mine and _renumber_if_needed(newest_seal(), now=now) is not None


def newest_seal() -> AuditSeal | None:
    """Return the end of the chain, without `members`."""
    return AuditSeal.objects.defer("members").first()


def seals_after(number: int) -> Iterator[AuditSeal]:
    """Yield the seals after `number`, in order, one in memory at a time."""
    while (seal := AuditSeal.objects.filter(number__gt=number).order_by("number").first()) is not None:
        yield seal
        number = seal.number


def seal_hash(seal: AuditSeal, digests: Iterable[bytes]) -> bytes:
    """Return the correct value of `seal.hash`, over its own columns, the previous seal and the rows' digests in
    order."""
    sealed_at = seal.sealed_at.astimezone(UTC).isoformat()
    head = (seal.number, seal.count, seal.total, seal.first_xact, seal.first_id, seal.last_xact, seal.last_id,
            seal.late, seal.era, seal.xact_offset, seal.cluster, sealed_at)  # fmt: skip
    made = hashlib.sha256(_VERSION + "|".join(map(str, head)).encode() + b"|" + bytes(seal.previous))
    for digest in digests:
        made.update(digest)
    return made.digest()


def rows_between(after: Place, last: Place) -> list[SealedRow]:
    """Return the events after `after` up to and including `last`, in order; at most RANGE_ROWS."""
    return [SealedRow(*row) for row in queries.list_between(after, last, limit=RANGE_ROWS)]


def list_rows(ids: Sequence[uuid.UUID]) -> list[SealedRow]:
    """Return the events with these ids, in order."""
    return [SealedRow(*row) for row in queries.list_by_id(ids)]


def members(seal: AuditSeal) -> dict[uuid.UUID, bytes]:
    """Return the ids that the seal covers, each with the beginning of its digest."""
    packed, step = bytes(seal.members), ID_BYTES + MARK_BYTES
    return {
        uuid.UUID(bytes=packed[at : at + ID_BYTES]): packed[at + ID_BYTES : at + step]
        for at in range(0, len(packed), step)
    }


def late_ids() -> set[uuid.UUID]:
    """Return the events that late seals cover: few, written in the minute after a restore."""
    return {identity for seal in AuditSeal.objects.filter(late=True) for identity in members(seal)}


def _place(seal: AuditSeal | None) -> Place:
    return (seal.last_xact, seal.last_id) if seal else BEFORE_ALL


def _era_of(seal: AuditSeal | None) -> Era:
    return Era(seal.era, seal.xact_offset, seal.cluster) if seal else Era(1, 0, queries.read_cluster())


def _rows(after: Place, *, before: int) -> list[SealedRow]:
    return [SealedRow(*row) for row in queries.list_settled(after, below=before, limit=SEAL_ROWS)]


def _add_seal(
    last: AuditSeal | None, rows: Sequence[SealedRow], era: Era, *, now: datetime, late: bool = False
) -> AuditSeal:
    """Write the next seal. A seal of late rows, or without rows, does not move the position that the chain has
    reached."""
    reached = _place(last)
    first, end = ((rows[0].xact, rows[0].id), (rows[-1].xact, rows[-1].id)) if rows and not late else (reached, reached)
    made = AuditSeal(
        number=(last.number if last else 0) + 1,
        previous=bytes(last.hash) if last else GENESIS,
        count=len(rows),
        total=(last.total if last else 0) + len(rows),
        first_xact=first[0],
        first_id=first[1],
        last_xact=end[0],
        last_id=end[1],
        members=b"".join(row.id.bytes + row.digest[:MARK_BYTES] for row in rows),
        late=late,
        era=era.number,
        xact_offset=era.offset,
        cluster=era.cluster,
        sealed_at=now,
    )
    made.hash = seal_hash(made, (row.digest for row in rows))
    made.save(force_insert=True)
    # The log is kept elsewhere, so it shows whether the chain's end was cut off later.
    log.info("audit sealed", extra={"seal": made.number, "events": made.count, "hash": made.hash.hex()})
    return made


def _renumber_if_needed(last: AuditSeal | None, *, now: datetime) -> Era | None:
    """Begin a new era if the cluster is another one or its numbers went back; return None if neither is so.

    Writers wait for it, once after a restore. Raises Conflict.
    """
    era, cluster = _era_of(last), queries.read_cluster()
    given = queries.read_next()
    if cluster == era.cluster and queries.find_highest() < given + era.offset:
        return None
    queries.lock_log()
    highest = queries.find_highest()
    if highest > MAX_XACT:
        raise Conflict(
            f"An audit event has the transaction number {highest}, which PostgreSQL never gave: someone wrote it "
            "there. It is the row of memory_auditlog with the highest `xact`."
        )
    fresh = replace(era, number=era.number + 1, offset=highest + 1, cluster=cluster)
    queries.number_from(fresh.offset)
    late = _find_unsealed(given + era.offset)
    while rows := _rows(_place(last), before=fresh.offset):
        last = _add_seal(last, rows, fresh, now=now)
    for start in range(0, len(late), SEAL_ROWS):
        last = _add_seal(last, late[start : start + SEAL_ROWS], fresh, now=now, late=True)
    if last is None or last.era != fresh.number:
        _add_seal(last, [], fresh, now=now)
    log.warning("audit era begun", extra={"era": fresh.number, "late_events": len(late)})
    return fresh


def _find_unsealed(below: int) -> list[SealedRow]:
    """Return the rows below `below` that lie in a seal's range but belong neither to it nor to a late seal."""
    known, after = late_ids(), BEFORE_ALL
    found: list[SealedRow] = []
    for seal in seals_after(0):
        if after[0] >= below:
            break
        if seal.late:
            continue
        # Counting needs only the index; writers are waiting.
        if queries.count_between(after, _place(seal)) > seal.count:
            own, inside = members(seal), rows_between(after, _place(seal))
            found += [row for row in inside if row.id not in own and row.id not in known]
        after = _place(seal)
    return found
