"""Finds clusters of vectors by k-means, for the topics of the map."""

from __future__ import annotations

import numpy as np

_ROUNDS = 6


def assign(vectors: np.ndarray, centroids: np.ndarray) -> np.ndarray:
    """Returns for each of `vectors` the row of the nearest of `centroids`; int64 [vectors]."""
    found = np.empty(len(vectors), dtype=np.int64)
    halves = np.einsum("ij,ij->i", centroids, centroids) / 2
    for start in range(0, len(vectors), 4096):
        part = vectors[start : start + 4096]
        found[start : start + 4096] = np.argmax(part @ centroids.T - halves, axis=1)
    return found


def train(vectors: np.ndarray, count: int) -> np.ndarray:
    """Returns at most `count` centroids of `vectors`, float32; fewer when the vectors are fewer or equal.

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
