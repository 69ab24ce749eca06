"""Axes through a cloud of vectors along which it stretches most, so that it can be drawn; and names for its clumps.

Principal components (Pearson 1901, Hotelling 1933), by the eigenvectors of the covariance matrix: that costs no more
with many vectors than to read them. The mean and the components say where any later vector lies, so none that was drawn
before moves. What three of hundreds of dimensions show is little (`explained` says how much): near on the map is
probably near, but far on it need not be far.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

AXES = 3
MOST_CLUSTERS = 24
NAMING_WORDS = 3
# A term of fewer memories of a cluster names nothing that they share.
SHARED_BY = 2


@dataclass(frozen=True, slots=True)
class Axes:
    """`mean` float32 [dimensions], `components` float32 [3, dimensions], `explained` shares (0..1) of the variance."""

    mean: np.ndarray
    components: np.ndarray
    explained: list[float]

    @classmethod
    def of(cls, vectors: np.ndarray) -> Self:
        """The axes of float32 [rows, dimensions], rows > 0; where they are fewer than three, the others are zero.

        Each points to where its largest coefficient is positive, so that equal vectors give equal axes.
        """
        rows, dimensions = vectors.shape
        mean = vectors.mean(axis=0, dtype=np.float64)
        centred = vectors.astype(np.float64) - mean
        values, columns = np.linalg.eigh(centred.T @ centred / rows)
        total = float(values.sum())
        count = min(AXES, dimensions)
        components = np.zeros((AXES, dimensions))
        components[:count] = columns.T[::-1][:count]
        explained = [0.0] * AXES
        explained[:count] = [max(0.0, float(value)) / total if total > 1e-12 else 0.0 for value in values[::-1][:count]]
        for axis, share in enumerate(explained):
            if share < 1e-9:
                components[axis] = 0.0
        largest = np.take_along_axis(components, np.abs(components).argmax(axis=1)[:, None], axis=1)
        components *= np.where(largest < 0, -1.0, 1.0)
        return cls(mean.astype(np.float32), components.astype(np.float32), explained)

    def place(self, vectors: np.ndarray) -> np.ndarray:
        """Where float32 [rows, dimensions] lie: float32 [rows, 3]. Each row by itself, whatever stands beside it."""
        centred = vectors.astype(np.float64) - self.mean
        # einsum, not a product of matrices: that one's sums depend on how many rows there are.
        return np.asarray(np.einsum("rd,ad->ra", centred, self.components.astype(np.float64)), dtype=np.float32)


def cluster_count(rows: int) -> int:
    """How many clusters so many vectors are put into: as many as a person can tell apart on a map."""
    return max(1, min(MOST_CLUSTERS, round(math.sqrt(rows / 6))))


def naming_terms(clusters: Sequence[int], terms: Sequence[Sequence[str]], *, count: int) -> list[list[str]]:
    """For each of `count` clusters the terms that tell it best from the others: at most NAMING_WORDS.

    `clusters` and `terms` are of each memory; terms count once a memory. Terms are weighed as if each cluster were one
    document (class-based TF-IDF, Grootendorst 2022): frequent in it, rare elsewhere.
    """
    held = [Counter[str]() for _ in range(count)]
    for cluster, own in zip(clusters, terms, strict=True):
        held[cluster].update(set(own))
    everywhere: Counter[str] = Counter()
    for one in held:
        everywhere.update(one)
    average = sum(everywhere.values()) / max(1, count)
    return [_best(one, everywhere, average) for one in held]


def _best(own: Counter[str], everywhere: Counter[str], average: float) -> list[str]:
    size = sum(own.values()) or 1
    # One character or digit alone says nothing to a reader.
    shared = {term: n for term, n in own.items() if n >= SHARED_BY and len(term) > 1 and not term.isdigit()}
    weights = {term: n / size * math.log1p(average / everywhere[term]) for term, n in shared.items()}
    return sorted(weights, key=lambda term: (-weights[term], term))[:NAMING_WORDS]
