"""Projects vectors onto the three axes with the largest variance, to draw them as a map, and names its clusters.

The axes are the principal components (Pearson 1901, Hotelling 1933), computed as eigenvectors of the covariance matrix,
which costs little more than reading the vectors. A vector that comes later is placed by the stored mean and components,
so points that were drawn before do not move. Three of several hundred dimensions hold only a part of the variance
(`explained` says how much): points that are close on the map are probably close, but distant ones need not be distant.
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
# A term must occur in at least this many memories of a cluster to name it.
SHARED_BY = 2


@dataclass(frozen=True, slots=True)
class Axes:
    """Holds the axes of a map.

    `mean`: float32 [dimensions]; `components`: float32 [3, dimensions]; `explained`: each axis' share (0..1) of the
    variance.
    """

    mean: np.ndarray
    components: np.ndarray
    explained: list[float]

    @classmethod
    def of(cls, vectors: np.ndarray) -> Self:
        """Computes the axes of `vectors`, float32 [rows, dimensions] with at least one row; missing axes are zero.

        The sign of each axis makes its largest coefficient positive, so that equal vectors give equal axes.
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
        """Returns the coordinates, float32 [rows, 3], of `vectors`, float32 [rows, dimensions].

        The coordinates of a row do not depend on the other rows.
        """
        centred = vectors.astype(np.float64) - self.mean
        # A matrix product would round differently with a different number of rows; einsum does not.
        return np.asarray(np.einsum("rd,ad->ra", centred, self.components.astype(np.float64)), dtype=np.float32)


def cluster_count(rows: int) -> int:
    """Returns the number of clusters for a map of `rows` vectors: at most as many as a person can tell apart."""
    return max(1, min(MOST_CLUSTERS, round(math.sqrt(rows / 6))))


def naming_terms(clusters: Sequence[int], terms: Sequence[Sequence[str]], *, count: int) -> list[list[str]]:
    """Lists, for each of `count` clusters, up to NAMING_WORDS terms that distinguish it best from the others.

    `clusters` and `terms` have one entry for each memory: its cluster, and its terms, each of which counts once. Terms
    are weighed by class-based TF-IDF (Grootendorst 2022), which treats each cluster as one document.
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
    # A single character or a number tells a reader nothing.
    shared = {term: n for term, n in own.items() if n >= SHARED_BY and len(term) > 1 and not term.isdigit()}
    weights = {term: n / size * math.log1p(average / everywhere[term]) for term, n in shared.items()}
    return sorted(weights, key=lambda term: (-weights[term], term))[:NAMING_WORDS]
