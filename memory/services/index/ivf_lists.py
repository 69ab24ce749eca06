"""Files the vectors of a large namespace in IVF lists and keeps the lists even, for `arms.near_lists`.

Every step is a transaction that leaves each vector either marked as not filed or held by a list: a search finds it
before, during and after.
"""

from __future__ import annotations

import time
import uuid
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import numpy as np
from django.db import connection, transaction

from memory.models import IVFIndex, IVFList
from memory.models.keys import new_id
from memory.models.locks import Lock, lock_in_transaction
from memory.retrieval import ivf
from memory.types import Scope

# Fewer are not worth a transaction: a search compares them in a fraction of a millisecond.
FILE_AT_LEAST = 200
FILED_AT_ONCE = 20_000
# Lists that are made at first; where they become too full they are split.
FIRST_LISTS = 1024
SAMPLED_PER_LIST = 32
LARGEST = 2 * ivf.VECTORS_PER_LIST
SMALLEST = ivf.VECTORS_PER_LIST // 8
# How often a list's codes are compared with the vectors: those of deleted and edited memories go.
REFRESH_EVERY = timedelta(days=1)
# After memories were deleted, sooner; not at each run, for a client may replace documents all the time.
PURGE_EVERY = timedelta(minutes=10)
# From the time that a deletion is given to its commit.
DELETING_TAKES = timedelta(minutes=1)
LOOKED_AT_ONCE = 500
# When a list was last compared that has to be compared soon.
LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)


class Place(NamedTuple):
    """A namespace and the model of the vectors."""

    namespace_id: int
    model_id: int


@dataclass(frozen=True, slots=True)
class _List:
    number: int
    centroid: np.ndarray
    codes: np.ndarray


def file(place: Place, *, now: datetime, deadline: float) -> int:
    """Puts the vectors that no list holds into the nearest lists, and makes the lists first; returns how many.

    Ends when few are left, or at `deadline` (monotonic seconds).
    """
    filed = 0
    while time.monotonic() < deadline:
        waiting = _read_unfiled(place)
        if len(waiting.ids) < FILE_AT_LEAST:
            break
        centroids = _centroids(place)
        if centroids is None:
            _make_lists(place, now=now)
            continue
        filed += _put(place, waiting, *centroids)
    return filed


def even_out(place: Place, *, now: datetime, deadline: float) -> int:
    """Splits lists that are too full, joins what is left of empty ones to others, and drops codes of what is gone.

    Returns how many lists were looked at. Ends at `deadline` (monotonic seconds).
    """
    looked_at = 0
    while due := _due(place, now=now):
        for number in due:
            if time.monotonic() > deadline:
                return looked_at
            _even_out(place, _read_list(place, number), now=now)
            looked_at += 1
    return looked_at


def refresh_soon(scope: Scope, *, now: datetime) -> None:
    """Has the worker look through all lists of the namespace within PURGE_EVERY: memories were deleted.

    Belongs at the end of the transaction that deletes them: it changes one row for each model.
    """
    IVFIndex.objects.in_scope(scope).update(deleted_at=now)


def count_codes(scope: Scope, memory_ids: Collection[bytes]) -> int:
    """How many codes in the namespace's lists, under every model, are of these memories (by the 16 bytes of an id).

    Reads all codes: 72 bytes a memory with 384 dimensions.
    """
    return sum(len(rows) for *_, rows in _find_codes(scope, memory_ids))


def drop_codes(scope: Scope, memory_ids: Collection[bytes]) -> int:
    """Takes these memories' codes out of the lists; returns how many. Their vectors must be gone already.

    Belongs inside `try_lock(Lock.IVF_LISTS)` and a transaction. A list that lost codes is looked through again by the
    next run, which joins what is left of a small one to others, so that no centroid of a few erased vectors stays.
    """
    dropped = 0
    # Whoever adds codes meanwhile waits.
    list(IVFIndex.objects.in_scope(scope).order_by("model_id").select_for_update())
    for place, number, codes, rows in _find_codes(scope, memory_ids):
        kept = np.delete(codes, rows)
        IVFList.objects.filter(**place._asdict(), number=number).update(
            codes=kept.tobytes(), size=len(kept), refreshed_at=LONG_AGO
        )
        dropped += len(rows)
    return dropped


def lock_index(place: Place) -> uuid.UUID | None:
    """The version of the lists, None where there are none; it stays the same until the transaction ends.

    Whoever adds codes has this lock: no list of the place gains or loses any meanwhile.
    """
    rows = IVFIndex.objects.filter(**place._asdict()).select_for_update()
    return rows.values_list("version", flat=True).first()


def append_codes(place: Place, numbers: np.ndarray, codes: np.ndarray) -> None:
    """Adds each code to the list with the number in the same place; inside `lock_index`."""
    order = np.argsort(numbers, kind="stable")
    touched, starts = np.unique(numbers[order], return_index=True)
    parts = np.split(codes[order], starts[1:])
    with connection.cursor() as cursor:
        cursor.execute(
            """
            UPDATE memory_ivflist l SET codes = l.codes || a.codes, size = l.size + a.size
            FROM unnest(%s::int[], %s::bytea[], %s::int[]) AS a (number, codes, size)
            WHERE l.namespace_id = %s AND l.model_id = %s AND l.number = a.number
            """,
            [touched.tolist(), [part.tobytes() for part in parts], [len(part) for part in parts], *place],
        )


def are_alike(signs: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Whether signs are of one vector, by row: on another processor, rounding may turn one that is nearly zero."""
    return np.bitwise_count(signs ^ others).sum(axis=-1) <= signs.shape[-1]


def _find_codes(scope: Scope, memory_ids: Collection[bytes]) -> Iterator[tuple[Place, int, np.ndarray, list[int]]]:
    """The lists that hold codes of these memories: place, number, all codes, and the rows of theirs among them."""
    keys = list(IVFList.objects.in_scope(scope).order_by("model_id", "number").values_list("model_id", "number"))
    for start in range(0, len(keys), LOOKED_AT_ONCE):
        models, numbers = zip(*keys[start : start + LOOKED_AT_ONCE], strict=True)
        for model_id, number, size, packed in _read(
            """
            SELECT l.model_id, l.number, l.size, l.codes
            FROM memory_ivflist l
            JOIN unnest(%s::smallint[], %s::int[]) AS k (model_id, number) USING (model_id, number)
            WHERE l.namespace_id = %s AND l.size > 0
            """,
            [list(models), list(numbers), scope.namespace_id],
        ):
            # A code begins with the memory's id (`ivf.code_dtype`); how long it is, the model says.
            rest = len(packed) // size - 16
            codes = np.frombuffer(packed, dtype=[("id", "V16"), ("rest", f"V{rest}")])
            rows = [row for row, identity in enumerate(codes["id"]) if identity.tobytes() in memory_ids]
            if rows:
                yield Place(scope.namespace_id, model_id), number, codes, rows


@dataclass(frozen=True, slots=True)
class _Waiting:
    """Vectors that no list holds: the place and version of each row, its memory, float32 [rows, dimensions]."""

    places: list[str]
    versions: list[str]
    ids: list[uuid.UUID]
    vectors: np.ndarray


def _read_unfiled(place: Place) -> _Waiting:
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
    """(numbers, float32 centroids) of the lists, which count from 1; None when there are none."""
    rows = _read(
        """
        SELECT number, centroid FROM memory_ivflist
        WHERE namespace_id = %s AND model_id = %s AND number <> %s ORDER BY number
        """,
        [*place, other_than],
    )
    if not rows:
        return None
    centroids = np.frombuffer(b"".join(row[1] for row in rows), dtype="<f2").reshape(len(rows), -1)
    return np.array([row[0] for row in rows]), centroids.astype(np.float32)


def _make_lists(place: Place, *, now: datetime) -> None:
    """Makes the first lists, empty, from a sample of the vectors."""
    [(total,)] = _read("SELECT count(*) FROM memory_memoryvector WHERE namespace_id = %s AND model_id = %s", place)
    wanted = max(1, min(FIRST_LISTS, total // ivf.VECTORS_PER_LIST))
    sample = _read(
        """
        SELECT halfvec_send(embedding) FROM memory_memoryvector
        WHERE namespace_id = %s AND model_id = %s AND random() < %s
        """,
        [*place, wanted * SAMPLED_PER_LIST / total],
    )
    centroids = ivf.train(_vectors(row[0] for row in sample), wanted).astype("<f2")
    with transaction.atomic():
        _add_lists(place, [_List(i, c, _no_codes(c)) for i, c in enumerate(centroids, 1)], now=now)
        _renew(place)


def _put(place: Place, waiting: _Waiting, numbers: np.ndarray, centroids: np.ndarray) -> int:
    """Adds vectors to their nearest lists. A row that has changed since it was read is left for the next time."""
    nearest = ivf.assign(waiting.vectors, centroids)
    with transaction.atomic():
        lock_in_transaction(Lock.VECTORS, place.namespace_id)
        marked = _read(
            """
            UPDATE memory_memoryvector v SET filed = true
            FROM unnest(%s::tid[], %s::text[]) WITH ORDINALITY AS w (place, version, position)
            WHERE v.namespace_id = %s AND v.model_id = %s
              AND v.ctid = w.place AND v.xmin::text = w.version AND NOT v.filed
            RETURNING w.position - 1
            """,
            [waiting.places, waiting.versions, *place],
        )
        kept = np.sort(np.array([row[0] for row in marked], dtype=np.int64))
        codes = ivf.encode([waiting.ids[row] for row in kept], waiting.vectors[kept], centroids[nearest[kept]])
        lock_index(place)
        append_codes(place, numbers[nearest[kept]], codes)
    return len(kept)


def _due(place: Place, *, now: datetime) -> list[int]:
    """The lists that are too full, then those not compared for long or since memories were deleted; some of them."""
    rows = _read(
        """
        SELECT l.number
        FROM memory_ivflist l
        JOIN memory_ivfindex i ON i.namespace_id = l.namespace_id AND i.model_id = l.model_id
        WHERE l.namespace_id = %s AND l.model_id = %s AND (
            l.size > greatest(%s, 2 * l.unsplit_size) OR l.refreshed_at < %s
            OR i.deleted_at IS NOT NULL AND l.refreshed_at < least(i.deleted_at + %s, %s)
        )
        ORDER BY l.size > %s DESC, l.refreshed_at LIMIT %s
        """,
        [*place, LARGEST, now - REFRESH_EVERY, DELETING_TAKES, now - PURGE_EVERY, LARGEST, LOOKED_AT_ONCE],
    )
    return [row[0] for row in rows]


def _read_list(place: Place, number: int) -> _List:
    [(centroid, packed)] = _read(
        "SELECT centroid, codes FROM memory_ivflist WHERE namespace_id = %s AND model_id = %s AND number = %s",
        [*place, number],
    )
    middle = np.frombuffer(centroid, dtype="<f2")
    return _List(number, middle, np.frombuffer(packed, dtype=ivf.code_dtype(len(middle))))


def _even_out(place: Place, one: _List, *, now: datetime) -> None:
    ids, vectors = _live(place, one)
    if len(ids) > LARGEST and (parts := _split(place, ids, vectors)):
        with _unless_changed(place, one) as same:
            if same:
                _remove(place, one)
                _add_lists(place, parts, now=now)
                _renew(place)
    elif len(ids) < SMALLEST and (others := _centroids(place, other_than=one.number)):
        numbers, centroids = others
        nearest = ivf.assign(vectors, centroids)
        with _unless_changed(place, one) as same:
            if same:
                _remove(place, one)
                append_codes(place, numbers[nearest], ivf.encode(ids, vectors, centroids[nearest]))
                _renew(place)
    else:
        codes = ivf.encode(ids, vectors, np.broadcast_to(one.centroid.astype(np.float32), vectors.shape))
        with _unless_changed(place, one) as same:
            if same:
                IVFList.objects.filter(**place._asdict(), number=one.number).update(
                    codes=codes.tobytes(),
                    size=len(codes),
                    refreshed_at=now,
                    unsplit_size=len(codes) if len(codes) > LARGEST else 0,
                )


@contextmanager
def _unless_changed(place: Place, one: _List) -> Iterator[bool]:
    """A transaction; whether the list still has the codes that were read: a load may have added some (`ivf_transfer`).
    It stays due then, and is read again.
    """
    with transaction.atomic():
        lock_index(place)
        yield IVFList.objects.filter(**place._asdict(), number=one.number, size=len(one.codes)).exists()


def _split(place: Place, ids: Sequence[uuid.UUID], vectors: np.ndarray) -> list[_List]:
    """New lists for the vectors of one that is too full; none for equal vectors, which cannot be split."""
    centroids = ivf.train(vectors, -(-len(ids) // ivf.VECTORS_PER_LIST)).astype("<f2")
    sizes = np.bincount(ivf.assign(vectors, centroids.astype(np.float32)), minlength=len(centroids))
    centroids = centroids[sizes >= SMALLEST]
    if len(centroids) < 2:
        return []
    wide = centroids.astype(np.float32)
    nearest = ivf.assign(vectors, wide)
    codes = ivf.encode(ids, vectors, wide[nearest])
    [(last,)] = _read("SELECT max(number) FROM memory_ivflist WHERE namespace_id = %s AND model_id = %s", place)
    return [_List(last + 1 + i, centroid, codes[nearest == i]) for i, centroid in enumerate(centroids)]


def _live(place: Place, one: _List) -> tuple[list[uuid.UUID], np.ndarray]:
    """Whose codes in the list are still of the vector they were made of: (memory ids, float32 vectors)."""
    rows = _read(
        """
        SELECT memory_id, halfvec_send(embedding) FROM memory_memoryvector
        WHERE namespace_id = %s AND model_id = %s AND filed AND memory_id = ANY(%s)
        """,
        [*place, ivf.read_ids(one.codes)],
    )
    if not rows:
        return [], np.empty((0, len(one.centroid)), dtype=np.float32)
    ids, vectors = [row[0] for row in rows], _vectors(row[1] for row in rows)
    held: dict[uuid.UUID, list[np.ndarray]] = defaultdict(list)
    for identity, signs in zip(ivf.read_ids(one.codes), one.codes["signs"], strict=True):
        held[identity].append(signs)
    present = ivf.pack_signs(vectors - one.centroid.astype(np.float32))
    live = [row for row, identity in enumerate(ids) if any(are_alike(present[row], signs) for signs in held[identity])]
    return [ids[row] for row in live], vectors[live]


def _add_lists(place: Place, parts: Sequence[_List], *, now: datetime) -> None:
    IVFList.objects.bulk_create(
        IVFList(
            **place._asdict(),
            number=part.number,
            centroid=part.centroid.tobytes(),
            codes=part.codes.tobytes(),
            size=len(part.codes),
            refreshed_at=now,
        )
        for part in parts
    )


def _remove(place: Place, one: _List) -> None:
    IVFList.objects.filter(**place._asdict(), number=one.number).delete()


def _renew(place: Place) -> None:
    """Gives the index a new version, so that every process reads the centroids again."""
    IVFIndex.objects.update_or_create(**place._asdict(), defaults={"version": new_id()})


def _no_codes(centroid: np.ndarray) -> np.ndarray:
    return np.empty(0, dtype=ivf.code_dtype(len(centroid)))


def _vectors(sent: Iterator[bytes]) -> np.ndarray:
    """Rotated vectors of those that `halfvec_send` writes: two 16-bit numbers, then the values, big-endian."""
    values = [value[4:] for value in sent]
    if not values:
        return np.empty((0, 0), dtype=np.float32)
    return ivf.rotate(np.frombuffer(b"".join(values), dtype=">f2").reshape(len(values), -1).astype(np.float32))


def _read(statement: str, parameters: Sequence[Any]) -> list[tuple]:
    """The rows of a statement, `bytea` as bytes."""
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return cursor.fetchall()
