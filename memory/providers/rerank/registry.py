"""Finds the reranker of the settings, and imports its libraries on first use."""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module

from django.conf import settings
from django.core.signals import setting_changed

from memory.errors import RerankUnavailable
from memory.providers.rerank import OFF
from memory.providers.rerank.interface import Reranker, RerankerKind


def find_reranker() -> Reranker | None:
    """Return the reranker of the settings, created once per process, or None if it is off.

    Raise RerankUnavailable if a setting that it needs is empty.
    """
    name = settings.MEMOS_RERANK_PROVIDER
    return None if name == OFF else _make(name)


def find_kind(name: str) -> RerankerKind:
    """Return the kind of one of `PROVIDERS`."""
    kind: RerankerKind = import_module(f"memory.providers.rerank.{name}").KIND
    return kind


@lru_cache(maxsize=1)
def _make(name: str) -> Reranker:
    kind = find_kind(name)
    if not getattr(settings, kind.needs):
        raise RerankUnavailable(f"MEMOS_RERANK_PROVIDER={name} needs {kind.needs}, {kind.what}.")
    return kind.make()


def _forget_reranker(*, setting: str, **_: object) -> None:
    if setting.startswith("MEMOS_RERANK"):
        _make.cache_clear()


setting_changed.connect(_forget_reranker, dispatch_uid="memory.providers.rerank")
