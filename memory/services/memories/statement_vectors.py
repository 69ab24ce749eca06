"""Embeds the statements that settling compares, and caches their vectors."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np

from memory.caches import Cache, for_seconds
from memory.services.index.embedding_model import ActiveModel

# The turns of a session are near the same earlier ones, so vectors are used again. 2,000 vectors are 3 MB.
MAX_KEPT = 2_000
KEPT_SECONDS = 600.0

_vectors: Cache[tuple[int, bytes], np.ndarray] = for_seconds(KEPT_SECONDS, most=MAX_KEPT)


def embed(model: ActiveModel, texts: Sequence[str]) -> dict[str, np.ndarray]:
    """Return the vector, float32 [dimensions], of each of the texts by the model. Raises EmbeddingUnavailable."""
    known = {text: _vectors.get(_key(model, text)) for text in texts}
    vectors = {text: vector for text, vector in known.items() if vector is not None}
    new = [text for text in known if text not in vectors]
    if new:
        for text, vector in zip(new, model.embed(new), strict=True):
            # A slice would keep the whole batch alive.
            vectors[text] = _vectors.put(_key(model, text), vector.copy())
    return vectors


def measure_cosines(model: ActiveModel, statement: str, others: Sequence[str]) -> list[float] | None:
    """Return the cosine (−1..1) of a statement with each of the others; None for a model whose cosines settling can't
    read.

    Raises EmbeddingUnavailable.
    """
    if not model.is_minilm:
        return None
    own = model.provider.parts[0]
    vectors = {text: _unit(vector[own]) for text, vector in embed(model, [statement, *others]).items()}
    return [float(vectors[statement] @ vectors[other]) for other in others]


def _unit(vector: np.ndarray) -> np.ndarray:
    return np.asarray(vector / np.linalg.norm(vector))


def _key(model: ActiveModel, text: str) -> tuple[int, bytes]:
    return model.id, hashlib.sha256(text.encode()).digest()
