"""The rerank API of Jina."""

from __future__ import annotations

from typing import Any

from memory.providers.rerank import cohere
from memory.providers.rerank.endpoint import Shape, endpoint_kind


def _body(model: str, question: str, texts: list[str]) -> dict[str, Any]:
    return {**cohere.body(model, question, texts), "return_documents": False}


SHAPE = Shape("jina", _body, "relevance_score", 1000)
KIND = endpoint_kind(SHAPE)
