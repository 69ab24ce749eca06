"""JSON-RPC as the Model Context Protocol has it: its messages and errors, and which revision a request speaks.

Revisions up to 2025-11-25 begin with a handshake (`initialize`); from 2026-07-28 on each request stands alone, names
its revision in `_meta`, and repeats in headers what proxies route by.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from memory.api.parsers import describe_fault

VERSION_HEADER, METHOD_HEADER, NAME_HEADER = "MCP-Protocol-Version", "Mcp-Method", "Mcp-Name"
VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES_KEY = "io.modelcontextprotocol/clientCapabilities"
SERVER_KEY = "io.modelcontextprotocol/serverInfo"

STATELESS = ("2026-07-28",)
WITH_HANDSHAKE = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
# A request without the header speaks this one, as the revision 2025-06-18 says.
UNNAMED = "2025-03-26"
WITH_BATCHES = frozenset({"2024-11-05", "2025-03-26"})
MOST_IN_BATCH = 20

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
RESOURCE_NOT_FOUND = -32002
HEADER_MISMATCH = -32020
UNSUPPORTED_VERSION = -32022

# Mcp-Name repeats this parameter of the method.
_NAMED_BY = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
_NOT_A_MESSAGE = frozenset({PARSE_ERROR, INVALID_REQUEST, HEADER_MISMATCH, UNSUPPORTED_VERSION})
_ENCODED = re.compile(r"=\?base64\?(.*)\?=")


class RpcError(Exception):
    """A message that is not answered with a result: a JSON-RPC error with `code`, `message` and `data`."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data

    def status(self, *, stateless: bool) -> int:
        """Returns the HTTP status: with a handshake an error in answer to a message is a success of HTTP."""
        if self.code in _NOT_A_MESSAGE:
            return 400
        if not stateless or self.code == INTERNAL_ERROR:
            return 200
        return 404 if self.code == METHOD_NOT_FOUND else 400

    def body(self, message_id: str | int | None) -> dict[str, Any]:
        """Returns the message that says so."""
        error = {"code": self.code, "message": self.message}
        if self.data is not None:
            error["data"] = self.data
        return {"jsonrpc": "2.0", "id": message_id, "error": error}


@dataclass(frozen=True, slots=True)
class RpcMessage:
    """A request; without an `id` a notification. One without a method is the answer to a request of a server."""

    method: str | None
    id: str | int | None = None
    params: dict[str, Any] = field(default_factory=dict)

    @property
    def wants_answer(self) -> bool:
        """Returns whether it is a request."""
        return self.method is not None and self.id is not None


def parse_body(body: bytes) -> Any:
    """Returns the JSON of a body. Raises RpcError."""
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise RpcError(PARSE_ERROR, describe_fault(body, error)) from error


def read_message(data: Any) -> RpcMessage:
    """Reads one JSON-RPC message. Raises RpcError."""
    if not isinstance(data, dict):
        raise RpcError(INVALID_REQUEST, "The body must be one JSON-RPC message, an object.")
    if data.get("jsonrpc") != "2.0":
        raise RpcError(INVALID_REQUEST, '`jsonrpc` must be "2.0".')
    method, message_id, params = data.get("method"), data.get("id"), data.get("params")
    if "id" in data and (not isinstance(message_id, str | int) or isinstance(message_id, bool)):
        raise RpcError(INVALID_REQUEST, "`id` must be a string or a whole number; a notification has none.")
    if method is None and "id" in data and ("result" in data or "error" in data):
        return RpcMessage(None, message_id)
    if not isinstance(method, str):
        raise RpcError(INVALID_REQUEST, "`method` must be a string.")
    if params is not None and not isinstance(params, dict):
        raise RpcError(INVALID_REQUEST, "`params` must be an object.")
    return RpcMessage(method, message_id, params or {})


def is_stateless(headers: Mapping[str, str], data: Any) -> bool:
    """Returns whether a request speaks a revision without handshake; one that is not known is refused as those are."""
    version = headers.get(VERSION_HEADER)
    if version is not None:
        return version not in WITH_HANDSHAKE
    params = data.get("params") if isinstance(data, dict) else None
    meta = params.get("_meta") if isinstance(params, dict) else None
    return isinstance(meta, dict) and VERSION_KEY in meta


def check_repeated_headers(headers: Mapping[str, str]) -> None:
    """Raises RpcError for a header that came twice: whoever routes by the first reads another than by the last."""
    for name in (VERSION_HEADER, METHOD_HEADER):
        if "," in headers.get(name, ""):
            raise RpcError(HEADER_MISMATCH, f"The header {name} must come once.")


def check_envelope(message: RpcMessage, headers: Mapping[str, str]) -> None:
    """Raises RpcError for a request of a stateless revision that lacks `_meta`, whose headers say something else than
    its body, or whose revision is not known here."""
    meta = message.params.get("_meta")
    if not isinstance(meta, dict):
        raise RpcError(INVALID_PARAMS, f"`params._meta` must be an object with {VERSION_KEY} and {CAPABILITIES_KEY}.")
    if missing := [key for key in (VERSION_KEY, CAPABILITIES_KEY) if key not in meta]:
        raise RpcError(INVALID_PARAMS, f"`params._meta` lacks {', '.join(missing)}.")
    if not isinstance(meta[CAPABILITIES_KEY], dict):
        raise RpcError(INVALID_PARAMS, f"`params._meta.{CAPABILITIES_KEY}` must be an object.")
    if headers.get(VERSION_HEADER) != meta[VERSION_KEY]:
        raise RpcError(HEADER_MISMATCH, f"The header {VERSION_HEADER} must be the revision of `params._meta`.")
    if headers.get(METHOD_HEADER) != message.method:
        raise RpcError(HEADER_MISMATCH, f"The header {METHOD_HEADER} must be the method of the body.")
    named_by = _NAMED_BY.get(message.method or "")
    named = message.params.get(named_by) if named_by else None
    if named is not None and _decode(headers.get(NAME_HEADER)) != named:
        raise RpcError(HEADER_MISMATCH, f"The header {NAME_HEADER} must be `params.{named_by}` of the body.")
    check_version(headers)


def check_version(headers: Mapping[str, str]) -> None:
    """Raises RpcError, which names the revisions that a request without handshake may speak."""
    version = headers.get(VERSION_HEADER, "")
    if version not in STATELESS:
        raise RpcError(
            UNSUPPORTED_VERSION,
            f"This server does not speak the revision {version[:40]!r}.",
            {"supported": list(STATELESS), "requested": version},
        )


def _decode(value: str | None) -> str | None:
    """A header's value, which is in base64 where it holds more than ASCII; None for one that cannot be read."""
    encoded = _ENCODED.fullmatch(value) if value else None
    if encoded is None:
        return value
    try:
        return base64.b64decode(encoded[1], validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return None
