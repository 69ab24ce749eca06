"""Rerank endpoints in every supported format, served by the tests."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pytest

from memory.errors import RerankUnavailable
from memory.providers.rerank import ENDPOINTS, tei
from memory.providers.rerank.endpoint import EndpointReranker, Shape
from memory.providers.rerank.registry import find_reranker
from tests.providers.endpoint import Endpoint, serving

TEXTS = ["short", "a longer text", "no"]
LENGTHS = [float(len(text)) for text in TEXTS]


def shape_of(provider: str) -> Shape:
    shape: Shape = import_module(f"memory.providers.rerank.{provider}").SHAPE
    return shape


def texts_of(body: dict[str, Any]) -> list[str]:
    return body["texts"] if "texts" in body else body["documents"]


def in_shape(body: dict[str, Any], scores: list[tuple[Any, Any]]) -> tuple[int, Any]:
    if "texts" in body:
        return 200, [{"index": index, "score": score} for index, score in scores]
    return 200, {"id": "1", "results": [{"index": index, "relevance_score": score} for index, score in scores]}


def by_length(body: dict[str, Any]) -> tuple[int, Any]:
    """Answer with the best text first, as such servers do."""
    scores = [(index, len(text)) for index, text in enumerate(texts_of(body))]
    return in_shape(body, sorted(scores, key=lambda row: -row[1]))


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with serving(by_length) as endpoint:
        yield endpoint


def client(
    endpoint: Endpoint, provider: str = "cohere", *, api_key: str = "k-1", max_tokens: int = 512, timeout: float = 5.0
) -> EndpointReranker:
    url = f"{endpoint.url}/rerank"
    return EndpointReranker(shape_of(provider), "m-1", url=url, api_key=api_key, max_tokens=max_tokens, timeout=timeout)


@pytest.mark.parametrize("provider", ENDPOINTS)
@pytest.mark.parametrize("status", [400, 401, 404, 413, 429, 500, 503])
def test_a_refusal_is_unavailability_without_the_key(endpoint, provider, status):
    endpoint.answer = lambda body: (status, {"error": "no"})
    with pytest.raises(RerankUnavailable, match=rf"answered {status}\. Check MEMOS_RERANK_URL") as refused:
        client(endpoint, provider).scores("?", TEXTS)
    assert "k-1" not in refused.value.message


WRONG = {
    "too-few": [(0, 1.0), (1, 2.0)],
    "too-many": [(0, 1.0), (1, 2.0), (2, 3.0), (3, 4.0)],
    "twice": [(0, 1.0), (1, 2.0), (1, 3.0)],
    "out-of-range": [(0, 1.0), (1, 2.0), (3, 3.0)],
    "negative-index": [(0, 1.0), (1, 2.0), (-1, 3.0)],
    "no-index": [(0, 1.0), (1, 2.0), (None, 3.0)],
    "none": [],
}


@pytest.mark.parametrize("provider", ENDPOINTS)
@pytest.mark.parametrize("scores", WRONG.values(), ids=WRONG)
def test_scores_that_are_not_one_a_text_are_refused(endpoint, provider, scores):
    endpoint.answer = lambda body: in_shape(body, scores)
    with pytest.raises(RerankUnavailable, match="it was asked about 3"):
        client(endpoint, provider).scores("?", TEXTS)


@pytest.mark.parametrize("score", [float("nan"), float("inf"), None, "high", [1], 1e12])
def test_a_score_that_is_no_number_is_refused(endpoint, score):
    endpoint.answer = lambda body: in_shape(body, [(0, 1.0), (1, score), (2, 3.0)])
    with pytest.raises(RerankUnavailable, match=r"another shape|not a number"):
        client(endpoint).scores("?", TEXTS)


JUNK = {
    "a-page": b"<html>a gateway's page</html>",
    "nothing": b"",
    "a-number": 7,
    "no-results": {"data": []},
    "results-no-list": {"results": 3},
    "rows-no-objects": {"results": [1, 2, 3]},
    "index-no-number": {"results": [{"index": [0], "relevance_score": 1.0}]},
    "bare-words": ["a", "b", "c"],
}


@pytest.mark.parametrize("provider", ENDPOINTS)
@pytest.mark.parametrize("reply", JUNK.values(), ids=JUNK)
def test_an_answer_in_another_shape_says_which_there_are(endpoint, provider, reply):
    endpoint.answer = lambda body: (200, reply)
    with pytest.raises(RerankUnavailable, match="choose another of tei, vllm, cohere, jina"):
        client(endpoint, provider).scores("?", TEXTS)


def test_the_shape_of_another_server_is_found_out(endpoint):
    endpoint.answer = lambda body: (200, [{"index": 0, "score": 1.0}])
    with pytest.raises(RerankUnavailable, match="another shape"):
        client(endpoint, "cohere").scores("?", ["x"])


def test_an_endpoint_that_does_not_answer_in_time_is_given_up(endpoint):
    endpoint.answer = lambda body: (200, endpoint.closing.wait(30))
    with pytest.raises(RerankUnavailable, match=r"MEMOS_RERANK_TIMEOUT_SECONDS=0\.15: raise it"):
        client(endpoint, timeout=0.15).scores("?", TEXTS)


def test_an_answer_that_trickles_in_is_given_up():
    """Each byte arrives within the client's time limit, but all of them together do not."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        ended = threading.Event()

        def trickle() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
                while not ended.is_set():
                    try:
                        connection.sendall(b" ")
                    except OSError:
                        return
                    time.sleep(0.02)

        thread = threading.Thread(target=trickle)
        thread.start()
        url = f"http://127.0.0.1:{server.getsockname()[1]}/rerank"
        made = EndpointReranker(tei.SHAPE, "", url=url, api_key="", max_tokens=512, timeout=0.3)
        try:
            with pytest.raises(RerankUnavailable, match="took more than"):
                made.scores("?", TEXTS)
        finally:
            ended.set()
            thread.join()


def test_an_endpoint_that_is_not_there_is_unavailable():
    with serving(by_length) as gone:
        pass
    with pytest.raises(RerankUnavailable, match=r"did not answer: ConnectError\. Check MEMOS_RERANK_URL"):
        client(gone).scores("?", TEXTS)


@pytest.mark.parametrize("url", ["localhost:8080/rerank", "rerank", "http://[::1/rerank", "ftp://x/rerank"])
def test_an_address_that_is_none_is_unavailability(url):
    made = EndpointReranker(tei.SHAPE, "", url=url, api_key="", max_tokens=512, timeout=1.0)
    with pytest.raises(RerankUnavailable, match="Check MEMOS_RERANK_URL"):
        made.scores("?", TEXTS)


def test_each_server_is_asked_as_it_documents(endpoint):
    cohere = {"model": "m-1", "query": "?", "documents": TEXTS, "top_n": 3}
    wanted = {
        "tei": {"query": "?", "texts": TEXTS, "raw_scores": True, "truncate": True},
        "cohere": cohere,
        "vllm": {**cohere, "truncate_prompt_tokens": -1},
        "jina": {**cohere, "return_documents": False},
    }
    for provider, body in wanted.items():
        assert client(endpoint, provider).scores("?", TEXTS) == LENGTHS
        asked = endpoint.asked[-1]
        assert (asked.path, asked.body) == ("/v1/rerank", body)
        assert asked.headers["content-type"] == "application/json"
        assert asked.headers["authorization"] == "Bearer k-1"


def test_without_a_key_none_is_sent(endpoint):
    client(endpoint, api_key="").scores("?", TEXTS)
    assert "authorization" not in endpoint.asked[0].headers


def test_tei_gets_no_more_texts_at_once_than_it_takes_by_default(endpoint):
    texts = ["x" * (number % 9 + 1) for number in range(50)]
    assert client(endpoint, "tei").scores("?", texts) == [float(len(text)) for text in texts]
    assert [len(asked.body["texts"]) for asked in endpoint.asked] == [32, 18]
    assert client(endpoint, "cohere").scores("?", texts) == [float(len(text)) for text in texts]
    assert len(endpoint.asked) == 3


def test_no_texts_are_not_asked_about(endpoint):
    assert client(endpoint).scores("?", []) == []
    assert not endpoint.asked


def test_a_long_text_is_cut_before_it_is_sent(endpoint):
    client(endpoint, max_tokens=32).scores("?", ["one word " * 2000, "一个词" * 3000, "short"])
    sent = endpoint.asked[0].body["documents"]
    assert sent[0].startswith("one word ")
    assert sent[1].startswith("一个词")
    assert all(len(text) < 300 for text in sent)
    assert sent[2] == "short"


def test_the_settings_make_it_and_a_change_makes_another(endpoint, settings):
    settings.MEMOS_RERANK_PROVIDER = "tei"
    with pytest.raises(RerankUnavailable, match="needs MEMOS_RERANK_URL"):
        find_reranker()
    settings.MEMOS_RERANK_URL = f"{endpoint.url}/rerank"
    made = find_reranker()
    assert made is not None
    assert made is find_reranker()
    assert (made.name, made.scores("?", TEXTS)) == ("tei", LENGTHS)
    settings.MEMOS_RERANK_MODEL = "other"
    again = find_reranker()
    assert again is not made
    assert again is not None
    assert again.name == "tei/other"
