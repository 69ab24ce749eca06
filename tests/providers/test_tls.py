"""The certificate authorities are read once, however many clients are made."""

from __future__ import annotations

import ssl

import pytest

from memory.providers.chat.timed_client import create_timed_client
from memory.providers.embedding.openai import OpenAIEmbedding
from memory.providers.rerank.cohere import SHAPE
from memory.providers.rerank.endpoint import EndpointReranker
from memory.providers.tls import tls_context


def test_clients_share_a_context_that_checks_certificates(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    create = ssl.create_default_context
    monkeypatch.setattr(
        ssl, "create_default_context", lambda *given, **named: made.append(1) or create(*given, **named)
    )
    tls_context.cache_clear()
    for _ in range(2):
        create_timed_client()
        EndpointReranker(SHAPE, "m", url="https://127.0.0.1:1", api_key="", max_tokens=9, timeout=1.0)
        OpenAIEmbedding("m", base_url="https://127.0.0.1:1", api_key="", timeout=1.0, dimensions=4)

    assert made == [1]
    assert tls_context().check_hostname
    assert tls_context().verify_mode is ssl.CERT_REQUIRED
