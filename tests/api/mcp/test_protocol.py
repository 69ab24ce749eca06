"""Refusals, compared with those of the official SDK's server for the same requests."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Callable
from typing import Any

import httpx2
import pytest
from mcp.server.mcpserver import MCPServer
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

from tests.api.mcp.client import META, STATELESS, message, post, standalone

pytestmark = pytest.mark.django_db

VERSIONS = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"]
INITIALIZE = {"capabilities": {}, "clientInfo": {"name": "tests", "version": "1"}}


@pytest.fixture(scope="module")
def oracle() -> Callable[[bytes, dict[str, str]], tuple[int, Any]]:
    """Send a request to the SDK's server; return status and JSON."""
    server = MCPServer("oracle")

    @server.tool(name="answer")
    def answer(query: str) -> dict[str, str]:
        """Answers."""
        return {"answer": query}

    async def run(content: bytes, headers: dict[str, str]) -> tuple[int, Any]:
        manager = StreamableHTTPSessionManager(app=server._lowlevel_server, json_response=True, stateless=True)
        async with manager.run():
            transport = httpx2.ASGITransport(app=manager.handle_request)
            async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1") as http:
                sent = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream", **headers}
                response = await http.post("/mcp", content=content, headers=sent)
        return response.status_code, response.json() if response.content else None

    return lambda content, headers: asyncio.run(run(content, headers))


def _changed(changes: dict[str, Any], headers: dict[str, str | None] | None = None, method: str = "tools/list") -> Any:
    """A stateless request with other fields and headers; None takes one away."""
    body, sent = standalone(method)
    body |= changes
    sent |= {name: value for name, value in (headers or {}).items() if value is not None}
    for name in [name for name, value in (headers or {}).items() if value is None]:
        sent.pop(name, None)
    return {name: value for name, value in body.items() if value != "leave out"}, sent


def _meta(**changes: Any) -> dict[str, Any]:
    changed = {**META, **{f"io.modelcontextprotocol/{name}": value for name, value in changes.items()}}
    return {"params": {"_meta": {name: value for name, value in changed.items() if value is not None}}}


SAME = {
    # The stateless revision.
    "a request": _changed({}),
    "its id is a text": _changed({"id": "one"}),
    "its id is 0": _changed({"id": 0}),
    "its id is null": _changed({"id": None}),
    "its id is true": _changed({"id": True}),
    "its id is broken": _changed({"id": 1.5}),
    "its id is a list": _changed({"id": [1]}),
    "no jsonrpc": _changed({"jsonrpc": "leave out"}),
    "another jsonrpc": _changed({"jsonrpc": "1.0"}),
    "no method": _changed({"method": "leave out"}),
    "its method is a number": _changed({"method": 5}),
    "params are a list": _changed({"params": [1]}),
    "no params": _changed({"params": "leave out"}),
    "no _meta": _changed({"params": {}}),
    "_meta is a list": _changed({"params": {"_meta": []}}),
    "no version in _meta": _changed(_meta(protocolVersion=None)),
    "no capabilities in _meta": _changed(_meta(clientCapabilities=None)),
    "capabilities are a text": _changed(_meta(clientCapabilities="all")),
    "no clientInfo": _changed(_meta(clientInfo=None)),
    "another version in _meta": _changed(_meta(protocolVersion="2025-11-25")),
    "a version in _meta that is a number": _changed(_meta(protocolVersion=1)),
    "another version in the header": _changed({}, {"MCP-Protocol-Version": "2027-01-01"}),
    "an unknown version in both": _changed(
        _meta(protocolVersion="2027-01-01"), {"MCP-Protocol-Version": "2027-01-01"}
    ),
    "no method header": _changed({}, {"Mcp-Method": None}),
    "another method header": _changed({}, {"Mcp-Method": "tools/call"}),
    "another case in the method header": _changed({}, {"Mcp-Method": "Tools/List"}),
    "a method that is not there": _changed({"method": "tools/forget"}, {"Mcp-Method": "tools/forget"}),
    "a method of the handshake": _changed({"method": "initialize"}, {"Mcp-Method": "initialize"}),
    "ping": _changed({"method": "ping"}, {"Mcp-Method": "ping"}),
    "logging": _changed({"method": "logging/setLevel"}, {"Mcp-Method": "logging/setLevel"}),
    "a batch": ([standalone("tools/list")[0]], standalone("tools/list")[1]),
    "an empty batch": ([], standalone("tools/list")[1]),
    "a text": ("tools/list", standalone("tools/list")[1]),
    "a notification": _changed({"id": "leave out", "method": "notifications/cancelled"}),
    "a notification in another version": _changed({"id": "leave out"}, {"MCP-Protocol-Version": "2027-01-01"}),
    "an answer": ({"jsonrpc": "2.0", "id": 1, "result": {}}, standalone("tools/list")[1]),
    "a call without a name header": (standalone("tools/call", {"name": "answer"})[0], standalone("tools/list")[1]),
    "a call with another name header": (
        standalone("tools/call", {"name": "answer", "arguments": {}})[0],
        {**standalone("tools/call", {"name": "answer"})[1], "Mcp-Name": "delete_memory"},
    ),
    "a call with a broken name header": (
        standalone("tools/call", {"name": "answer", "arguments": {}})[0],
        {**standalone("tools/call", {"name": "answer"})[1], "Mcp-Name": "=?base64?!!!?="},
    ),
    "a call without a name": standalone("tools/call", {"arguments": {}}),
    "a call whose arguments are a list": standalone("tools/call", {"name": "answer", "arguments": [1]}),
    "discover": standalone("server/discover"),
    # These requests use a handshake.
    **{f"initialize {version}": (message("initialize", {"protocolVersion": version, **INITIALIZE}), {})
       for version in [*VERSIONS, STATELESS, "2019-01-01"]},
    **{f"tools/list {version}": (message("tools/list"), {"MCP-Protocol-Version": version}) for version in VERSIONS},
    "tools/list without a version": (message("tools/list"), {}),
    "ping with a handshake": (message("ping"), {"MCP-Protocol-Version": "2025-11-25"}),
    "initialize without a version": (message("initialize", {}), {}),
    "discover with a handshake": (message("server/discover"), {"MCP-Protocol-Version": "2025-11-25"}),
    "a method that is not there, with a handshake": (message("tools/forget"), {"MCP-Protocol-Version": "2025-06-18"}),
    "initialized": ({"jsonrpc": "2.0", "method": "notifications/initialized"}, {}),
    "an answer, with a handshake": ({"jsonrpc": "2.0", "id": 1, "result": {}}, {}),
}  # fmt: skip


@pytest.mark.parametrize("name", SAME)
def test_status_and_code_are_those_of_the_sdk(alice, oracle, name):
    body, headers = SAME[name]
    expected_status, expected = oracle(json.dumps(body).encode(), headers)

    answer = post(alice.client, json.dumps(body), headers)

    assert answer.status_code == expected_status, (answer.content, expected)
    if expected is None:
        assert answer.content == b""
        return
    given = answer.json()
    assert given["id"] == expected["id"]
    assert ("error" in given) == ("error" in expected), (given, expected)
    if "error" in expected:
        assert given["error"]["code"] == expected["error"]["code"], (given, expected)
        assert "supported" not in (expected["error"].get("data") or ()) or (
            given["error"]["data"] == expected["error"]["data"]
        )
    else:
        assert set(given["result"]) >= set(expected["result"]), (given, expected)
        for key in ("protocolVersion", "supportedVersions", "resultType"):
            assert given["result"].get(key) == expected["result"].get(key)


@pytest.mark.parametrize(
    "content", [b" ", b"{", b"\xff", b'{"a": NaN}', b"[" * 100_000, b'{"id": ' + b"1" * 5000 + b"}"]
)
@pytest.mark.parametrize("version", [STATELESS, "2025-11-25"])
def test_what_is_no_json_is_told_so_as_by_the_sdk(alice, oracle, content, version):
    headers = {"MCP-Protocol-Version": version}
    if content[:2] not in (b'{"',):
        # Python's reader takes NaN, and numbers of any length; the latter are no message here either.
        status, expected = oracle(content, headers)
        assert (status, expected["error"]["code"]) == (400, -32700)

    answer = post(alice.client, content, headers)

    assert answer.status_code == 400
    assert answer.json()["error"]["code"] in (-32700, -32600)
    assert answer.json()["id"] is None


def test_a_name_beyond_ascii_comes_in_base64(alice):
    """Send the name as the SDK's client does."""
    uri = "memos://alice/sessions/söndag"
    body, headers = standalone("resources/read", {"uri": uri})
    encoded = base64.b64encode(uri.encode()).decode()

    answer = post(alice.client, body, {**headers, "Mcp-Name": f"=?base64?{encoded}?="})

    assert "söndag" in answer.json()["error"]["message"]


# These tests cover where MemOS follows the revisions' text and the SDK does not.


@pytest.mark.parametrize("version", [None, "2024-11-05", "2025-03-26"])
def test_a_batch_is_answered_where_the_revision_has_batches(alice, version):
    batch = [
        message("ping", message_id="a"),
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        message("tools/forget", message_id="b"),
        {"jsonrpc": "2.0"},
        message("initialize", {"protocolVersion": "2025-03-26"}, message_id="c"),
    ]

    answer = post(alice.client, batch, {"MCP-Protocol-Version": version} if version else {})

    assert answer.status_code == 200
    got = [(one["id"], one.get("error", {}).get("code")) for one in answer.json()]
    assert got == [("a", None), ("b", -32601), (None, -32600), (None, -32600)]


def test_a_batch_of_notifications_has_no_answer(alice):
    answer = post(alice.client, [{"jsonrpc": "2.0", "method": "notifications/initialized"}])

    assert (answer.status_code, answer.content) == (202, b"")


@pytest.mark.parametrize(("version", "batch"), [("2025-06-18", 1), ("2025-11-25", 1), ("2025-03-26", 0),
                                                ("2025-03-26", 21)])  # fmt: skip
def test_other_batches_are_refused(alice, version, batch):
    answer = post(alice.client, [message("ping")] * batch, {"MCP-Protocol-Version": version})

    assert answer.status_code == 400
    assert answer.json()["error"]["code"] == -32600


def test_each_message_of_a_batch_counts_against_the_limit(make_tenant):
    slow = make_tenant("slow", requests_per_minute=5)

    answer = post(slow.client, [message("ping")] * 6)

    assert answer.status_code == 429
    assert int(answer["Retry-After"]) > 0


def test_a_resource_that_is_not_there_has_the_code_of_its_revision(alice):
    uri = "memos://alice/sessions/none"
    with_handshake = post(alice.client, message("resources/read", {"uri": uri}))
    without = post(alice.client, *standalone("resources/read", {"uri": uri}))

    assert (with_handshake.status_code, with_handshake.json()["error"]["code"]) == (200, -32002)
    assert (without.status_code, without.json()["error"]["code"]) == (400, -32602)
    assert without.json()["error"]["data"]["uri"] == uri


def test_the_envelope_alone_makes_a_request_stateless(alice):
    body, _ = standalone("tools/list")

    answer = post(alice.client, body, {})

    assert answer.status_code == 400
    assert answer.json()["error"]["code"] == -32020


@pytest.mark.parametrize("header", ["MCP-Protocol-Version", "Mcp-Method"])
def test_a_header_that_came_twice_is_refused(alice, header):
    """The web server joins them by a comma."""
    body, headers = standalone("tools/list")

    answer = post(alice.client, body, {**headers, header: f"{headers[header]},{headers[header]}"})

    assert answer.status_code == 400
    assert answer.json()["error"]["code"] == -32020
    assert "once" in answer.json()["error"]["message"]


def test_lists_have_one_page(alice):
    for method in ("tools/list", "resources/list", "resources/templates/list", "prompts/list"):
        assert post(alice.client, *standalone(method, {"cursor": "2"})).json()["error"]["code"] == -32602


@pytest.mark.parametrize("method", ["get", "delete", "put", "patch", "head"])
def test_only_post_is_answered(alice, method):
    answer = getattr(alice.client, method)("/mcp")

    assert answer.status_code == 405
    assert "POST" in answer["Allow"]


def test_the_body_is_json(alice):
    answer = alice.client.post("/mcp", data="x=1", content_type="application/x-www-form-urlencoded")

    assert answer.status_code == 415
    assert answer.json()["error"]["code"] == "unsupported_media_type"
