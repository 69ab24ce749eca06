"""Calls rerankers over HTTP: text-embeddings-inference, vLLM, Cohere, Jina and servers with one of their APIs."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import httpx2
import orjson
from django.conf import settings

from memory.enums import ModelKind, ModelPurpose
from memory.errors import RerankUnavailable
from memory.providers.calls import AnsweredCall, PlannedCall, TokenUsage, announce
from memory.providers.rerank import ENDPOINTS
from memory.providers.rerank.interface import RerankerKind
from memory.providers.rerank.scores import check_scores
from memory.providers.tls import tls_context
from memory.text.tokens import beginning, count_tokens

# Only this many characters of a text per token are tokenized.
CHARS_A_TOKEN = 16


_CHECK = "Check MEMOS_RERANK_URL, MEMOS_RERANK_MODEL and MEMOS_RERANK_API_KEY"


class Shape(NamedTuple):
    """The API of a provider's servers: the request body, the key of a score, and the maximum texts per request."""

    provider: str
    body: Callable[[str, str, list[str]], dict[str, Any]]
    score: str
    batch: int


class EndpointReranker:
    """POSTs question and texts to `url` in the given `shape`.

    Each text is cut to `max_tokens` before it is sent. `timeout` (seconds) covers all requests for a question.
    """

    def __init__(self, shape: Shape, model: str, *, url: str, api_key: str, max_tokens: int, timeout: float) -> None:
        self._shape = shape
        self._model = model
        self._url = url
        self._max_tokens = max_tokens
        self._timeout = timeout
        headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._client = httpx2.Client(headers=headers, verify=tls_context())
        self.name = f"{shape.provider}/{model}" if model else shape.provider

    def scores(self, question: str, texts: Sequence[str]) -> list[float]:
        deadline = time.monotonic() + self._timeout
        cut = [beginning(text[: self._max_tokens * CHARS_A_TOKEN], self._max_tokens) for text in texts]
        size = self._shape.batch
        found: list[float] = []
        for start in range(0, len(cut), size):
            found += self._batch(question, cut[start : start + size], deadline)
        return found

    def _batch(self, question: str, texts: list[str], deadline: float) -> list[float]:
        count = partial(count_tokens, tokenizer=settings.MEMOS_TOKENIZER)
        # The model reads the question again with each of the texts.
        tokens = count(question) * len(texts) + sum(map(count, texts))
        planned = PlannedCall(ModelKind.RERANK, ModelPurpose.RERANK, self._shape.provider, self._model, tokens)
        with announce(planned) as answered:
            return self._ask(question, texts, deadline, answered)

    def _ask(self, question: str, texts: list[str], deadline: float, answered: AnsweredCall) -> list[float]:
        body = self._shape.body(self._model, question, texts)
        status, content = self._post(orjson.dumps(body), deadline)
        if status != 200:
            raise RerankUnavailable(f"The rerank endpoint {self._url} answered {status}. {_CHECK}.")
        try:
            answer = orjson.loads(content)
            rows = answer["results"] if isinstance(answer, dict) else answer
            answered.usage = TokenUsage(_read_tokens(answer), 0, None)
            by_index = [(row["index"], row[self._shape.score]) for row in rows]
            ordered = {index: float(score) for index, score in by_index}
        except (ValueError, TypeError, KeyError) as error:
            raise RerankUnavailable(
                f"The rerank endpoint {self._url} answered in another shape than MEMOS_RERANK_PROVIDER says "
                f"({type(error).__name__}): choose another of {', '.join(ENDPOINTS)}."
            ) from error
        if len(by_index) != len(texts) or set(ordered) != set(range(len(texts))):
            raise RerankUnavailable(
                f"The rerank endpoint {self._url} answered {len(by_index)} scores for {len(ordered)} different texts; "
                f"it was asked about {len(texts)}."
            )
        return check_scores([ordered[index] for index in range(len(texts))], texts, f"The rerank endpoint {self._url}")

    def _post(self, body: bytes, deadline: float) -> tuple[int, bytes]:
        """Return (status, content). `deadline` stops an answer that trickles: the client's timeout is per read."""
        headers = {"Content-Type": "application/json"}
        content = bytearray()
        try:
            remaining = max(deadline - time.monotonic(), 0.001)
            with self._client.stream("POST", self._url, content=body, headers=headers, timeout=remaining) as response:
                for part in response.iter_bytes():
                    content += part
                    if time.monotonic() > deadline:
                        raise RerankUnavailable(self._late())
                return response.status_code, bytes(content)
        except httpx2.TimeoutException as error:
            raise RerankUnavailable(self._late()) from error
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise RerankUnavailable(
                f"The rerank endpoint {self._url} did not answer: {type(error).__name__}. {_CHECK}."
            ) from error

    def _late(self) -> str:
        return (
            f"The rerank endpoint {self._url} took more than MEMOS_RERANK_TIMEOUT_SECONDS={self._timeout:g}: "
            "raise it, or use a smaller model."
        )


def endpoint_kind(shape: Shape) -> RerankerKind:
    """Return a kind of reranker at MEMOS_RERANK_URL with this API."""

    def make() -> EndpointReranker:
        return EndpointReranker(
            shape,
            settings.MEMOS_RERANK_MODEL,
            url=settings.MEMOS_RERANK_URL,
            api_key=settings.MEMOS_RERANK_API_KEY,
            max_tokens=settings.MEMOS_RERANK_MAX_TOKENS,
            timeout=settings.MEMOS_RERANK_TIMEOUT_SECONDS,
        )

    return RerankerKind("MEMOS_RERANK_URL", "the address to POST to", make)


def _read_tokens(answer: Any) -> int | None:
    """Return the tokens that Jina and vLLM report, None if there is no report."""
    usage = answer.get("usage") if isinstance(answer, dict) else None
    said = usage.get("total_tokens") if isinstance(usage, dict) else None
    return said if isinstance(said, int) and said >= 0 else None
