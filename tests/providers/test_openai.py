"""The embedding client, with an endpoint of the tests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from django.test import override_settings

from memory.errors import EmbeddingUnavailable
from memory.models import Memory, MemoryVector
from memory.providers.embedding.openai import BATCH, OpenAIEmbedding
from memory.providers.embedding.registry import provider_for, read_configured_model
from memory.services.index.embedding_model import active_model
from memory.services.index.missing_vectors import embed_pending
from tests.providers.endpoint import Endpoint, serving

WIDTH = 4


def vector_of(text: str) -> list[float]:
    return [float(len(text)), 3.0, 0.0, 4.0]


def embeddings(body: dict[str, Any]) -> tuple[int, Any]:
    rows = [{"object": "embedding", "index": i, "embedding": vector_of(t)} for i, t in enumerate(body["input"])]
    usage = {"prompt_tokens": 1, "total_tokens": 1}
    return 200, {"object": "list", "model": body["model"], "data": rows, "usage": usage}


def rows(*vectors: list[Any]) -> tuple[int, Any]:
    return 200, {"object": "list", "model": "m", "data": [{"index": i, "embedding": v} for i, v in enumerate(vectors)]}


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with serving(embeddings) as endpoint:
        yield endpoint


def client(
    endpoint: Endpoint, *, dimensions: int = WIDTH, timeout: float = 5.0, api_key: str = "k-1"
) -> OpenAIEmbedding:
    return OpenAIEmbedding(
        "small-model", base_url=endpoint.url, api_key=api_key, timeout=timeout, dimensions=dimensions
    )


def test_the_request_is_the_one_that_the_endpoint_documents(endpoint):
    vectors = client(endpoint).embed(["hello", "a longer text"])

    (asked,) = endpoint.asked
    assert asked.path == "/v1/embeddings"
    assert asked.headers["authorization"] == "Bearer k-1"
    assert asked.body == {
        "model": "small-model",
        "input": ["hello", "a longer text"],
        "encoding_format": "float",
        "dimensions": WIDTH,
    }
    assert vectors.dtype == np.float32
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1.0)
    assert vectors[0] == pytest.approx(np.array(vector_of("hello")) / np.sqrt(50), rel=1e-5)


def test_without_dimensions_the_model_is_asked_once_and_none_are_wished_for(endpoint):
    provider = client(endpoint, dimensions=0)

    assert (provider.dimensions, provider.dimensions) == (WIDTH, WIDTH)
    assert provider.embed([]).shape == (0, WIDTH)
    assert len(endpoint.asked) == 1
    assert "dimensions" not in endpoint.asked[0].body


def test_an_endpoint_without_a_key_is_asked_with_a_placeholder(endpoint):
    client(endpoint, api_key="").embed(["hello"])
    assert endpoint.asked[0].headers["authorization"] == "Bearer none"


def test_many_texts_go_in_batches_and_come_back_in_their_order(endpoint):
    texts = ["x" * (number % 97 + 1) for number in range(2 * BATCH + 5)]

    vectors = client(endpoint).embed(texts)

    assert [len(asked.body["input"]) for asked in endpoint.asked] == [BATCH, BATCH, 5]
    assert [text for asked in endpoint.asked for text in asked.body["input"]] == texts
    wanted = np.array([vector_of(text) for text in texts], dtype=np.float32)
    assert np.allclose(vectors, wanted / np.linalg.norm(wanted, axis=1, keepdims=True), atol=1e-6)


def test_empty_input_which_endpoints_refuse_is_never_sent(endpoint):
    vectors = client(endpoint).embed(["", "  \n", "x"])
    assert vectors.shape == (3, WIDTH)
    assert all(text.strip() for text in endpoint.asked[0].body["input"])


def test_a_zero_vector_has_no_direction_and_is_refused(endpoint):
    endpoint.answer = lambda body: rows([0.0] * WIDTH)
    with pytest.raises(EmbeddingUnavailable, match="zero"):
        client(endpoint).embed(["x"])


def test_an_endpoint_that_stumbles_once_is_asked_again(endpoint):
    endpoint.answer = lambda body: embeddings(body) if len(endpoint.asked) > 1 else (500, {"error": {"message": "x"}})
    assert client(endpoint).embed(["hello"]).shape == (1, WIDTH)
    assert len(endpoint.asked) == 2


WRONG = {
    "too-few": rows([1.0] * WIDTH),
    "too-many": rows([1.0] * WIDTH, [1.0] * WIDTH, [1.0] * WIDTH),
    "too-long": rows([1.0] * (WIDTH + 1), [1.0] * (WIDTH + 1)),
    "none": (200, {"object": "list", "model": "m", "data": []}),
    "wrong-key": (401, {"error": {"message": "wrong key"}}),
    "unknown-model": (404, {"error": {"message": "no such model"}}),
    "busy": (429, {"error": {"message": "slow down"}}),
    "broken": (500, {"error": {"message": "boom"}}),
}


@pytest.mark.parametrize("answer", WRONG.values(), ids=WRONG)
def test_an_answer_that_is_no_vector_a_text_is_unavailability(endpoint, answer):
    endpoint.answer = lambda body: answer
    with pytest.raises(EmbeddingUnavailable) as unavailable:
        client(endpoint).embed(["hello", "world"])
    assert "The embedding endpoint" in unavailable.value.message
    assert "k-1" not in unavailable.value.message


JUNK = {
    "no-data": lambda texts: (200, {"object": "list"}),
    "a-page": lambda texts: (200, b"<html>a gateway's page</html>"),
    "words": lambda texts: rows(*[["a"] * WIDTH for _ in texts]),
    "uneven": lambda texts: rows(*[[1.0] * (WIDTH - number) for number in range(len(texts))]),
    "no-numbers": lambda texts: rows(*[[float("nan")] * WIDTH for _ in texts]),
    "endless": lambda texts: rows(*[[float("inf")] * WIDTH for _ in texts]),
}


@pytest.mark.parametrize("answer", JUNK.values(), ids=JUNK)
def test_an_answer_in_another_shape_is_unavailability(endpoint, answer):
    endpoint.answer = lambda body: answer(body["input"])
    with pytest.raises(EmbeddingUnavailable):
        client(endpoint).embed(["hello", "world"])


def test_an_endpoint_that_does_not_answer_in_time_is_unavailable(endpoint):
    endpoint.answer = lambda body: (200, endpoint.closing.wait(30))
    with pytest.raises(EmbeddingUnavailable, match="did not answer for small-model: APITimeoutError"):
        client(endpoint, timeout=0.15).embed(["hello"])


def test_an_endpoint_that_is_not_there_is_unavailable():
    with serving(embeddings) as gone:
        pass
    with pytest.raises(EmbeddingUnavailable, match="Check MEMOS_EMBEDDING_BASE_URL"):
        assert client(gone, dimensions=0).dimensions


def test_the_settings_make_the_provider_and_a_change_makes_another(endpoint):
    options = {
        "MEMOS_EMBEDDING_PROVIDER": "openai",
        "MEMOS_EMBEDDING_MODEL": "local-model",
        "MEMOS_EMBEDDING_BASE_URL": endpoint.url,
        "MEMOS_EMBEDDING_API_KEY": "k-2",
    }
    with override_settings(**options):
        assert read_configured_model() == ("openai", "local-model")
        provider = provider_for(*read_configured_model())
        assert provider_for(*read_configured_model()) is provider
        assert provider.dimensions == WIDTH
        assert provider.familiarity("限流") == 1.0
    assert endpoint.asked[0].headers["authorization"] == "Bearer k-2"
    assert read_configured_model() == ("hash", "hash-256")
    with override_settings(**options):
        assert provider_for(*read_configured_model()) is not provider


def test_every_provider_has_a_model_of_its_own(settings):
    for provider, name in [
        ("minilm", "all-MiniLM-L6-v2-int8-zh"),
        ("openai", "text-embedding-3-small"),
        ("hash", "hash-256"),
    ]:
        settings.MEMOS_EMBEDDING_PROVIDER = provider
        assert read_configured_model() == (provider, name)


def test_an_unknown_provider_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match="unknown embedding provider 'word2vec': choose one of minilm, openai, hash"):
        provider_for("word2vec", "x")


def test_what_was_stored_while_the_endpoint_was_broken_is_embedded_when_it_is_back(alice, remember, settings, endpoint):
    settings.MEMOS_EMBEDDING_PROVIDER = "openai"
    settings.MEMOS_EMBEDDING_BASE_URL = endpoint.url
    settings.MEMOS_EMBEDDING_DIMENSIONS = WIDTH
    assert active_model().dimensions == WIDTH
    endpoint.answer = lambda body: (400, {"error": {"message": "no"}})
    kept = remember(alice, "I moved to Lisbon.")
    assert not MemoryVector.objects.across_namespaces().exists()
    assert embed_pending() == 0  # a text that is refused keeps no other out
    endpoint.answer = lambda body: (503, {"error": {"message": "away"}})
    with pytest.raises(EmbeddingUnavailable):
        embed_pending()

    endpoint.answer = embeddings
    assert embed_pending() == 1
    assert str(MemoryVector.objects.across_namespaces().get().memory_id) == kept
    assert embed_pending() == 0


@pytest.mark.parametrize("kind", sorted(set(JUNK) - {"uneven"}))
def test_a_memory_is_kept_whatever_the_endpoint_answers(alice, remember, settings, endpoint, kind):
    settings.MEMOS_EMBEDDING_PROVIDER = "openai"
    settings.MEMOS_EMBEDDING_BASE_URL = endpoint.url
    settings.MEMOS_EMBEDDING_DIMENSIONS = WIDTH
    active_model()
    endpoint.answer = lambda body: JUNK[kind](body["input"])

    assert remember(alice, "I moved to Lisbon.")
    assert Memory.objects.across_namespaces().count() == 1
    assert not MemoryVector.objects.across_namespaces().exists()
