"""The arithmetic of IVF lists, on vectors that lie in clusters."""

from __future__ import annotations

import uuid

import numpy as np
import pytest

from memory.retrieval import ivf


def clustered(count: int, *, dimensions: int = 64, clusters: int = 20, seed: int = 1) -> np.ndarray:
    chance = np.random.default_rng(seed)
    middles = chance.standard_normal((clusters, dimensions))
    rows = middles[chance.integers(0, clusters, count)] + 0.6 * chance.standard_normal((count, dimensions))
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def filed(vectors: np.ndarray, count: int) -> tuple[list[uuid.UUID], np.ndarray, list[bytes]]:
    ids = [uuid.UUID(int=number) for number in range(len(vectors))]
    centroids = ivf.train(vectors, count)
    nearest = ivf.assign(vectors, centroids)
    codes = ivf.encode(ids, vectors, centroids[nearest])
    return ids, centroids, [codes[nearest == row].tobytes() for row in range(len(centroids))]


def test_training_puts_a_centroid_into_every_cluster_and_is_the_same_each_time():
    vectors = clustered(2000)
    centroids = ivf.train(vectors, 60)
    assert np.array_equal(centroids, ivf.train(vectors, 60))
    nearest = ivf.assign(vectors, centroids)
    assert (
        np.linalg.norm(vectors - centroids[nearest], axis=1).mean()
        < 0.75 * np.linalg.norm(vectors - vectors.mean(axis=0), axis=1).mean()
    )


@pytest.mark.parametrize(("vectors", "count"), [(np.ones((50, 8), np.float32), 7), (clustered(3), 10)])
def test_there_are_never_more_centroids_than_different_vectors(vectors, count):
    assert len(ivf.train(vectors, count)) == len(np.unique(vectors, axis=0))


def test_the_nearest_centroid_is_the_one_with_the_smallest_distance():
    vectors, centroids = clustered(300), clustered(40, seed=2) * 0.8
    distances = np.linalg.norm(vectors[:, None] - centroids[None], axis=2)
    assert np.array_equal(ivf.assign(vectors, centroids), distances.argmin(axis=1))


@pytest.mark.parametrize("dimensions", [64, 100, 384])
def test_estimates_follow_the_distances(dimensions):
    vectors = clustered(3000, dimensions=dimensions)
    question = clustered(1, dimensions=dimensions, seed=1)[0]
    ids, centroids, packed = filed(vectors, 30)

    found = ivf.scan_lists(question, centroids, packed, are_all=True)

    order = [uuid.UUID(bytes=raw).int for raw in found.codes["id"].tolist()]
    true = np.linalg.norm(vectors[order] - question, axis=1) ** 2
    assert sorted(order) == [identity.int for identity in ids]
    assert np.corrcoef(found.distances, true)[0, 1] > 0.85
    best = {uuid.UUID(identity).int for identity in found.best(200)}
    assert len(best & set(np.argsort(np.linalg.norm(vectors - question, axis=1))[:10].tolist())) >= 9


def test_a_memory_with_several_codes_is_named_once():
    vectors = clustered(40)
    ids = [uuid.UUID(int=number // 2) for number in range(40)]
    middle = vectors.mean(axis=0, keepdims=True)
    packed = [ivf.encode(ids, vectors, np.repeat(middle, 40, axis=0)).tobytes()]
    best = ivf.scan_lists(vectors[7], middle, packed, are_all=True).best(100)
    assert best[0] == str(ids[6])
    assert sorted(best) == sorted({str(identity) for identity in ids})


def test_lists_without_codes_have_no_best():
    assert ivf.scan_lists(np.ones(8, np.float32), np.zeros((2, 8), np.float32), [b"", b""], are_all=True).best(5) == []


def test_lists_are_chosen_until_they_hold_enough():
    centroids = np.eye(4, dtype=np.float32)
    known = ivf.CoarseQuantizer.of(uuid.uuid4(), [7, 8, 9, 10], centroids, [100, 5, 5, 100])
    question = np.array([0.1, 0.9, 0.5, 0.0], dtype=np.float32)
    assert known.choose_lists(question, codes=5).tolist() == [1]
    assert known.choose_lists(question, codes=6).tolist() == [1, 2]
    assert known.choose_lists(question, codes=11).tolist() == [1, 2, 0]
    assert known.choose_lists(question, codes=10_000).tolist() == [1, 2, 0, 3]


def test_a_code_is_packed_and_read_again():
    vectors = clustered(3, dimensions=100)
    ids = [uuid.uuid4() for _ in vectors]
    codes = ivf.encode(ids, vectors, np.zeros_like(vectors))
    again = np.frombuffer(codes.tobytes(), dtype=ivf.code_dtype(100))
    assert ivf.read_ids(again) == ids
    assert again["radius"] == pytest.approx([1, 1, 1])
    assert again["signs"].shape == (3, 2)
