"""Embeddings from any OpenAI-compatible endpoint: OpenAI, Ollama, vLLM, text-embeddings-inference."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import openai
from django.conf import settings

from memory.enums import ModelKind, ModelPurpose
from memory.errors import EmbeddingRefused, EmbeddingUnavailable
from memory.providers.calls import PlannedCall, TokenUsage, announce
from memory.providers.embedding.interface import WHOLE, EmbeddingModelKind
from memory.providers.tls import tls_context
from memory.text.tokens import beginning, count_tokens

# The value of MEMOS_EMBEDDING_PROVIDER.
PROVIDER = "openai"
BATCH = 128
# OpenAI's models read at most this many tokens; the rest of a longer text is not embedded.
MAX_TOKENS = 8000


class OpenAIEmbedding:
    """Calls `POST {base_url}/embeddings`; `dimensions` 0 asks the model for a vector once to learn its length."""

    def __init__(self, name: str, *, base_url: str, api_key: str, timeout: float, dimensions: int) -> None:
        self._name = name
        self._dimensions = dimensions
        self._asks_for_dimensions = dimensions > 0
        self._client = openai.OpenAI(
            # Local servers want no key, the client insists on one.
            api_key=api_key or "none",
            base_url=base_url or None,
            timeout=timeout,
            max_retries=1,
            http_client=openai.DefaultHttpxClient(verify=tls_context()),
        )

    @property
    def dimensions(self) -> int:
        if not self._dimensions:
            self._dimensions = int(self.embed(["dimensions"]).shape[1])
        return self._dimensions

    @property
    def parts(self) -> Sequence[slice]:
        return WHOLE

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        parts = [self._embed_part(list(texts[i : i + BATCH])) for i in range(0, len(texts), BATCH)]
        if len({part.shape[1] for part in parts}) > 1:
            raise EmbeddingUnavailable("The embedding endpoint answered vectors of different lengths.")
        vectors = np.concatenate(parts) if parts else np.zeros((0, self.dimensions), dtype=np.float32)
        return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), dtype=np.float32)

    def familiarity(self, text: str) -> float:
        return 1.0

    def as_questions(self, texts: Sequence[str], vectors: np.ndarray) -> np.ndarray:
        return vectors

    def _embed_part(self, texts: list[str]) -> np.ndarray:
        # An endpoint refuses empty input; a space is the nearest that it takes.
        shortened = [beginning(text, MAX_TOKENS) if text.strip() else " ." for text in texts]
        tokens = sum(count_tokens(text, settings.MEMOS_TOKENIZER) for text in shortened)
        planned = PlannedCall(ModelKind.EMBEDDING, ModelPurpose.EMBED, PROVIDER, self._name, tokens)
        with announce(planned) as answered:
            answer = self._ask(shortened)
            vectors = _vectors(answer)
            answered.usage = TokenUsage(_prompt_tokens(answer), 0, None)
        wanted = self._dimensions or vectors.shape[-1]
        if vectors.shape != (len(texts), wanted):
            raise EmbeddingUnavailable(
                f"The embedding endpoint answered vectors of shape {vectors.shape} to {len(texts)} texts; "
                f"expected {self._dimensions or 'any number of'} dimensions."
            )
        return vectors

    def _ask(self, texts: list[str]) -> Any:
        try:
            return self._client.embeddings.create(
                model=self._name,
                input=texts,
                encoding_format="float",
                dimensions=self._dimensions if self._asks_for_dimensions else openai.omit,
            )
        except (openai.BadRequestError, openai.UnprocessableEntityError) as error:
            raise EmbeddingRefused(
                f"{self._name} refuses one of {len(texts)} texts: {type(error).__name__}."
            ) from error
        except openai.OpenAIError as error:
            raise EmbeddingUnavailable(
                f"The embedding endpoint {self._client.base_url} did not answer for {self._name}: "
                f"{type(error).__name__}. Check MEMOS_EMBEDDING_BASE_URL and MEMOS_EMBEDDING_API_KEY."
            ) from error


def _prompt_tokens(answer: Any) -> int | None:
    """Returns the number of tokens that the endpoint reports to have read, or None."""
    said = getattr(getattr(answer, "usage", None), "prompt_tokens", None)
    return said if isinstance(said, int) and said >= 0 else None


def _vectors(answer: Any) -> np.ndarray:
    """The answer's rows as float32, each of them a direction. Raises EmbeddingUnavailable for anything else."""
    try:
        vectors = np.asarray([row.embedding for row in answer.data], dtype=np.float64)
    except (TypeError, AttributeError, ValueError) as error:
        raise EmbeddingUnavailable("The embedding endpoint answered something that is no list of vectors.") from error
    if vectors.ndim != 2 or not np.isfinite(vectors).all() or not vectors.any(axis=1).all():
        raise EmbeddingUnavailable("The embedding endpoint answered vectors that are empty, zero or not finite.")
    return vectors.astype(np.float32)


def _make(name: str, dimensions: int) -> OpenAIEmbedding:
    return OpenAIEmbedding(
        name,
        base_url=settings.MEMOS_EMBEDDING_BASE_URL,
        api_key=settings.MEMOS_EMBEDDING_API_KEY,
        timeout=settings.MEMOS_EMBEDDING_TIMEOUT_SECONDS,
        dimensions=dimensions,
    )


KIND = EmbeddingModelKind("text-embedding-3-small", _make, sized=True)
