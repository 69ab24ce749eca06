"""Implements JSON-RPC for the Model Context Protocol: messages, errors, and the revision of a request.

Revisions up to 2025-11-25 begin with a handshake (`initialize`). From 2026-07-28 on, each request is independent, names
its revision in `_meta`, and repeats in headers the values by which proxies route.
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
# A request without the header has this revision, as specified by the revision 2025-06-18.
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

# The header Mcp-Name repeats this parameter of the method.
_NAMED_BY = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
_NOT_A_MESSAGE = frozenset({PARSE_ERROR, INVALID_REQUEST, HEADER_MISMATCH, UNSUPPORTED_VERSION})
_ENCODED = re.compile(r"=\?base64\?(.*)\?=")


class RpcError(Exception):
    """Raised for a message that is answered with a JSON-RPC error, with `code`, `message` and `data`."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data

    def status(self, *, stateless: bool) -> int:
        """Returns the HTTP status; in revisions with a handshake, an error that answers a message has status 200."""
        if self.code in _NOT_A_MESSAGE:
            return 400
        if not stateless or self.code == INTERNAL_ERROR:
            return 200
        return 404 if self.code == METHOD_NOT_FOUND else 400

    def body(self, message_id: str | int | None) -> dict[str, Any]:
        """Returns the JSON-RPC message of the error."""
        error = {"code": self.code, "message": self.message}
        if self.data is not None:
            error["data"] = self.data
        return {"jsonrpc": "2.0", "id": message_id, "error": error}


@dataclass(frozen=True, slots=True)
class RpcMessage:
    """Represents a request, or a notification if it has no `id`, or an answer if it has no method."""

    method: str | None
    id: str | int | None = None
    params: dict[str, Any] = field(default_factory=dict)

    @property
    def wants_answer(self) -> bool:
        """Tells whether the message is a request."""
        return self.method is not None and self.id is not None


def parse_body(body: bytes) -> Any:
    """Decodes the JSON of a body. Raises RpcError."""
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
    """Tells whether a request has a revision without handshake, or an unknown one, which is refused like these."""
    version = headers.get(VERSION_HEADER)
    if version is not None:
        return version not in WITH_HANDSHAKE
    params = data.get("params") if isinstance(data, dict) else None
    meta = params.get("_meta") if isinstance(params, dict) else None
    return isinstance(meta, dict) and VERSION_KEY in meta


def check_repeated_headers(headers: Mapping[str, str]) -> None:
    """Raises RpcError for a repeated header, because a proxy might route by another of its values."""
    for name in (VERSION_HEADER, METHOD_HEADER):
        if "," in headers.get(name, ""):
            raise RpcError(HEADER_MISMATCH, f"The header {name} must come once.")


def check_envelope(message: RpcMessage, headers: Mapping[str, str]) -> None:
    """Raises RpcError for a stateless request without `_meta`, with headers that differ from its body, or with an
    unknown revision."""
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
    """Raises RpcError for an unknown revision without handshake; the error names the supported ones."""
    version = headers.get(VERSION_HEADER, "")
    if version not in STATELESS:
        raise RpcError(
            UNSUPPORTED_VERSION,
            f"This server does not speak the revision {version[:40]!r}.",
            {"supported": list(STATELESS), "requested": version},
        )


def _decode(value: str | None) -> str | None:
    """Decodes the value of a header, which is in base64 if it is not ASCII; returns None if that fails."""
    encoded = _ENCODED.fullmatch(value) if value else None
    if encoded is None:
        return value
    try:
        return base64.b64decode(encoded[1], validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return None
