"""Raw requests to `/mcp`, and the official client of the protocol against a server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import httpx2
from django.test import Client as DjangoClient
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client

STATELESS, NEWEST_HANDSHAKE = "2026-07-28", "2025-11-25"
META = {
    "io.modelcontextprotocol/protocolVersion": STATELESS,
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "tests", "version": "1"},
}
NAMED_BY = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}


def message(method: str, params: dict[str, Any] | None = None, *, message_id: Any = 1) -> dict[str, Any]:
    """A request of a revision with handshake."""
    return {"jsonrpc": "2.0", "id": message_id, "method": method, **({"params": params} if params is not None else {})}


Sent = tuple[dict[str, Any], dict[str, str]]


def standalone(method: str, params: dict[str, Any] | None = None, **named: Any) -> Sent:
    """A request of the stateless revision, and its headers."""
    params = {**(params or {}), "_meta": META}
    headers = {"MCP-Protocol-Version": STATELESS, "Mcp-Method": method}
    if named_by := NAMED_BY.get(method):
        headers["Mcp-Name"] = str(params.get(named_by, ""))
    return message(method, params, **named), headers


def post(client: DjangoClient, body: Any, headers: dict[str, str] | None = None, **options: Any) -> Any:
    """POST /mcp."""
    return client.post("/mcp", data=body, content_type="application/json", headers=headers or {}, **options)


def ask(client: DjangoClient, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
    """The result of a stateless request."""
    answer = post(client, *standalone(method, params))
    assert answer.status_code == 200, answer.content
    result: dict[str, Any] = answer.json()["result"]
    return result


def use(client: DjangoClient, tool: str, **arguments: Any) -> dict[str, Any]:
    """Return the result of a tool."""
    return ask(client, "tools/call", {"name": tool, "arguments": arguments})


def work(client: DjangoClient, tool: str, **arguments: Any) -> dict[str, Any]:
    """Return the result of a tool that succeeds."""
    result = use(client, tool, **arguments)
    assert not result["isError"], result["content"]
    return answer_of(result)


def answer_of(result: dict[str, Any]) -> dict[str, Any]:
    """The JSON that a result has, once, as its text."""
    assert set(result) <= {"content", "isError", "resultType", "_meta"}
    [content] = result["content"]
    answer: dict[str, Any] = json.loads(content["text"])
    return answer


def converse(url: str, token: str, talk: Callable[[Client], Awaitable[Any]], *, mode: str = "auto") -> Any:
    """Connect the official client, have `talk` use it, and return its result."""

    async def run() -> Any:
        async with (
            httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=60.0) as http,
            Client(streamable_http_client(url, http_client=http), mode=mode) as client,
        ):
            return await talk(client)

    return asyncio.run(run())
