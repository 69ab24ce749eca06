"""Finding clusters in clustered vectors."""

from __future__ import annotations

import numpy as np
import pytest

from memory.retrieval import kmeans


def clustered(count: int, *, dimensions: int = 64, clusters: int = 20, seed: int = 1) -> np.ndarray:
    chance = np.random.default_rng(seed)
    middles = chance.standard_normal((clusters, dimensions))
    rows = middles[chance.integers(0, clusters, count)] + 0.6 * chance.standard_normal((count, dimensions))
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def test_training_puts_a_centroid_into_every_cluster_and_is_the_same_each_time():
    vectors = clustered(2000)
    centroids = kmeans.train(vectors, 60)
    assert np.array_equal(centroids, kmeans.train(vectors, 60))
    nearest = kmeans.assign(vectors, centroids)
    assert (
        np.linalg.norm(vectors - centroids[nearest], axis=1).mean()
        < 0.75 * np.linalg.norm(vectors - vectors.mean(axis=0), axis=1).mean()
    )


@pytest.mark.parametrize(("vectors", "count"), [(np.ones((50, 8), np.float32), 7), (clustered(3), 10)])
def test_there_are_never_more_centroids_than_different_vectors(vectors, count):
    assert len(kmeans.train(vectors, count)) == len(np.unique(vectors, axis=0))


def test_the_nearest_centroid_is_the_one_with_the_smallest_distance():
    vectors, centroids = clustered(300), clustered(40, seed=2) * 0.8
    distances = np.linalg.norm(vectors[:, None] - centroids[None], axis=2)
    assert np.array_equal(kmeans.assign(vectors, centroids), distances.argmin(axis=1))
