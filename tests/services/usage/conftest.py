"""Models behind an endpoint of the tests, and MemOS's records of their calls."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from memory.models import ModelCall
from tests.providers.endpoint import Endpoint, serving

PRICED = "gpt-4o-mini"
UNPRICED = "qwen3-32b"


def usage_of(prompt: int, completion: int, cached: int = 0) -> dict[str, Any]:
    """Return token counts as an endpoint reports them."""
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
        "prompt_tokens_details": {"cached_tokens": cached},
    }


def says(text: str, usage: dict[str, Any] | None) -> tuple[int, Any]:
    """Return a chat completion."""
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
    answer = {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": usage}
    return 200, answer


def embeds(body: dict[str, Any]) -> tuple[int, Any]:
    """Return vectors of two dimensions, and count 7 tokens for each text."""
    rows = [{"object": "embedding", "index": n, "embedding": [1.0, n + 1.0]} for n in range(len(body["input"]))]
    tokens = 7 * len(rows)
    return 200, {
        "object": "list",
        "data": rows,
        "model": "m",
        "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
    }


@pytest.fixture
def chat(settings: Any) -> Iterator[Endpoint]:
    """Start a chat model with a known price; it answers `{}` and counts 1,000 tokens, 800 of them cached, and 100."""
    with serving(lambda body: says("{}", usage_of(1000, 100, 800))) as endpoint:
        settings.MEMOS_LLM_ENABLED = True
        settings.MEMOS_LLM_API_KEY = "k-1"
        settings.MEMOS_LLM_BASE_URL = endpoint.url
        settings.MEMOS_LLM_MODEL = PRICED
        settings.MEMOS_LLM_TIMEOUT_SECONDS = 5.0
        yield endpoint


@pytest.fixture
def embedding(settings: Any) -> Iterator[Endpoint]:
    """Start an embedding model with a known price."""
    with serving(embeds) as endpoint:
        settings.MEMOS_EMBEDDING_PROVIDER = "openai"
        settings.MEMOS_EMBEDDING_MODEL = "text-embedding-3-small"
        settings.MEMOS_EMBEDDING_DIMENSIONS = 2
        settings.MEMOS_EMBEDDING_BASE_URL = endpoint.url
        settings.MEMOS_EMBEDDING_TIMEOUT_SECONDS = 5.0
        yield endpoint


def booked(**conditions: Any) -> list[ModelCall]:
    """Return the recorded calls, oldest first."""
    return list(ModelCall.objects.across_namespaces().filter(**conditions).order_by("id"))


@contextmanager
def streaming(pieces: int, usage: dict[str, Any]) -> Iterator[str]:
    """Return the address of an endpoint that streams `pieces` words one by one, then its count of tokens."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.end_headers()
            try:
                for number in range(pieces):
                    self._send({"choices": [{"index": 0, "delta": {"content": f"w{number} "}, "finish_reason": None}]})
                self._send({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
                self._send({"choices": [], "usage": usage})
                self.wfile.write(b"data: [DONE]\n\n")
            except OSError:
                pass  # The reader has left.

        def _send(self, chunk: dict[str, Any]) -> None:
            whole = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", **chunk}
            self.wfile.write(f"data: {json.dumps(whole)}\n\n".encode())
            self.wfile.flush()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
