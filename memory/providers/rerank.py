"""The interface of rerankers, and the one place that knows which there are."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Protocol

from django.conf import settings
from django.core.signals import setting_changed

from memory.errors import RerankUnavailable

ENDPOINTS = ("tei", "vllm", "cohere", "jina")
PROVIDERS = ("off", "onnx", *ENDPOINTS)
# No model's scores come near; NaN is not below it either.
LARGEST = 1e9


class Reranker(Protocol):
    """Reads a question and a text together, and says how well the text answers."""

    @property
    def name(self) -> str:
        """What people read: the provider and its model."""
        ...

    def scores(self, question: str, texts: Sequence[str]) -> list[float]:
        """A finite score a text, in their order; higher is better, the scale is the model's own.

        Raises RerankUnavailable, also when MEMOS_RERANK_TIMEOUT_SECONDS are over.
        """
        ...


def configured_reranker() -> Reranker | None:
    """The reranker that the settings name, made once a process; None when it is off.

    Raises RerankUnavailable when a setting that it needs is empty.
    """
    provider = settings.MEMOS_RERANK_PROVIDER
    return None if provider == "off" else _make(provider)


def checked(scores: Sequence[float], texts: Sequence[str], source: str) -> list[float]:
    """The scores, one a text and each a number that can be reckoned with. Raises RerankUnavailable, naming `source`."""
    if len(scores) != len(texts):
        raise RerankUnavailable(f"{source} gave {len(scores)} scores to {len(texts)} texts.")
    if not all(abs(score) < LARGEST for score in scores):
        raise RerankUnavailable(f"{source} gave a score that is not a number, or beyond {LARGEST:g}.")
    return [float(score) for score in scores]


@lru_cache(maxsize=1)
def _make(provider: str) -> Reranker:
    timeout = settings.MEMOS_RERANK_TIMEOUT_SECONDS
    max_tokens = settings.MEMOS_RERANK_MAX_TOKENS
    if provider == "onnx":
        from memory.providers.rerank_onnx import OnnxReranker  # noqa: PLC0415 - off by default, like what follows

        if not settings.MEMOS_RERANK_MODEL_DIR:
            raise RerankUnavailable("MEMOS_RERANK_PROVIDER=onnx needs MEMOS_RERANK_MODEL_DIR, the model's folder.")
        return OnnxReranker(
            Path(settings.MEMOS_RERANK_MODEL_DIR).expanduser(),
            file=settings.MEMOS_RERANK_MODEL,
            max_tokens=max_tokens,
            threads=settings.MEMOS_RERANK_THREADS,
            timeout=timeout,
        )
    from memory.providers.rerank_endpoint import EndpointReranker  # noqa: PLC0415

    if not settings.MEMOS_RERANK_URL:
        raise RerankUnavailable(f"MEMOS_RERANK_PROVIDER={provider} needs MEMOS_RERANK_URL, the address to POST to.")
    return EndpointReranker(
        provider,
        settings.MEMOS_RERANK_MODEL,
        url=settings.MEMOS_RERANK_URL,
        api_key=settings.MEMOS_RERANK_API_KEY,
        max_tokens=max_tokens,
        timeout=timeout,
    )


def _forget_reranker(*, setting: str, **_: object) -> None:
    if setting.startswith("MEMOS_RERANK"):
        _make.cache_clear()


setting_changed.connect(_forget_reranker, dispatch_uid="memory.providers.rerank")
