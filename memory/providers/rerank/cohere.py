"""The rerank API of Cohere, which others follow."""

from __future__ import annotations

from typing import Any

from memory.providers.rerank.endpoint import Shape, endpoint_kind


def body(model: str, question: str, texts: list[str]) -> dict[str, Any]:
    return {"model": model, "query": question, "documents": texts, "top_n": len(texts)}


SHAPE = Shape("cohere", body, "relevance_score", 1000)
KIND = endpoint_kind(SHAPE)
