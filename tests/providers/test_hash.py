from __future__ import annotations

import numpy as np
import pytest

from memory.providers.embedding.hash import HashEmbedding


def test_vectors_are_of_unit_length_and_always_the_same() -> None:
    texts = ["", "   ", "the", "😀", "hello world", "限流", "x" * 20_000]
    vectors = HashEmbedding("hash-64").embed(texts)
    assert vectors.shape == (len(texts), 64)
    assert vectors.dtype == np.float32
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1.0)
    assert np.array_equal(HashEmbedding("hash-64").embed(texts[::-1])[::-1], vectors)
    assert HashEmbedding("hash-64").embed([]).shape == (0, 64)


def test_texts_that_share_words_are_nearer() -> None:
    tea, also_tea, ship = HashEmbedding("hash-256").embed(
        ["Ann likes green tea.", "green tea for Ann", "The ship has docked."]
    )
    assert tea @ also_tea > 0.5 > tea @ ship
