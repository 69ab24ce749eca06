"""Runs `memos mcp`: an MCP server on standard input and output, for programs that can only start local servers.

It forwards each line, a JSON-RPC message, to `/mcp` of the server, and writes the answer to standard output. Transport
errors are printed on standard error and returned to the program as the error of its request.
"""

from __future__ import annotations

import base64
import json
import sys
import threading
import time
from collections.abc import Iterable, Mapping
from typing import Any, BinaryIO

import httpx2

from memos_client.errors import ConnectionFailed, MemOSError
from memos_client.settings import ClientSettings
from memos_client.transport import Request, error_of, pause_before

INTERNAL_ERROR = -32603
_VERSION_HEADER, _VERSION_KEY = "MCP-Protocol-Version", "io.modelcontextprotocol/protocolVersion"
_NAMED_BY = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}


def serve_mcp(
    url: str | None, key: str | None, lines: Iterable[bytes], out: BinaryIO, *, namespace: str | None = None
) -> None:
    """Forward messages until `lines` end. Each waits only for its own answer.

    `namespace` is for tool calls that name none; its default is MEMOS_NAMESPACE, else the key's default namespace. The
    timeout is long, because an answer may come from a language model. If the server is unavailable, requests are
    retried after 0.5, 1, 2, 4 and 8 seconds.
    """
    settings = ClientSettings.read(url, key, namespace, timeout=600.0, retries=5, longest_pause=8.0)
    timeout = httpx2.Timeout(settings.timeout, connect=10.0)
    headers = httpx2.Headers(settings.headers, encoding="utf-8")
    if settings.namespace:
        headers["X-MemOS-Namespace"] = settings.namespace
    with httpx2.Client(base_url=settings.url, headers=headers, timeout=timeout) as http:
        forwarder = _Forwarder(settings, http, out)
        threads: list[threading.Thread] = []
        for line in filter(bytes.strip, lines):
            threads = [thread for thread in threads if thread.is_alive()]
            threads.append(threading.Thread(target=forwarder.forward, args=(line,)))
            threads[-1].start()
        for thread in threads:
            thread.join()


class _Forwarder:
    def __init__(self, settings: ClientSettings, http: httpx2.Client, out: BinaryIO) -> None:
        self._settings = settings
        self._http = http
        self._out = out
        self._lock = threading.Lock()
        # The protocol revision negotiated by `initialize`.
        self._version: str | None = None

    def forward(self, line: bytes) -> None:
        message = _parse(line)
        message = message if isinstance(message, dict) else {}
        try:
            answer = self._ask(line, message)
        except MemOSError as error:
            print(f"memos: {error}", file=sys.stderr, flush=True)
            if "id" not in message or "method" not in message:
                return
            said = {"code": INTERNAL_ERROR, "message": str(error)}
            answer = {"jsonrpc": "2.0", "id": message["id"], "error": said}
        if answer is not None:
            if message.get("method") == "initialize" and "result" in answer:
                self._version = answer["result"]["protocolVersion"]
            with self._lock:
                self._out.write(json.dumps(answer).encode() + b"\n")
                self._out.flush()

    def _ask(self, line: bytes, message: Mapping[str, Any]) -> Any:
        """Return the server's answer, or None if there is none. Raises MemOSError."""
        headers = {"Content-Type": "application/json", "Accept": "application/json", **self._headers(message)}
        attempt = 0
        while True:
            attempt += 1
            error: MemOSError
            did_not_arrive = False
            try:
                response = self._http.post("/mcp", content=line, headers=headers)
                if response.status_code == 202:
                    return None
                answer = _parse(response.content)
                if isinstance(answer, list) or (isinstance(answer, dict) and "jsonrpc" in answer):
                    return answer
                error = error_of(response)
            except httpx2.TransportError as broken:
                error = ConnectionFailed(f"{self._settings.url} does not answer: {broken or type(broken).__name__}.")
                did_not_arrive = isinstance(broken, httpx2.ConnectError | httpx2.ConnectTimeout)
            sent: Request[Any] = Request("POST", "/mcp", asks=did_not_arrive or message.get("method") != "tools/call")
            pause = pause_before(sent, attempt, error, longest=self._settings.longest_pause)
            if pause is None or attempt > self._settings.retries:
                raise error
            print(f"memos: {error} Trying again in {pause:.0f} s.", file=sys.stderr, flush=True)
            time.sleep(pause)

    def _headers(self, message: Mapping[str, Any]) -> dict[str, str]:
        """Return the headers in which some protocol revisions repeat parts of the message."""
        params = message.get("params")
        params = params if isinstance(params, dict) else {}
        meta = params.get("_meta")
        version = meta.get(_VERSION_KEY) if isinstance(meta, dict) else None
        if version is None:
            return {_VERSION_HEADER: self._version} if self._version else {}
        method = str(message.get("method", ""))
        headers = {_VERSION_HEADER: str(version), "Mcp-Method": method}
        if named := params.get(_NAMED_BY.get(method, "")):
            headers["Mcp-Name"] = f"=?base64?{base64.b64encode(str(named).encode()).decode()}?="
        return headers


def _parse(text: bytes) -> Any:
    """Parse JSON. Returns None if it is invalid, because the server itself reports such a line."""
    try:
        return json.loads(text)
    except ValueError:
        return None
