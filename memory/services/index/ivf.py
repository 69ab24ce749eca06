"""Files the vectors of a large namespace in cells and keeps the cells even, for `memory.retrieval.arms.near_cells`.

Every step is a transaction that leaves each vector either marked as not filed or held by a cell: a search finds it
before, during and after.
"""

from __future__ import annotations

import time
import uuid
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import numpy as np
from django.db import connection, transaction

from memory.models import VectorCell, VectorMap
from memory.models.keys import new_id
from memory.models.locks import Lock, lock_in_transaction
from memory.retrieval import cells
from memory.types import Scope

# Fewer are not worth a transaction: a search compares them in a fraction of a millisecond.
FILE_AT_LEAST = 200
FILED_AT_ONCE = 20_000
# Cells that are made at first; where they become too full they are split.
FIRST_CELLS = 1024
SAMPLED_PER_CELL = 32
LARGEST = 2 * cells.VECTORS_PER_CELL
SMALLEST = cells.VECTORS_PER_CELL // 8
# How often a cell's members are compared with the vectors: those of deleted and edited memories go.
REFRESH_EVERY = timedelta(days=1)
# After memories were deleted, sooner; not at each run, for a client may replace documents all the time.
PURGE_EVERY = timedelta(minutes=10)
# From the time that a deletion is given to its commit.
DELETING_TAKES = timedelta(minutes=1)
LOOKED_AT_ONCE = 500
_LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)


class Place(NamedTuple):
    """A namespace and the model of the vectors."""

    namespace_id: int
    model_id: int


@dataclass(frozen=True, slots=True)
class _Cell:
    number: int
    centroid: np.ndarray
    members: np.ndarray


def file(place: Place, *, now: datetime, deadline: float) -> int:
    """Puts the vectors that no cell holds into the nearest cells, and makes the cells first; returns how many.

    Ends when few are left, or at `deadline` (monotonic seconds).
    """
    filed = 0
    while time.monotonic() < deadline:
        waiting = _unfiled(place)
        if len(waiting.ids) < FILE_AT_LEAST:
            break
        centroids = _centroids(place)
        if centroids is None:
            _make_cells(place, now=now)
            continue
        filed += _put(place, waiting, *centroids)
    return filed


def even_out(place: Place, *, now: datetime, deadline: float) -> int:
    """Splits cells that are too full, joins what is left of empty ones to others, and drops members that are gone.

    Returns how many cells were looked at. Ends at `deadline` (monotonic seconds).
    """
    looked_at = 0
    while due := _due(place, now=now):
        for number in due:
            if time.monotonic() > deadline:
                return looked_at
            _even_out(place, _read_cell(place, number), now=now)
            looked_at += 1
    return looked_at


def refresh_soon(scope: Scope, *, now: datetime) -> None:
    """Has the worker look through all cells of the namespace within PURGE_EVERY: memories were deleted.

    Belongs at the end of the transaction that deletes them: it changes one row for each model.
    """
    VectorMap.objects.in_scope(scope).update(deleted_at=now)


def members_among(scope: Scope, memory_ids: Collection[bytes]) -> int:
    """How many members of the namespace's cells, under every model, are of these memories (by the 16 bytes of an id).

    Reads all members: 72 bytes a memory with 384 dimensions.
    """
    return sum(len(rows) for *_, rows in _holding(scope, memory_ids))


def drop_members(scope: Scope, memory_ids: Collection[bytes]) -> int:
    """Takes these memories' members out of the cells; returns how many. Their vectors must be gone already.

    Belongs inside `try_lock(Lock.IVF_LISTS)`. A cell that lost members is looked through again by the next
    run, which joins what is left of a small one to others, so that no centroid of a few erased vectors stays.
    """
    dropped = 0
    for place, number, records, rows in _holding(scope, memory_ids):
        kept = np.delete(records, rows)
        VectorCell.objects.filter(**place._asdict(), number=number).update(
            members=kept.tobytes(), size=len(kept), refreshed_at=_LONG_AGO
        )
        dropped += len(rows)
    return dropped


def _holding(scope: Scope, memory_ids: Collection[bytes]) -> Iterator[tuple[Place, int, np.ndarray, list[int]]]:
    """The cells that hold members of these memories: place, number, all records, and the rows of theirs among them."""
    keys = list(VectorCell.objects.in_scope(scope).order_by("model_id", "number").values_list("model_id", "number"))
    for start in range(0, len(keys), LOOKED_AT_ONCE):
        models, numbers = zip(*keys[start : start + LOOKED_AT_ONCE], strict=True)
        for model_id, number, size, members in _read(
            """
            SELECT c.model_id, c.number, c.size, c.members
            FROM memory_vectorcell c
            JOIN unnest(%s::smallint[], %s::int[]) AS k (model_id, number) USING (model_id, number)
            WHERE c.namespace_id = %s AND c.size > 0
            """,
            [list(models), list(numbers), scope.namespace_id],
        ):
            # A record begins with the memory's id (`cells.member_dtype`); how long it is, the model says.
            rest = len(members) // size - 16
            records = np.frombuffer(members, dtype=[("id", "V16"), ("rest", f"V{rest}")])
            rows = [row for row, identity in enumerate(records["id"]) if identity.tobytes() in memory_ids]
            if rows:
                yield Place(scope.namespace_id, model_id), number, records, rows


@dataclass(frozen=True, slots=True)
class _Waiting:
    """Vectors that no cell holds: the place and version of each row, its memory, float32 [rows, dimensions]."""

    places: list[str]
    versions: list[str]
    ids: list[uuid.UUID]
    vectors: np.ndarray


def _unfiled(place: Place) -> _Waiting:
    rows = _read(
        """
        SELECT ctid::text, xmin::text, memory_id, halfvec_send(embedding) FROM memory_memoryvector
        WHERE namespace_id = %s AND model_id = %s AND NOT filed LIMIT %s
        """,
        [*place, FILED_AT_ONCE],
    )
    return _Waiting(
        [row[0] for row in rows], [row[1] for row in rows], [row[2] for row in rows], _vectors(row[3] for row in rows)
    )


def _centroids(place: Place, *, other_than: int = 0) -> tuple[np.ndarray, np.ndarray] | None:
    """(numbers, float32 centroids) of the cells, which count from 1; None when there are none."""
    rows = _read(
        """
        SELECT number, centroid FROM memory_vectorcell
        WHERE namespace_id = %s AND model_id = %s AND number <> %s ORDER BY number
        """,
        [*place, other_than],
    )
    if not rows:
        return None
    centroids = np.frombuffer(b"".join(row[1] for row in rows), dtype="<f2").reshape(len(rows), -1)
    return np.array([row[0] for row in rows]), centroids.astype(np.float32)


def _make_cells(place: Place, *, now: datetime) -> None:
    """Makes the first cells, empty, from a sample of the vectors."""
    [(total,)] = _read("SELECT count(*) FROM memory_memoryvector WHERE namespace_id = %s AND model_id = %s", place)
    wanted = max(1, min(FIRST_CELLS, total // cells.VECTORS_PER_CELL))
    sample = _read(
        """
        SELECT halfvec_send(embedding) FROM memory_memoryvector
        WHERE namespace_id = %s AND model_id = %s AND random() < %s
        """,
        [*place, wanted * SAMPLED_PER_CELL / total],
    )
    centroids = cells.train(_vectors(row[0] for row in sample), wanted).astype("<f2")
    with transaction.atomic():
        _add_cells(place, [_Cell(i, c, _no_members(c)) for i, c in enumerate(centroids, 1)], now=now)
        _renew(place)


def _put(place: Place, waiting: _Waiting, numbers: np.ndarray, centroids: np.ndarray) -> int:
    """Adds vectors to their nearest cells. A row that has changed since it was read is left for the next time."""
    nearest = cells.nearest_centroids(waiting.vectors, centroids)
    with transaction.atomic():
        lock_in_transaction(Lock.VECTORS, place.namespace_id)
        marked = _read(
            """
            UPDATE memory_memoryvector v SET filed = true
            FROM unnest(%s::tid[], %s::text[]) WITH ORDINALITY AS w (place, version, position)
            WHERE v.ctid = w.place AND v.xmin::text = w.version AND NOT v.filed
            RETURNING w.position - 1
            """,
            [waiting.places, waiting.versions],
        )
        kept = np.sort(np.array([row[0] for row in marked], dtype=np.int64))
        records = cells.members([waiting.ids[row] for row in kept], waiting.vectors[kept], centroids[nearest[kept]])
        _append(place, numbers[nearest[kept]], records)
    return len(kept)


def _append(place: Place, numbers: np.ndarray, records: np.ndarray) -> None:
    """Adds each record to the cell with the number in the same place."""
    order = np.argsort(numbers, kind="stable")
    touched, starts = np.unique(numbers[order], return_index=True)
    parts = np.split(records[order], starts[1:])
    with connection.cursor() as cursor:
        cursor.execute(
            """
            UPDATE memory_vectorcell c SET members = c.members || a.members, size = c.size + a.size
            FROM unnest(%s::int[], %s::bytea[], %s::int[]) AS a (number, members, size)
            WHERE c.namespace_id = %s AND c.model_id = %s AND c.number = a.number
            """,
            [touched.tolist(), [part.tobytes() for part in parts], [len(part) for part in parts], *place],
        )


def _due(place: Place, *, now: datetime) -> list[int]:
    """The cells that are too full, then those not compared for long or since memories were deleted; some of them."""
    rows = _read(
        """
        SELECT c.number
        FROM memory_vectorcell c
        JOIN memory_vectormap m ON m.namespace_id = c.namespace_id AND m.model_id = c.model_id
        WHERE c.namespace_id = %s AND c.model_id = %s AND (
            c.size > greatest(%s, 2 * c.lump) OR c.refreshed_at < %s
            OR m.deleted_at IS NOT NULL AND c.refreshed_at < least(m.deleted_at + %s, %s)
        )
        ORDER BY c.size > %s DESC, c.refreshed_at LIMIT %s
        """,
        [*place, LARGEST, now - REFRESH_EVERY, DELETING_TAKES, now - PURGE_EVERY, LARGEST, LOOKED_AT_ONCE],
    )
    return [row[0] for row in rows]


def _read_cell(place: Place, number: int) -> _Cell:
    [(centroid, members)] = _read(
        "SELECT centroid, members FROM memory_vectorcell WHERE namespace_id = %s AND model_id = %s AND number = %s",
        [*place, number],
    )
    middle = np.frombuffer(centroid, dtype="<f2")
    return _Cell(number, middle, np.frombuffer(members, dtype=cells.member_dtype(len(middle))))


def _even_out(place: Place, cell: _Cell, *, now: datetime) -> None:
    ids, vectors = _live(place, cell)
    if len(ids) > LARGEST and (parts := _split(place, ids, vectors)):
        with transaction.atomic():
            _remove(place, cell)
            _add_cells(place, parts, now=now)
            _renew(place)
    elif len(ids) < SMALLEST and (others := _centroids(place, other_than=cell.number)):
        numbers, centroids = others
        nearest = cells.nearest_centroids(vectors, centroids)
        with transaction.atomic():
            _remove(place, cell)
            _append(place, numbers[nearest], cells.members(ids, vectors, centroids[nearest]))
            _renew(place)
    else:
        records = cells.members(ids, vectors, np.broadcast_to(cell.centroid.astype(np.float32), vectors.shape))
        VectorCell.objects.filter(**place._asdict(), number=cell.number).update(
            members=records.tobytes(),
            size=len(records),
            refreshed_at=now,
            lump=len(records) if len(records) > LARGEST else 0,
        )


def _split(place: Place, ids: Sequence[uuid.UUID], vectors: np.ndarray) -> list[_Cell]:
    """New cells for the vectors of one that is too full; none for a lump of equal vectors, which cannot be split."""
    centroids = cells.train(vectors, -(-len(ids) // cells.VECTORS_PER_CELL)).astype("<f2")
    sizes = np.bincount(cells.nearest_centroids(vectors, centroids.astype(np.float32)), minlength=len(centroids))
    centroids = centroids[sizes >= SMALLEST]
    if len(centroids) < 2:
        return []
    wide = centroids.astype(np.float32)
    nearest = cells.nearest_centroids(vectors, wide)
    records = cells.members(ids, vectors, wide[nearest])
    [(last,)] = _read("SELECT max(number) FROM memory_vectorcell WHERE namespace_id = %s AND model_id = %s", place)
    return [_Cell(last + 1 + i, centroid, records[nearest == i]) for i, centroid in enumerate(centroids)]


def _live(place: Place, cell: _Cell) -> tuple[list[uuid.UUID], np.ndarray]:
    """The cell's members that still have the vector they were filed with: (memory ids, float32 vectors)."""
    rows = _read(
        """
        SELECT memory_id, halfvec_send(embedding) FROM memory_memoryvector
        WHERE namespace_id = %s AND model_id = %s AND filed AND memory_id = ANY(%s)
        """,
        [*place, cells.ids_of(cell.members)],
    )
    if not rows:
        return [], np.empty((0, len(cell.centroid)), dtype=np.float32)
    ids, vectors = [row[0] for row in rows], _vectors(row[1] for row in rows)
    held: dict[uuid.UUID, list[np.ndarray]] = defaultdict(list)
    for identity, signs in zip(cells.ids_of(cell.members), cell.members["signs"], strict=True):
        held[identity].append(signs)
    present = cells.signs(vectors - cell.centroid.astype(np.float32))
    live = [row for row, identity in enumerate(ids) if any(_alike(present[row], signs) for signs in held[identity])]
    return [ids[row] for row in live], vectors[live]


def _alike(signs: np.ndarray, others: np.ndarray) -> bool:
    """Whether the signs are of one vector: on another processor, rounding may turn one that is nearly zero."""
    return int(np.bitwise_count(signs ^ others).sum()) <= signs.size


def _add_cells(place: Place, parts: Sequence[_Cell], *, now: datetime) -> None:
    VectorCell.objects.bulk_create(
        VectorCell(
            **place._asdict(),
            number=part.number,
            centroid=part.centroid.tobytes(),
            members=part.members.tobytes(),
            size=len(part.members),
            refreshed_at=now,
        )
        for part in parts
    )


def _remove(place: Place, cell: _Cell) -> None:
    VectorCell.objects.filter(**place._asdict(), number=cell.number).delete()


def _renew(place: Place) -> None:
    """Gives the map a new version, so that every process reads the centroids again."""
    VectorMap.objects.update_or_create(**place._asdict(), defaults={"version": new_id()})


def _no_members(centroid: np.ndarray) -> np.ndarray:
    return np.empty(0, dtype=cells.member_dtype(len(centroid)))


def _vectors(sent: Iterator[bytes]) -> np.ndarray:
    """Rotated vectors of those that `halfvec_send` writes: two 16-bit numbers, then the values, big-endian."""
    values = [value[4:] for value in sent]
    if not values:
        return np.empty((0, 0), dtype=np.float32)
    return cells.rotate(np.frombuffer(b"".join(values), dtype=">f2").reshape(len(values), -1).astype(np.float32))


def _read(statement: str, parameters: Sequence[Any]) -> list[tuple]:
    """The rows of a statement, `bytea` as bytes."""
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return cursor.fetchall()
