"""An answered request leaves nothing behind that only the garbage collector would free."""

from __future__ import annotations

import gc
import io
import sys
import weakref
from typing import Any

import orjson
import pytest
from django.core.handlers.wsgi import WSGIHandler

from memory.api.mcp import route_call
from memos_site import middleware

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def answered(monkeypatch) -> list[weakref.ref[Any]]:
    """Return the requests and answers that were made, as long as anything holds references to them."""
    found: list[weakref.ref[Any]] = []

    for module in (middleware, route_call):
        untie = module.untie

        def note(request: Any, response: Any, untie: Any = untie) -> None:
            found.extend(weakref.ref(one) for one in (request, response))
            untie(request, response)

        monkeypatch.setattr(module, "untie", note)
    return found


@pytest.fixture
def uncollected():
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def ask(token: str, path: str, body: dict[str, Any], *, expected: str = "200 OK") -> dict[str, Any]:
    """Call the application as a web server does, and return its answer."""
    content = orjson.dumps(body)
    environ = {
        "REQUEST_METHOD": "POST",
        "PATH_INFO": path,
        "SERVER_NAME": "localhost",
        "SERVER_PORT": "80",
        "CONTENT_TYPE": "application/json",
        "CONTENT_LENGTH": str(len(content)),
        "HTTP_AUTHORIZATION": f"Bearer {token}",
        "HTTP_ACCEPT": "application/json, text/event-stream",
        "wsgi.input": io.BytesIO(content),
        "wsgi.errors": sys.stderr,
        "wsgi.url_scheme": "http",
    }
    status: list[str] = []
    response = WSGIHandler()(environ, lambda line, headers: status.append(line))
    answer = b"".join(response)
    response.close()
    assert status == [expected], answer
    return dict(orjson.loads(answer))


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/ingest", {"session_id": "s1", "text": "The spare key is under the mat."}),
        ("/v1/query", {"session_id": "s1", "query": "Where is the spare key?"}),
        ("/v1/search", {"query": "Where is the spare key?"}),
    ],
)
def test_an_answer_goes_with_its_request(alice, remember, answered, uncollected, path, body):
    remember(alice, "The archive key is with Bo.")

    ask(alice.token, path, {"namespace": "alice", **body})

    assert len(answered) == 2
    assert [one() for one in answered] == [None, None]


def test_a_refusal_goes_with_its_request(alice, answered, uncollected):
    ask(alice.token, "/v1/query", {"namespace": "alice"}, expected="400 Bad Request")

    assert [one() for one in answered] == [None, None]


def test_a_tools_call_keeps_neither_of_its_answers(alice, remember, answered, uncollected):
    remember(alice, "The archive key is with Bo.")
    call = {"name": "search", "arguments": {"query": "Who has the archive key?"}}

    answer = ask(alice.token, "/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call})

    assert "The archive key is with Bo." in answer["result"]["content"][0]["text"]
    assert len(answered) == 4
    assert [one() for one in answered] == [None] * 4
