"""Clusters vectors by k-means, for the clusters of the map."""

from __future__ import annotations

import numpy as np

_ROUNDS = 6


def assign(vectors: np.ndarray, centroids: np.ndarray) -> np.ndarray:
    """Returns the row of the nearest centroid of each vector, int64 [vectors]."""
    found = np.empty(len(vectors), dtype=np.int64)
    halves = np.einsum("ij,ij->i", centroids, centroids) / 2
    for start in range(0, len(vectors), 4096):
        part = vectors[start : start + 4096]
        found[start : start + 4096] = np.argmax(part @ centroids.T - halves, axis=1)
    return found


def train(vectors: np.ndarray, count: int) -> np.ndarray:
    """Returns up to `count` centroids of `vectors`, float32 [centroids, dimensions].

    Lloyd's algorithm starts from a random choice of vectors whose seed is their number, so that the result is
    reproducible. Equal starting vectors, and centroids that no vector is nearest to, are dropped.
    """
    chosen = np.random.default_rng(len(vectors)).permutation(len(vectors))[:count]
    centroids = np.unique(vectors[chosen], axis=0)
    for _ in range(_ROUNDS):
        nearest = assign(vectors, centroids)
        order = np.argsort(nearest, kind="stable")
        # Centroids that no vector is nearest to do not appear in `nearest`, and are dropped.
        _, starts, sizes = np.unique(nearest[order], return_index=True, return_counts=True)
        centroids = np.add.reduceat(vectors[order], starts, axis=0) / sizes[:, None]
    return np.asarray(centroids, dtype=np.float32)
