"""POST /v1/embeddings: refusals first, then vectors by the model that search uses, in the form of OpenAI's API."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
import pytest

from memory.services.gateway import embeddings
from memory.services.index.embedding_model import forget_active_model
from tests.api.test_completions import error_of

ROUTE = "/v1/embeddings"


def embed(tenant: Any, given: Any, **fields: Any) -> dict[str, Any]:
    answer = tenant.post(ROUTE, {"input": given, "model": "default", **fields})
    assert answer.status_code == 200, answer.content
    said: dict[str, Any] = answer.json()
    return said


@pytest.mark.parametrize(
    ("change", "param", "says"),
    [
        ({"input": None}, "input", "null"),
        ({"input": ""}, "input", "empty"),
        ({"input": []}, "input", "empty"),
        ({"input": ["a", ""]}, "input", "empty"),
        ({"input": {"a": 1}}, "input", "a text or a list"),
        ({"input": ["a", None]}, "input", "a text or a list"),
        ({"input": [9906, 1917]}, "input", "check_embedding_ctx_length=False"),
        ({"input": [[9906], [1917]]}, "input", "check_embedding_ctx_length=False"),
        ({"input": ["a"] * 2_049}, "input", "2048"),
        ({"encoding_format": "hex"}, "encoding_format", "hex"),
        ({"dimensions": 0}, "dimensions", "1"),
        ({"dimensions": 7}, "dimensions", "not shortened"),
    ],
)
def test_what_cannot_be_embedded_is_refused(alice, change, param, says):
    error = error_of(alice.post(ROUTE, {"input": "A cat.", **change}), 400)

    assert (error["type"], error["param"]) == ("invalid_request_error", param)
    assert says in error["message"]


def test_a_key_and_the_models_own_name_are_needed(olga, make_tenant):
    answer = olga.post(ROUTE, data={"input": "A cat."}, content_type="application/json")
    assert error_of(answer, 401)["type"] == "authentication_error"
    assert error_of(make_tenant("carol", scopes=("write",)).post(ROUTE, {"input": "A cat."}), 403)
    reader = make_tenant("carol", scopes=("read",))
    error = error_of(reader.post(ROUTE, {"input": "A cat.", "model": "text-embedding-3-small"}), 404)
    assert (error["code"], error["param"]) == ("model_not_found", "model")
    name = embed(reader, "A cat.")["model"]
    assert (
        embed(reader, "A cat.", model=name)["model"] == embed(reader, "A cat.", model=name.partition("/")[2])["model"]
    )


def test_vectors_are_of_unit_length_and_told_in_both_forms(alice):
    texts = ["A cat sleeps.", "Invoices are due in May.", "A cat sleeps."]
    plain, encoded = embed(alice, texts), embed(alice, texts, encoding_format="base64")

    assert [one["index"] for one in plain["data"]] == [0, 1, 2]
    vectors = np.array([one["embedding"] for one in plain["data"]], dtype=np.float32)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert np.array_equal(vectors[0], vectors[2])
    assert not np.array_equal(vectors[0], vectors[1])
    read = [np.frombuffer(base64.b64decode(one["embedding"]), dtype="<f4") for one in encoded["data"]]
    assert np.array_equal(np.stack(read), vectors)
    assert plain["usage"]["prompt_tokens"] == plain["usage"]["total_tokens"] == encoded["usage"]["total_tokens"] > 8
    assert (
        embed(alice, "A cat sleeps.", dimensions=vectors.shape[1])["data"][0]["embedding"]
        == plain["data"][0]["embedding"]
    )


def test_more_than_one_request_may_have_is_refused(alice, monkeypatch):
    monkeypatch.setattr(embeddings, "MAX_PARTS", 2)
    assert "Send fewer" in error_of(alice.post(ROUTE, {"input": ["a", "b", "c"]}), 400)["message"]


@pytest.fixture
def bundled(settings):
    """Use the bundled model, which is the active one."""
    settings.MEMOS_EMBEDDING_PROVIDER, settings.MEMOS_EMBEDDING_MODEL = "minilm", ""
    forget_active_model()
    yield
    forget_active_model()


def test_the_bundled_model_reads_all_of_a_long_text(bundled, alice):
    filler = "The harbour office opens at nine and closes at five on every weekday. " * 40
    alone = filler, f"{filler} The ginger cat of the lighthouse keeper is called Luna.", "A cat called Luna."
    answer = embed(alice, list(alone))
    first, second, question = (np.array(one["embedding"]) for one in answer["data"])

    assert (answer["model"], len(question)) == ("minilm/all-MiniLM-L6-v2-int8-zh", 384)
    # The sentence about the cat is far behind the part that the model reads at once.
    assert second @ question > first @ question + 0.02
