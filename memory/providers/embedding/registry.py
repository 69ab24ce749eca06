"""The embedding model that the settings ask for. A provider's libraries are imported when it is first used."""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module

from django.conf import settings
from django.core.signals import setting_changed

from memory.providers.embedding import PROVIDERS
from memory.providers.embedding.interface import EmbeddingModelKind, EmbeddingProvider


def read_configured_model() -> tuple[str, str]:
    """(provider, model name) that the settings ask for."""
    provider = settings.MEMOS_EMBEDDING_PROVIDER
    return provider, settings.MEMOS_EMBEDDING_MODEL or find_kind(provider).default_model


def provider_for(provider: str, name: str, dimensions: int = 0) -> EmbeddingProvider:
    """The provider of one model; made once a process. `dimensions` 0 leaves them to the settings or the model.

    Raises ValueError for a provider that is not one of PROVIDERS.
    """
    chosen = dimensions or settings.MEMOS_EMBEDDING_DIMENSIONS
    return _make(provider, name, chosen if find_kind(provider).sized else 0)


def find_kind(provider: str) -> EmbeddingModelKind:
    """Returns how models of the provider are created. Raises ValueError for an unknown provider."""
    if provider not in PROVIDERS:
        raise ValueError(f"unknown embedding provider {provider!r}: choose one of {', '.join(PROVIDERS)}")
    kind: EmbeddingModelKind = import_module(f"memory.providers.embedding.{provider}").KIND
    return kind


@lru_cache(maxsize=8)
def _make(provider: str, name: str, dimensions: int) -> EmbeddingProvider:
    return find_kind(provider).make(name, dimensions)


def _forget_providers(*, setting: str, **_: object) -> None:
    if setting.startswith(("MEMOS_EMBEDDING", "MEMOS_MODEL")):
        _make.cache_clear()


setting_changed.connect(_forget_providers, dispatch_uid="memory.providers.embedding")
