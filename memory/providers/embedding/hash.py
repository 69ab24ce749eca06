"""A deterministic embedding without a model, for tests: texts that share terms get near vectors."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np

from memory.providers.embedding.interface import WHOLE, EmbeddingModelKind
from memory.text.analysis import terms

DEFAULT_MODEL = "hash-256"


class HashEmbedding:
    """Feature hashing (Weinberger et al. 2009) of index terms; the name ends in the dimensions (`hash-256`)."""

    def __init__(self, name: str) -> None:
        self._dimensions = int(name.rsplit("-", 1)[-1])

    @property
    def dimensions(self) -> int:
        return self._dimensions

    @property
    def parts(self) -> Sequence[slice]:
        return WHOLE

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        vectors = np.zeros((len(texts), self._dimensions), dtype=np.float32)
        for row, text in enumerate(texts):
            # The text itself is a feature too, so that a text without terms still has a direction.
            for feature in (*terms(text), "\0" + text):
                digest = hashlib.blake2b(feature.encode(), digest_size=8).digest()
                number = int.from_bytes(digest, "little")
                vectors[row, number % self._dimensions] += 1.0 if number >> 63 else -1.0
            vectors[row, 0] += 1e-3
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        return np.asarray(vectors / norms, dtype=np.float32)

    def familiarity(self, text: str) -> float:
        return 1.0

    def as_questions(self, texts: Sequence[str], vectors: np.ndarray) -> np.ndarray:
        return vectors


KIND = EmbeddingModelKind(DEFAULT_MODEL, lambda name, _: HashEmbedding(name))
