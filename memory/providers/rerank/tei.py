"""The rerank API of Hugging Face's text-embeddings-inference."""

from __future__ import annotations

from typing import Any

from memory.providers.rerank.endpoint import Shape, endpoint_kind


def _body(model: str, question: str, texts: list[str]) -> dict[str, Any]:
    return {"query": question, "texts": texts, "raw_scores": True, "truncate": True}


# The maximum batch of a server that is started without --max-client-batch-size.
SHAPE = Shape("tei", _body, "score", 32)
KIND = endpoint_kind(SHAPE)
