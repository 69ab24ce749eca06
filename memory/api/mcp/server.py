"""Answers the methods of the protocol."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.http import HttpRequest

from memory.api.errors import describe_error
from memory.api.mcp import prompts, protocol, resources
from memory.api.mcp.protocol import RpcError, RpcMessage
from memory.api.mcp.result_size import fit
from memory.api.mcp.route_call import RouteRefusal
from memory.api.mcp.tool_arguments import read_arguments
from memory.api.mcp.tool_call import ToolCall
from memory.api.mcp.tool_results import NOTE
from memory.api.mcp.tools import BY_NAME, CHATGPT_TOOLS, TOOLS, Tool, result_chars
from memory.api.responses import error_body
from memory.errors import InvalidInput
from memory.text.json_values import encode
from memory.types import Access

log = logging.getLogger("memos.error")

INSTRUCTIONS = (
    "MemOS remembers across conversations. At the beginning of a task ask `get_context`, or `search_memories` for "
    "single facts; when the user tells something that will matter later, call `add_memory`; correct what is wrong with "
    f"`update_memory`. {NOTE}"
)
# Clients may cache the description of the server, and what a key may do, for this long.
ABOUT_SERVER_MS = 3_600_000
ABOUT_KEY_MS = 60_000


@dataclass(frozen=True, slots=True)
class McpCaller:
    """Holds the request and access of a message's sender, and whether its revision has no handshake."""

    request: HttpRequest
    access: Access
    stateless: bool


def answer_message(caller: McpCaller, message: RpcMessage) -> dict[str, Any]:
    """Returns the result of a request. Raises RpcError."""
    methods = _STATELESS if caller.stateless else _WITH_HANDSHAKE
    method = methods.get(message.method or "")
    if method is None:
        raise RpcError(protocol.METHOD_NOT_FOUND, f"There is no method {(message.method or '')[:60]!r} here.")
    result = method(caller, message.params)
    if not caller.stateless:
        return result
    return {"resultType": "complete", **result, "_meta": {protocol.SERVER_KEY: _about_server()}}


def _initialize(caller: McpCaller, params: Mapping[str, Any]) -> dict[str, Any]:
    wanted = params.get("protocolVersion")
    if not isinstance(wanted, str):
        raise RpcError(protocol.INVALID_PARAMS, "`params.protocolVersion` must be a string.")
    return {
        "protocolVersion": wanted if wanted in protocol.WITH_HANDSHAKE else protocol.WITH_HANDSHAKE[-1],
        "capabilities": _capabilities(),
        "serverInfo": _about_server(),
        "instructions": INSTRUCTIONS,
    }


def _discover(caller: McpCaller, params: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "supportedVersions": list(protocol.STATELESS),
        "capabilities": _capabilities(),
        "instructions": INSTRUCTIONS,
        **_keep(ABOUT_SERVER_MS),
    }


def _ping(caller: McpCaller, params: Mapping[str, Any]) -> dict[str, Any]:
    return {}


def _tools_of(caller: McpCaller) -> list[dict[str, Any]]:
    return [tool.describe() for tool in _tools_for(caller.request) if caller.access.may(tool.scope)]


def _tools_for(request: HttpRequest) -> tuple[Tool, ...]:
    return (*TOOLS, *CHATGPT_TOOLS) if request.GET.get("tools") == "chatgpt" else TOOLS


def _call_tool(caller: McpCaller, params: Mapping[str, Any]) -> dict[str, Any]:
    name, arguments = params.get("name"), params.get("arguments")
    if not isinstance(name, str):
        raise RpcError(protocol.INVALID_PARAMS, "`params.name` must be the name of a tool.")
    if arguments is not None and not isinstance(arguments, dict):
        raise RpcError(protocol.INVALID_PARAMS, "`params.arguments` must be an object.")
    tool = BY_NAME.get(name)
    if tool is None:
        raise RpcError(protocol.INVALID_PARAMS, f"There is no tool {name[:60]!r}; there are {', '.join(BY_NAME)}.")
    try:
        given = read_arguments(tool.takes, arguments or {})
        _check_names(tool, given)
        answer = tool.run(ToolCall(caller.request, caller.access, given))
    except RouteRefusal as refusal:
        return _as_content({"error": refusal.error}, is_error=True)
    except Exception as error:
        return _as_content(describe_failure(caller.request, error), is_error=True)
    return _as_content(answer, is_error=False)


def _check_names(tool: Tool, arguments: Mapping[str, Any]) -> None:
    known = tool.takes["properties"]
    if unknown := sorted(set(arguments) - set(known)):
        problem = f"is no argument of {tool.name}; it takes {', '.join(known)}."
        places = [{"field": name[:60], "problem": problem} for name in unknown]
        raise InvalidInput(f"{unknown[0][:60]}: {problem}", detail=places)


def describe_failure(request: HttpRequest, error: Exception) -> dict[str, Any]:
    """Describes an exception in the API's error shape; internal errors are logged, and their details not returned."""
    status, code, message, detail, _ = describe_error(error)
    if status is None:
        log.exception("a message of /mcp failed")
        code, message = "internal_error", "Something went wrong inside; the server's log has more under the request_id."
    return error_body(request, code, message, detail)


def _as_content(answer: dict[str, Any], *, is_error: bool) -> dict[str, Any]:
    """Returns the answer as JSON text only, because a structured copy would cost the model its tokens twice."""
    answer = fit(answer, result_chars())
    return {"content": [{"type": "text", "text": encode(answer).decode()}], "isError": is_error}


def _read_resource(caller: McpCaller, params: Mapping[str, Any]) -> dict[str, Any]:
    uri = params.get("uri")
    if not isinstance(uri, str):
        raise RpcError(protocol.INVALID_PARAMS, "`params.uri` must be the address of a resource.")
    try:
        contents = resources.read_resource(caller.request, caller.access, uri)
    except resources.NoSuchResource as error:
        code = protocol.INVALID_PARAMS if caller.stateless else protocol.RESOURCE_NOT_FOUND
        raise RpcError(code, str(error), {"uri": uri}) from error
    except RouteRefusal as refusal:
        code = protocol.INVALID_PARAMS if refusal.status < 500 else protocol.INTERNAL_ERROR
        raise RpcError(code, refusal.error["message"], {"error": refusal.error}) from refusal
    return {"contents": contents, **_keep(0, caller)}


def _get_prompt(caller: McpCaller, params: Mapping[str, Any]) -> dict[str, Any]:
    name, arguments = params.get("name"), params.get("arguments")
    if not isinstance(name, str) or not isinstance(arguments, dict | None):
        raise RpcError(protocol.INVALID_PARAMS, "`params.name` must be a string, `params.arguments` an object.")
    return prompts.get_prompt(caller.access, name, arguments or {})


def _keep(milliseconds: int, caller: McpCaller | None = None) -> dict[str, Any]:
    """Returns the fields that say how long a client may cache a result, in revisions that have them."""
    if caller is not None and not caller.stateless:
        return {}
    return {"ttlMs": milliseconds, "cacheScope": "private"}


def _capabilities() -> dict[str, Any]:
    return {"tools": {}, "resources": {}, "prompts": {}}


def _about_server() -> dict[str, Any]:
    return {"name": "memos", "title": "MemOS", "version": settings.SPECTACULAR_SETTINGS["VERSION"]}


_Method = Callable[[McpCaller, Mapping[str, Any]], dict[str, Any]]


def _listing(name: str, items: Callable[[McpCaller], list[dict[str, Any]]], kept_ms: int) -> _Method:
    """Returns the method that answers a list of one page, and refuses cursors."""

    def answer(caller: McpCaller, params: Mapping[str, Any]) -> dict[str, Any]:
        if params.get("cursor") is not None:
            raise RpcError(protocol.INVALID_PARAMS, "`params.cursor` is not known here: the list has one page.")
        return {name: items(caller), **_keep(kept_ms, caller)}

    return answer


_LISTS_AND_CALLS: dict[str, _Method] = {
    "tools/list": _listing("tools", _tools_of, ABOUT_KEY_MS),
    "tools/call": _call_tool,
    "resources/list": _listing("resources", lambda caller: resources.list_resources(caller.access), 0),
    "resources/templates/list": _listing(
        "resourceTemplates", lambda caller: resources.list_templates(caller.access), ABOUT_KEY_MS
    ),
    "resources/read": _read_resource,
    "prompts/list": _listing("prompts", lambda caller: prompts.list_prompts(caller.access), ABOUT_KEY_MS),
    "prompts/get": _get_prompt,
}
_STATELESS: dict[str, _Method] = {"server/discover": _discover, **_LISTS_AND_CALLS}
_WITH_HANDSHAKE: dict[str, _Method] = {"initialize": _initialize, "ping": _ping, **_LISTS_AND_CALLS}
