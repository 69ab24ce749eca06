"""System checks: misconfiguration is named before the first request meets it (`manage.py check`)."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, Warning, register


@register(Tags.compatibility)
def check_language_model(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """A language model that is switched on but has no key stays off: say so."""
    if settings.MEMOS_LLM_ENABLED and not settings.MEMOS_LLM_API_KEY:
        return [
            Warning(
                "MEMOS_LLM_ENABLED is set without MEMOS_LLM_API_KEY: summaries stay extractive.",
                hint="Set MEMOS_LLM_API_KEY (any word does for a local endpoint), or unset MEMOS_LLM_ENABLED.",
                id="memos.W001",
            )
        ]
    return []


@register(Tags.compatibility)
def check_reranker(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """A reranker that is chosen but not told where it is leaves every query without it: say so."""
    provider = settings.MEMOS_RERANK_PROVIDER
    needed = {"off": "", "onnx": "MEMOS_RERANK_MODEL_DIR"}.get(provider, "MEMOS_RERANK_URL")
    if needed and not getattr(settings, needed):
        return [
            Warning(
                f"MEMOS_RERANK_PROVIDER={provider} is set without {needed}: nothing is reranked.",
                hint=f"Set {needed}, or MEMOS_RERANK_PROVIDER=off.",
                id="memos.W003",
            )
        ]
    return []


@register(Tags.security, deploy=True)
def check_production(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """What a server that others reach must not have."""
    found: list[CheckMessage] = []
    if settings.MEMOS_ANONYMOUS:
        found.append(
            Error(
                "MEMOS_ANONYMOUS opens every memory to everyone.",
                hint="Unset it and issue keys: manage.py issue_api_key NAME.",
                id="memos.E001",
            )
        )
    if settings.MEMOS_EMBEDDING_PROVIDER == "hash":
        found.append(
            Warning(
                "The hash embedding provider does not understand meaning.",
                hint="Set MEMOS_EMBEDDING_PROVIDER=minilm.",
                id="memos.W002",
            )
        )
    return found
