"""Translates tools of the Responses API into functions of a chat completion, and their calls back into items."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from memory.errors import InvalidInput

FUNCTION, CUSTOM, NAMESPACE = "function", "custom", "namespace"
# Joins the names of a namespace and its tool, because function names allow only letters, digits, - and _.
_SEPARATOR = "__"
# Name of the only parameter of a custom tool, which takes any text.
_INPUT = "input"
_TEXT_ONLY = {
    "type": "object",
    "properties": {_INPUT: {"type": "string"}},
    "required": [_INPUT],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True)
class AgentTool:
    """A tool, named as the caller does. A tool that `is_custom` takes a text instead of arguments."""

    name: str
    namespace: str | None = None
    is_custom: bool = False

    @property
    def function_name(self) -> str:
        """Return the name by which the model calls the tool."""
        return f"{self.namespace}{_SEPARATOR}{self.name}" if self.namespace else self.name


@dataclass(frozen=True, slots=True)
class Tools:
    """The tools that the model can be given: the caller's own, but not OpenAI's, such as `web_search`.

    `passed_on` holds them as the caller wrote them, `functions` in the form of a chat completion.
    """

    passed_on: Sequence[Mapping[str, Any]]
    functions: Sequence[dict[str, Any]]
    known: Mapping[str, AgentTool]

    def find(self, function_name: str) -> AgentTool:
        """Return the tool that the model called. An unknown name is returned as a tool of that name."""
        return self.known.get(function_name, AgentTool(function_name))


def read_tools(listed: Sequence[Mapping[str, Any]]) -> Tools:
    """Read the tools of a request. Raises InvalidInput for a tool without a name."""
    passed_on, functions, known = [], [], {}
    for place, described in enumerate(listed):
        inner = list(_list_callable(described, f"tools[{place}]"))
        if inner:
            passed_on.append(described)
        for tool, details in inner:
            known[tool.function_name] = tool
            functions.append({"type": FUNCTION, "function": _describe_function(tool, details)})
    return Tools(passed_on, functions, known)


def read_choice(choice: Any, tools: Tools) -> tuple[Any, Sequence[dict[str, Any]]]:
    """Return the tool choice in the form of a chat completion, and the functions that it allows.

    Raises InvalidInput for the choice of a tool that the model is not given.
    """
    if choice is None or isinstance(choice, str):
        return choice, tools.functions
    kind = choice.get("type") if isinstance(choice, Mapping) else None
    if kind in (FUNCTION, CUSTOM):
        return {"type": FUNCTION, "function": {"name": _name_of_call(choice)}}, tools.functions
    if kind == "allowed_tools":
        allowed = {_name_of_call(one) for one in choice.get("tools") or () if isinstance(one, Mapping)}
        return choice.get("mode", "auto"), [one for one in tools.functions if one["function"]["name"] in allowed]
    raise InvalidInput(
        f"A tool of the type {kind!r} is not run here: choose a function, or leave the choice to the model.",
        detail={"field": "tool_choice"},
    )


def read_call(item: Mapping[str, Any]) -> dict[str, Any]:
    """Return an item that called a tool as a call of a chat completion."""
    if item.get("type") == "custom_tool_call":
        arguments = orjson.dumps({_INPUT: item.get("input") or ""}).decode()
    else:
        arguments = item.get("arguments") or "{}"
    function = {"name": _name_of_call(item), "arguments": arguments}
    return {"id": item.get("call_id"), "type": FUNCTION, "function": function}


def read_custom_input(arguments: str) -> str:
    """Return the text with which the model called a custom tool. If the call is malformed, it is the raw arguments."""
    try:
        given = orjson.loads(arguments)
    except orjson.JSONDecodeError:
        return arguments
    return given[_INPUT] if isinstance(given, dict) and isinstance(given.get(_INPUT), str) else arguments


def _list_callable(
    described: Mapping[str, Any], place: str, namespace: str | None = None
) -> Iterator[tuple[AgentTool, Mapping[str, Any]]]:
    kind = described.get("type")
    if kind not in (FUNCTION, CUSTOM, NAMESPACE):
        return
    name = described.get("name")
    if not isinstance(name, str) or not name:
        raise InvalidInput(f"{place}.name: is missing.", detail={"field": f"{place}.name"})
    if kind == NAMESPACE:
        for number, inner in enumerate(described.get("tools") or ()):
            yield from _list_callable(inner, f"{place}.tools[{number}]", name)
    else:
        yield AgentTool(name, namespace, is_custom=kind == CUSTOM), described


def _describe_function(tool: AgentTool, described: Mapping[str, Any]) -> dict[str, Any]:
    function = {"name": tool.function_name, "description": described.get("description")}
    if tool.is_custom:
        form = described.get("format") or {}
        if form.get("definition"):
            function["description"] = (
                f"{function['description'] or ''}\n\nThe input follows this grammar ({form.get('syntax')}):\n"
                f"{form['definition']}"
            )
        function["parameters"] = _TEXT_ONLY
    else:
        function |= {"parameters": described.get("parameters"), "strict": described.get("strict")}
    return {name: value for name, value in function.items() if value is not None}


def _name_of_call(item: Mapping[str, Any]) -> str:
    return AgentTool(str(item.get("name") or ""), item.get("namespace")).function_name
