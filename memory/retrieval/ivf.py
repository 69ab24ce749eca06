"""An inverted file of a large namespace's vectors: which lists to probe, and which codes are worth an exact comparison.

Vectors are filed in the list of the nearest of many centroids, and a search probes the nearest lists only (Sivic &
Zisserman 2003; Jégou et al. 2011). In its list a vector is a code: the signs of its residual, which is its difference
from the centroid, and two lengths of the residual. Its distance from a question is estimated twice: for all codes from
the share of signs that differ from the question's (Charikar 2002), for the best of those from the sums of the
question's own values under the signs (RaBitQ, Gao & Long 2024). Everything is in rotated space, so that no dimension
says more than another. Distances are Euclidean between unit vectors, so their order is that of cosine similarity.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Self

import numpy as np

# Larger lists cost more to keep up, smaller ones more to choose among.
VECTORS_PER_LIST = 128
# Codes that a search estimates distances of. Measured on real sentences and questions by MiniLM, recall@10 of 80,000:
# 0.94 with 8,000, 0.975 with 16,000, 0.985 with 25,000, 0.99 with 33,000; of 500,000 the same or better.
CANDIDATES = 24_576


def rotate(vectors: np.ndarray) -> np.ndarray:
    """float32 [rows, dimensions], turned in the one way that all lists are made in; distances stay what they are."""
    return np.asarray(vectors @ _rotation(vectors.shape[1]), dtype=np.float32)


@lru_cache(maxsize=8)
def _rotation(dimensions: int) -> np.ndarray:
    # Stored codes depend on it: RandomState's stream is frozen by NumPy, and with the signs of the diagonal the
    # factor of a QR decomposition is unique.
    orthogonal, upper = np.linalg.qr(np.random.RandomState(384).standard_normal((dimensions, dimensions)))
    return np.asarray(orthogonal * np.sign(np.diag(upper)), dtype=np.float32)


def code_dtype(dimensions: int) -> np.dtype:
    """How a code lies in its list: memory id; of the residual, the Euclidean length, the sum of the absolute values,
    and the signs as bits in 64-bit words.
    """
    return np.dtype([("id", "V16"), ("radius", "<f4"), ("sum", "<f4"), ("signs", "<u8", (-(-dimensions // 64),))])


def pack_signs(residuals: np.ndarray) -> np.ndarray:
    """uint64 [rows, words] of the signs of float32 [rows, dimensions]."""
    bits = np.packbits(residuals > 0, axis=1)
    words = -(-residuals.shape[1] // 64)
    padded = np.zeros((len(bits), words * 8), dtype=np.uint8)
    padded[:, : bits.shape[1]] = bits
    return padded.view("<u8")


def encode(ids: Sequence[uuid.UUID], vectors: np.ndarray, centroids: np.ndarray) -> np.ndarray:
    """Codes of `vectors`, each under the centroid of its row (both float32 [rows, dimensions])."""
    residuals = vectors - centroids
    codes = np.empty(len(ids), dtype=code_dtype(vectors.shape[1]))
    codes["id"] = np.frombuffer(b"".join(identity.bytes for identity in ids), dtype="V16")
    codes["radius"] = np.linalg.norm(residuals, axis=1)
    codes["sum"] = np.abs(residuals).sum(axis=1)
    codes["signs"] = pack_signs(residuals)
    return codes


def read_ids(codes: np.ndarray) -> list[uuid.UUID]:
    """The memory ids of codes, in their order."""
    return [uuid.UUID(bytes=raw.tobytes()) for raw in codes["id"]]


@dataclass(frozen=True, slots=True)
class CoarseQuantizer:
    """The centroids of one namespace under one model: `numbers` [lists], float32 `centroids` [lists, dimensions].

    `sizes` says how many codes each list had when they were read, `halves` half the square of each centroid's length.
    """

    version: uuid.UUID
    numbers: np.ndarray
    centroids: np.ndarray
    sizes: np.ndarray
    halves: np.ndarray

    @classmethod
    def of(cls, version: uuid.UUID, numbers: Sequence[int], centroids: np.ndarray, sizes: Sequence[int]) -> Self:
        halves = np.einsum("ij,ij->i", centroids, centroids) / 2
        return cls(version, np.array(numbers), centroids, np.array(sizes), halves)

    @property
    def bytes(self) -> int:
        return int(self.centroids.nbytes)

    def choose_lists(self, vector: np.ndarray, *, codes: int) -> np.ndarray:
        """Rows of the lists nearest to `vector`, nearest first, until they hold so many `codes`."""
        # Not the matrix product: its threads would wait for each other on cores that PostgreSQL uses.
        order = np.argsort(self.halves - np.einsum("ij,j->i", self.centroids, vector))
        held = np.cumsum(self.sizes[order])
        return order[: int(np.searchsorted(held, codes)) + 1]


@dataclass(frozen=True, slots=True)
class ProbedLists:
    """The lists that a search looks into: their codes, and the squared distances by the first estimate; all [codes].

    `are_all`: there are no other lists. `row` says which of `residuals` (float32 [lists, dimensions], the question's
    from each centroid) is of a code's list.
    """

    codes: np.ndarray
    row: np.ndarray
    residuals: np.ndarray
    distances: np.ndarray
    are_all: bool

    def best(self, count: int) -> list[str]:
        """The memories of the `count` nearest codes by the second estimate, nearest first, each once."""
        nearest = _smallest(self.distances, _FIRST * count)
        codes, row = self.codes[nearest], self.row[nearest]
        lengths = np.einsum("ij,ij->i", self.residuals, self.residuals)
        dimensions = self.residuals.shape[1]
        positive = np.unpackbits(np.ascontiguousarray(codes["signs"]).view(np.uint8), axis=1, count=dimensions)
        # Twice the sum over the positive signs, less the sum over all: the sum under the signs.
        under = 2 * np.einsum("ij,ij->i", positive, self.residuals[row]) - self.residuals.sum(axis=1)[row]
        squared = codes["radius"] ** 2
        refined = squared + lengths[row] - 2 * squared * under / np.maximum(codes["sum"], _TINY)
        order = _smallest(refined, count)
        order = order[np.argsort(refined[order])]
        return [_text(raw) for raw in dict.fromkeys(codes["id"][order].tolist())]


def _text(raw: bytes) -> str:
    """As `str(uuid.UUID(bytes=raw))`, which takes hundreds of ids a millisecond."""
    digits = raw.hex()
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


# How many more the first estimate hands to the second than that hands on.
_FIRST = 8
_TINY = np.float32(1e-12)


def scan_lists(vector: np.ndarray, centroids: np.ndarray, packed: Sequence[bytes], *, are_all: bool) -> ProbedLists:
    """Some lists as they are probed: `packed` holds the codes of the list whose centroid is the same row's."""
    dimensions = centroids.shape[1]
    dtype = code_dtype(dimensions)
    codes = np.frombuffer(b"".join(packed), dtype=dtype)
    sizes = [len(part) // dtype.itemsize for part in packed]
    row = np.repeat(np.arange(len(packed)), sizes)
    residuals = vector - centroids
    lengths = np.linalg.norm(residuals, axis=1)[row]
    asked = pack_signs(residuals)
    differing = np.zeros(len(codes), dtype=np.uint16)
    # Word by word: half the time of all words of a code at once, which are few.
    for word in range(asked.shape[1]):
        differing += np.bitwise_count(codes["signs"][:, word] ^ np.repeat(asked[:, word], sizes))
    cosine = np.cos(np.pi * np.arange(dimensions + 1, dtype=np.float32) / dimensions)
    radius = np.ascontiguousarray(codes["radius"])
    # The law of cosines in the triangle of centroid, vector and question.
    distances = radius * (radius - 2 * lengths * cosine[differing]) + lengths * lengths
    return ProbedLists(codes, row, residuals, distances, are_all)


def _smallest(values: np.ndarray, count: int) -> np.ndarray:
    """The rows of the `count` smallest values, in any order."""
    return np.argpartition(values, count)[:count] if count < len(values) else np.arange(len(values))


def assign(vectors: np.ndarray, centroids: np.ndarray) -> np.ndarray:
    """For each of `vectors` the row of the nearest of `centroids`; int64 [vectors]."""
    found = np.empty(len(vectors), dtype=np.int64)
    halves = np.einsum("ij,ij->i", centroids, centroids) / 2
    for start in range(0, len(vectors), 4096):
        part = vectors[start : start + 4096]
        found[start : start + 4096] = np.argmax(part @ centroids.T - halves, axis=1)
    return found


def train(vectors: np.ndarray, count: int) -> np.ndarray:
    """At most `count` centroids of `vectors`, float32; fewer when the vectors are fewer or equal.

    Lloyd's k-means from a random choice that is the same for the same vectors.
    """
    chosen = np.random.default_rng(len(vectors)).permutation(len(vectors))[:count]
    centroids = np.unique(vectors[chosen], axis=0)
    for _ in range(_ROUNDS):
        nearest = assign(vectors, centroids)
        order = np.argsort(nearest, kind="stable")
        # A centroid that is nearest to nothing is dropped.
        _, starts, sizes = np.unique(nearest[order], return_index=True, return_counts=True)
        centroids = np.add.reduceat(vectors[order], starts, axis=0) / sizes[:, None]
    return np.asarray(centroids, dtype=np.float32)


_ROUNDS = 6
