"""The interface of rerankers, and the one place that knows which there are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Protocol

from django.conf import settings
from django.core.signals import setting_changed

from memory.errors import RerankUnavailable
from memory.providers.rerank_shapes import SHAPES


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


@dataclass(frozen=True, slots=True)
class RerankerKind:
    """A kind of reranker, and how it is made of the settings. It needs the setting `needs`, which names `what`."""

    needs: str
    what: str
    make: Callable[[], Reranker]


def _onnx() -> Reranker:
    # Off by default: ONNX Runtime and the HTTP client take a third of a second each to import.
    from memory.providers.rerank_onnx import OnnxReranker  # noqa: PLC0415

    return OnnxReranker(
        Path(settings.MEMOS_RERANK_MODEL_DIR).expanduser(),
        file=settings.MEMOS_RERANK_MODEL,
        max_tokens=settings.MEMOS_RERANK_MAX_TOKENS,
        threads=settings.MEMOS_RERANK_THREADS,
        timeout=settings.MEMOS_RERANK_TIMEOUT_SECONDS,
    )


def _endpoint(shape: str) -> Reranker:
    from memory.providers.rerank_endpoint import EndpointReranker  # noqa: PLC0415 - as above

    return EndpointReranker(
        shape,
        settings.MEMOS_RERANK_MODEL,
        url=settings.MEMOS_RERANK_URL,
        api_key=settings.MEMOS_RERANK_API_KEY,
        max_tokens=settings.MEMOS_RERANK_MAX_TOKENS,
        timeout=settings.MEMOS_RERANK_TIMEOUT_SECONDS,
    )


OFF = "off"
PROVIDERS: dict[str, RerankerKind] = {
    "onnx": RerankerKind("MEMOS_RERANK_MODEL_DIR", "the model's folder", _onnx),
    **{
        shape: RerankerKind("MEMOS_RERANK_URL", "the address to POST to", partial(_endpoint, shape)) for shape in SHAPES
    },
}


def configured_reranker() -> Reranker | None:
    """The reranker that the settings name, made once a process; None when it is off.

    Raises RerankUnavailable when a setting that it needs is empty.
    """
    name = settings.MEMOS_RERANK_PROVIDER
    return None if name == OFF else _make(name)


@lru_cache(maxsize=1)
def _make(name: str) -> Reranker:
    provider = PROVIDERS[name]
    if not getattr(settings, provider.needs):
        raise RerankUnavailable(f"MEMOS_RERANK_PROVIDER={name} needs {provider.needs}, {provider.what}.")
    return provider.make()


def _forget_reranker(*, setting: str, **_: object) -> None:
    if setting.startswith("MEMOS_RERANK"):
        _make.cache_clear()


setting_changed.connect(_forget_reranker, dispatch_uid="memory.providers.rerank")
