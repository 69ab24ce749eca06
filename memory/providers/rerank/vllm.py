"""The rerank API of vLLM's server."""

from __future__ import annotations

from typing import Any

from memory.providers.rerank import cohere
from memory.providers.rerank.endpoint import Shape, endpoint_kind


def _body(model: str, question: str, texts: list[str]) -> dict[str, Any]:
    # -1 means as many tokens as the model reads; without it vLLM refuses longer texts.
    return {**cohere.body(model, question, texts), "truncate_prompt_tokens": -1}


SHAPE = Shape("vllm", _body, "relevance_score", 1000)
KIND = endpoint_kind(SHAPE)
