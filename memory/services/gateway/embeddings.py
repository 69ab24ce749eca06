"""Embeds texts of other programs with the model that search uses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from memory import deadline
from memory.enums import ErrorCode
from memory.errors import InvalidInput, NotFound
from memory.services.gateway.models import USUAL
from memory.services.index.embedding_model import ActiveModel, active_model
from memory.text.passages import spans

# The bundled model reads 256 of its tokens at once, and this many estimated tokens are never more than that, including
# translations of Chinese words. The vector of a longer text is the mean of its parts, scaled to unit length.
PART_TOKENS = 150
# About half a minute of the bundled model on two cores.
MAX_PARTS = 4_000
# The number of texts between two checks of the request's time.
_AT_ONCE = 128


class EmbeddingModelUnknown(NotFound):
    """The active embedding model has another name."""

    code = ErrorCode.MODEL_NOT_FOUND.value


@dataclass(frozen=True, slots=True)
class TextVectors:
    """Vectors, float32 [texts, dimensions] of unit length, and the name of the model that made them."""

    model: str
    vectors: np.ndarray


def embed_texts(texts: Sequence[str], *, model: str, dimensions: int | None) -> TextVectors:
    """Embed texts with the active model; `model` may name it, and `dimensions` must be those of its vectors.

    Raises EmbeddingModelUnknown, EmbeddingUnavailable; InvalidInput for other dimensions or more than MAX_PARTS; and
    DeadlineExceeded.
    """
    active = active_model()
    name = f"{active.provider_name}/{active.name}"
    if model not in ("", USUAL, active.name, name):
        raise EmbeddingModelUnknown(
            f"The embedding model {model!r} is not in use here: {name!r} is, also called {USUAL!r}.",
            detail={"field": "model"},
        )
    if dimensions not in (None, active.dimensions):
        raise InvalidInput(
            f"dimensions: vectors of {name} have {active.dimensions}, and are not shortened.",
            detail={"field": "dimensions"},
        )
    parts = [_cut(active, text) for text in texts]
    if sum(map(len, parts)) > MAX_PARTS:
        raise InvalidInput(
            f"input: is too long for one request, which may have {MAX_PARTS} parts of {PART_TOKENS} tokens. Send fewer "
            "texts at once.",
            detail={"field": "input"},
        )
    return TextVectors(name, _average(_embed(active, [part for own in parts for part in own]), list(map(len, parts))))


def _cut(model: ActiveModel, text: str) -> list[str]:
    # Other models read a long text completely, or report that they do not.
    if not model.is_minilm:
        return [text]
    return [text[start:end] for start, end in spans(text, tokens=PART_TOKENS, overlap=0)] or [text]


def _embed(model: ActiveModel, texts: Sequence[str]) -> np.ndarray:
    vectors = []
    for start in range(0, len(texts), _AT_ONCE):
        deadline.check()
        vectors.append(model.embed(texts[start : start + _AT_ONCE]))
    return np.concatenate(vectors)


def _average(vectors: np.ndarray, counts: Sequence[int]) -> np.ndarray:
    starts = np.cumsum([0, *counts[:-1]])
    sums = np.add.reduceat(vectors, starts, axis=0)
    return (sums / np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-12)).astype(np.float32)
