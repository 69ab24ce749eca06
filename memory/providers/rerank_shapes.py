"""How the kinds of rerank servers are asked; an entry of SHAPES is all that another kind takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple


class Shape(NamedTuple):
    """How one kind of server is asked: the body, the key of a score, the texts that it takes in one request."""

    body: Callable[[str, str, list[str]], dict[str, Any]]
    score: str
    batch: int


def _tei(model: str, question: str, texts: list[str]) -> dict[str, Any]:
    return {"query": question, "texts": texts, "raw_scores": True, "truncate": True}


def _cohere(model: str, question: str, texts: list[str]) -> dict[str, Any]:
    return {"model": model, "query": question, "documents": texts, "top_n": len(texts)}


def _vllm(model: str, question: str, texts: list[str]) -> dict[str, Any]:
    # -1: as many as the model reads; without it vLLM refuses a longer text.
    return {**_cohere(model, question, texts), "truncate_prompt_tokens": -1}


def _jina(model: str, question: str, texts: list[str]) -> dict[str, Any]:
    return {**_cohere(model, question, texts), "return_documents": False}


SHAPES: dict[str, Shape] = {
    # As many texts as TEI takes when it is started without --max-client-batch-size.
    "tei": Shape(_tei, "score", 32),
    "vllm": Shape(_vllm, "relevance_score", 1000),
    "cohere": Shape(_cohere, "relevance_score", 1000),
    "jina": Shape(_jina, "relevance_score", 1000),
}
