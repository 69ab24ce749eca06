"""Has the IVF lists of a namespace go with its vectors into another one: centroids, and which list holds each vector.

A load makes the lists first, empty, and adds the vectors of each batch of memories to them in the batch's transaction.
So a load that ends in the middle leaves lists that are right, and one that goes on finds them by their version.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from django.db import connection

from memory.models import IVFIndex, IVFList, Memory
from memory.retrieval import ivf
from memory.services.index.ivf_lists import LONG_AGO, Place, append_codes, are_alike, lock_index
from memory.types import Scope


class FiledVectors:
    """Which list holds each vector of a place; takes 68 bytes of memory a vector of 384 dimensions."""

    def __init__(self, place: Place) -> None:
        rows = list(
            IVFList.objects.filter(**place._asdict()).order_by("number").values_list("number", "centroid", "codes")
        )
        self._numbers = [number for number, _, _ in rows]
        self._centroids = _read_centroids([bytes(centroid) for _, centroid, _ in rows])
        dtype = ivf.code_dtype(self._centroids.shape[1])
        parts = [np.frombuffer(bytes(codes), dtype=dtype) for _, _, codes in rows]
        codes = np.concatenate(parts) if parts else np.empty(0, dtype=dtype)
        keys = np.ascontiguousarray(codes["id"]).view("S16")
        order = np.argsort(keys, kind="stable")
        self._keys, self._signs = keys[order], codes["signs"][order]
        self._row = np.repeat(np.arange(len(parts)), [len(part) for part in parts])[order]

    def find(self, ids: Sequence[uuid.UUID], vectors: np.ndarray) -> list[int | None]:
        """The number of the list that holds each vector (float32 [rows, dimensions]) of the memory in the same place;
        None for one that none holds.
        """
        found: list[int | None] = [None] * len(ids)
        if not ids or not len(self._keys):
            return found
        wanted = np.array([identity.bytes for identity in ids], dtype="S16")
        first, last = (np.searchsorted(self._keys, wanted, side=side) for side in ("left", "right"))
        vector = np.repeat(np.arange(len(ids)), last - first)
        code = np.concatenate([np.arange(start, end) for start, end in zip(first, last, strict=True)])
        # A memory has as many codes as passages, and some of passages that it had once.
        present = ivf.pack_signs(ivf.rotate(vectors)[vector] - self._centroids[self._row[code]])
        for place in np.flatnonzero(are_alike(present, self._signs[code])):
            found[vector[place]] = self._numbers[self._row[code[place]]]
        return found


@dataclass(frozen=True, slots=True)
class FiledPassage:
    """A vector, float32 [dimensions], of a passage of a memory, and the number of the list that it comes with."""

    memory_id: uuid.UUID
    passage: int
    vector: np.ndarray
    number: int


@dataclass(frozen=True, slots=True)
class ArrivingLists:
    """Lists that come into a namespace. `version` is what their index has until all vectors are there, and
    `whole_version` from then on.
    """

    scope: Scope
    model_id: int
    version: uuid.UUID
    whole_version: uuid.UUID

    @property
    def place(self) -> Place:
        return Place(self.scope.namespace_id, self.model_id)

    def take_over(self, lists: Sequence[IVFList], *, dry_run: bool, now: datetime) -> tuple[int, int, int]:
        """Makes those of the lists that are not there, empty; returns how many are new, there, and left out.

        All are left out where the namespace has memories or other lists. Inside the caller's transaction.
        """
        index = IVFIndex.objects.filter(**self.place._asdict())
        version = index.values_list("version", flat=True).first() if dry_run else lock_index(self.place)
        if version is None:
            if Memory.objects.in_scope(self.scope).exists():
                return 0, 0, len(lists)
            if not dry_run:
                IVFIndex.objects.create(**self.place._asdict(), version=self.version)
        elif version != self.version:
            return 0, 0, len(lists)
        numbers = [one.number for one in lists]
        known = set(IVFList.objects.filter(**self.place._asdict(), number__in=numbers).values_list("number", flat=True))
        new = [one for one in lists if one.number not in known]
        if not dry_run:
            IVFList.objects.bulk_create(
                IVFList(
                    **self.place._asdict(),
                    number=one.number,
                    centroid=one.centroid,
                    unsplit_size=one.unsplit_size,
                    refreshed_at=now,
                )
                for one in new
            )
        return len(new), len(lists) - len(new), 0

    def file(self, passages: Sequence[FiledPassage]) -> int:
        """Puts vectors that are there, and in no list, into the lists that they come with; returns how many.

        Those of lists that are not here stay as they are, and all where the worker has changed the lists meanwhile.
        Belongs at the end of the transaction that stores them.
        """
        if not passages or lock_index(self.place) != self.version:
            return 0
        rows = list(
            IVFList.objects.filter(**self.place._asdict(), number__in={one.number for one in passages}).values_list(
                "number", "centroid"
            )
        )
        row_of = {number: row for row, (number, _) in enumerate(rows)}
        marked = [passages[place] for place in self._mark([one.number in row_of for one in passages], passages)]
        if marked:
            centroids = _read_centroids([bytes(centroid) for _, centroid in rows])
            own = centroids[[row_of[one.number] for one in marked]]
            vectors = ivf.rotate(np.stack([one.vector for one in marked]))
            codes = ivf.encode([one.memory_id for one in marked], vectors, own)
            append_codes(self.place, np.array([one.number for one in marked]), codes)
        return len(marked)

    def finish(self, lists: Sequence[IVFList]) -> None:
        """Has every process read the lists again, which have all their vectors now, and the worker look through those
        that have fewer than where they come from: it joins what is left of small ones. Inside the caller's transaction.
        """
        index = IVFIndex.objects.filter(**self.place._asdict(), version__in=[self.version, self.whole_version])
        if not index.update(version=self.whole_version):
            return
        with connection.cursor() as cursor:
            cursor.execute(
                """
                UPDATE memory_ivflist l SET refreshed_at = %s
                FROM unnest(%s::int[], %s::int[]) AS a (number, size)
                WHERE l.namespace_id = %s AND l.model_id = %s AND l.number = a.number AND l.size < a.size
                """,
                [LONG_AGO, [one.number for one in lists], [one.size for one in lists], *self.place],
            )

    def _mark(self, wanted: Sequence[bool], passages: Sequence[FiledPassage]) -> list[int]:
        """Marks the vectors that are `wanted` as filed; returns the places of those that were not, in order."""
        places = [place for place, is_wanted in enumerate(wanted) if is_wanted]
        with connection.cursor() as cursor:
            cursor.execute(
                """
                UPDATE memory_memoryvector v SET filed = true
                FROM unnest(%s::uuid[], %s::smallint[], %s::int[]) AS w (memory_id, passage, place)
                WHERE v.namespace_id = %s AND v.model_id = %s AND v.memory_id = w.memory_id AND v.passage = w.passage
                  AND NOT v.filed
                RETURNING w.place
                """,
                [
                    [passages[place].memory_id for place in places],
                    [passages[place].passage for place in places],
                    places,
                    *self.place,
                ],
            )
            return sorted(row[0] for row in cursor.fetchall())


def _read_centroids(packed: Sequence[bytes]) -> np.ndarray:
    """float32 [lists, dimensions] of centroids as the lists keep them."""
    return np.frombuffer(b"".join(packed), dtype="<f2").reshape(len(packed), -1).astype(np.float32)
