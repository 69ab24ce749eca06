"""The interface of embedding providers, and the one place that knows which there are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

import numpy as np
from django.conf import settings
from django.core.signals import setting_changed

from memory.providers import hashing, minilm
from memory.providers.hashing import HashEmbedding
from memory.providers.minilm import MiniLMEmbedding


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


@dataclass(frozen=True, slots=True)
class EmbeddingModelKind:
    """How the models of a provider are made of the settings, by their name and dimensions.

    `default_model` is used where the settings name none. Of models that are not `sized` dimensions are always 0.
    """

    default_model: str
    make: Callable[[str, int], EmbeddingProvider]
    sized: bool = False


def _minilm(name: str, dimensions: int) -> EmbeddingProvider:
    return MiniLMEmbedding(name, model_dir=settings.MEMOS_MODEL_DIR, threads=settings.MEMOS_EMBEDDING_THREADS)


def _openai(name: str, dimensions: int) -> EmbeddingProvider:
    # The client takes half a second to import: only those who use it wait for it.
    from memory.providers.openai_compatible import OpenAIEmbedding  # noqa: PLC0415

    return OpenAIEmbedding(
        name,
        base_url=settings.MEMOS_EMBEDDING_BASE_URL,
        api_key=settings.MEMOS_EMBEDDING_API_KEY,
        timeout=settings.MEMOS_EMBEDDING_TIMEOUT_SECONDS,
        dimensions=dimensions,
    )


def _hash(name: str, dimensions: int) -> EmbeddingProvider:
    return HashEmbedding(name)


PROVIDERS: dict[str, EmbeddingModelKind] = {
    "minilm": EmbeddingModelKind(minilm.DEFAULT_MODEL, _minilm),
    "openai": EmbeddingModelKind("text-embedding-3-small", _openai, sized=True),
    "hash": EmbeddingModelKind(hashing.DEFAULT_MODEL, _hash),
}


def configured_model() -> tuple[str, str]:
    """(provider, model name) that the settings ask for."""
    provider = settings.MEMOS_EMBEDDING_PROVIDER
    return provider, settings.MEMOS_EMBEDDING_MODEL or PROVIDERS[provider].default_model


def provider_for(provider: str, name: str, dimensions: int = 0) -> EmbeddingProvider:
    """The provider of one model; made once a process. `dimensions` 0 leaves them to the settings or the model.

    Raises ValueError for a provider that is not one of PROVIDERS.
    """
    if provider not in PROVIDERS:
        raise ValueError(f"unknown embedding provider {provider!r}: choose one of {', '.join(PROVIDERS)}")
    chosen = dimensions or settings.MEMOS_EMBEDDING_DIMENSIONS
    return _make(provider, name, chosen if PROVIDERS[provider].sized else 0)


@lru_cache(maxsize=8)
def _make(provider: str, name: str, dimensions: int) -> EmbeddingProvider:
    return PROVIDERS[provider].make(name, dimensions)


def _forget_providers(*, setting: str, **_: object) -> None:
    if setting.startswith(("MEMOS_EMBEDDING", "MEMOS_MODEL")):
        _make.cache_clear()


setting_changed.connect(_forget_providers, dispatch_uid="memory.providers.embedding")
