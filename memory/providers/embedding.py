"""The interface of embedding providers, and the one place that knows which there are."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Protocol

import numpy as np
from django.conf import settings
from django.core.signals import setting_changed

from memory.providers.hashing import HashEmbedding
from memory.providers.minilm import DEFAULT_MODEL as MINILM_MODEL
from memory.providers.minilm import MiniLMEmbedding

PROVIDERS = ("minilm", "openai", "hash")
OPENAI_MODEL = "text-embedding-3-small"


class EmbeddingProvider(Protocol):
    """Makes vectors of one model."""

    @property
    def dimensions(self) -> int:
        """Length of a vector. Raises EmbeddingUnavailable when that has to be asked for and nobody answers."""
        ...

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        """float32 [len(texts), dimensions], each row of unit length; the same text always gives the same row.

        Raises EmbeddingUnavailable.
        """
        ...

    def familiarity(self, text: str) -> float:
        """0..1: how much of `text` is in languages that the model has learned; search trusts it that far."""
        ...

    def frames(self) -> np.ndarray | None:
        """The vectors of questions without content (`text/question_frames.py`), float32 [frames, dimensions], which
        search takes out of the question's; None for a model that gains nothing by it or was not measured."""
        ...


def configured() -> tuple[str, str]:
    """(provider, model name) that the settings ask for."""
    provider = settings.MEMOS_EMBEDDING_PROVIDER
    default = {"minilm": MINILM_MODEL, "openai": OPENAI_MODEL, "hash": "hash-256"}[provider]
    return provider, settings.MEMOS_EMBEDDING_MODEL or default


def provider_for(provider: str, name: str, dimensions: int = 0) -> EmbeddingProvider:
    """The provider of one model; made once a process. `dimensions` 0 leaves them to the settings or the model.

    Raises ValueError for a provider that is not one of PROVIDERS.
    """
    chosen = dimensions or settings.MEMOS_EMBEDDING_DIMENSIONS
    return _make(provider, name, chosen if provider == "openai" else 0)


@lru_cache(maxsize=8)
def _make(provider: str, name: str, dimensions: int) -> EmbeddingProvider:
    if provider == "minilm":
        return MiniLMEmbedding(name, model_dir=settings.MEMOS_MODEL_DIR, threads=settings.MEMOS_EMBEDDING_THREADS)
    if provider == "openai":
        # The client takes half a second to import: only those who use it wait for it.
        from memory.providers.openai_compatible import OpenAIEmbedding  # noqa: PLC0415

        return OpenAIEmbedding(
            name,
            base_url=settings.MEMOS_EMBEDDING_BASE_URL,
            api_key=settings.MEMOS_EMBEDDING_API_KEY,
            timeout=settings.MEMOS_EMBEDDING_TIMEOUT_SECONDS,
            dimensions=dimensions,
        )
    if provider == "hash":
        return HashEmbedding(name)
    raise ValueError(f"unknown embedding provider {provider!r}: choose one of {', '.join(PROVIDERS)}")


def _forget_providers(*, setting: str, **_: object) -> None:
    if setting.startswith(("MEMOS_EMBEDDING", "MEMOS_MODEL")):
        _make.cache_clear()


setting_changed.connect(_forget_providers, dispatch_uid="memory.providers.embedding")
