"""Translates requests of the Responses API into requests for a chat completion."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from memory.api.openai_responses.tools import Tools, read_call, read_choice
from memory.errors import InvalidInput
from memory.text.completion_messages import list_texts

Item = Mapping[str, Any]

_CALLS = ("function_call", "custom_tool_call")
_OUTPUTS = ("function_call_output", "custom_tool_call_output")
# Fields that both APIs share. The others concern OpenAI's servers only, such as the key of a prompt cache.
_SAME = ("temperature", "top_p", "parallel_tool_calls", "service_tier")
# Types of content that hold text, with the field that holds it.
_TEXTS = {"input_text": "text", "output_text": "text", "text": "text", "refusal": "refusal"}


def to_completion(data: Mapping[str, Any], items: Sequence[Item], tools: Tools) -> dict[str, Any]:
    """Return the body of a chat completion equivalent to `items`, with the settings of `data`.

    Raises InvalidInput for content that no chat completion can express.
    """
    instructions = data.get("instructions")
    choice, functions = read_choice(data.get("tool_choice"), tools)
    reasoning, text = data.get("reasoning") or {}, data.get("text") or {}
    body = {
        "messages": _read_items(items, instructions or ""),
        "max_tokens": data.get("max_output_tokens"),
        "response_format": _read_format(text.get("format") or {}),
        "reasoning_effort": reasoning.get("effort"),
        "verbosity": text.get("verbosity"),
        **{name: data.get(name) for name in _SAME},
    }
    if functions:
        body |= {"tools": list(functions), "tool_choice": choice}
    else:
        body.pop("parallel_tool_calls")
    if data.get("stream"):
        # The usage comes with the last event of a stream only if the request asks for it.
        body |= {"stream": True, "stream_options": {"include_usage": True}}
    return {name: value for name, value in body.items() if value is not None}


def list_items(given: str | Sequence[Item]) -> list[Item]:
    """List the items of an input, which may also be a single text."""
    return [{"type": "message", "role": "user", "content": given}] if isinstance(given, str) else list(given)


def _read_items(items: Sequence[Item], instructions: str) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = [{"role": "system", "content": instructions}] if instructions else []
    called: set[Any] = set()
    for place, item in enumerate(items):
        kind = item.get("type") or "message"
        if kind == "message":
            _add(messages, _read_message(item, f"input[{place}]"))
        elif kind in _CALLS:
            # The calls of a turn, and the text before them, form one message.
            if not messages or messages[-1]["role"] != "assistant":
                messages.append({"role": "assistant", "content": None})
            messages[-1].setdefault("tool_calls", []).append(read_call(item))
            called.add(item.get("call_id"))
        elif kind in _OUTPUTS:
            if item.get("call_id") not in called:
                raise InvalidInput(
                    f"No call of a tool has the call_id {item.get('call_id')!r}: send the call as well, or the "
                    "`previous_response_id` of the response that made it.",
                    detail={"field": f"input[{place}].call_id"},
                )
            content = _read_content(item.get("output"), f"input[{place}].output")
            messages.append({"role": "tool", "tool_call_id": item.get("call_id"), "content": content})
        elif kind != "reasoning":
            raise InvalidInput(
                f"Items of the type {kind!r} are not known here.", detail={"field": f"input[{place}].type"}
            )
    return messages


def _add(messages: list[dict[str, Any]], message: dict[str, Any]) -> None:
    """Append a message. Consecutive system messages are joined, because many chat templates allow only one."""
    if message["role"] != "system":
        messages.append(message)
        return
    message["content"] = "\n\n".join(list_texts(message["content"]))
    if messages and messages[-1]["role"] == "system":
        messages[-1]["content"] += f"\n\n{message['content']}"
    else:
        messages.append(message)


def _read_message(item: Item, place: str) -> dict[str, Any]:
    role = item.get("role")
    if role not in ("user", "assistant", "system", "developer"):
        raise InvalidInput(
            f"{place}.role: must be user, assistant, system or developer.", detail={"field": f"{place}.role"}
        )
    said = {"role": "system" if role == "developer" else role, "content": _read_content(item.get("content"), place)}
    return {**said, "name": item["name"]} if isinstance(item.get("name"), str) else said


def _read_content(content: Any, place: str) -> Any:
    """Return the content in the form of chat completions: a string if it is a single text, else parts."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        raise InvalidInput(f"{place}: must be a text or a list of parts.", detail={"field": place})
    parts = list(_read_parts(content, place))
    return parts[0]["text"] if len(parts) == 1 and parts[0]["type"] == "text" else parts


def _read_parts(content: Sequence[Any], place: str) -> Iterator[dict[str, Any]]:
    for number, part in enumerate(content):
        kind = part.get("type") if isinstance(part, Mapping) else None
        if kind in _TEXTS and isinstance(part.get(_TEXTS[kind]), str):
            yield {"type": "text", "text": part[_TEXTS[kind]]}
        elif kind == "input_image" and part.get("image_url"):
            detail = {"detail": part["detail"]} if part.get("detail") else {}
            yield {"type": "image_url", "image_url": {"url": part["image_url"], **detail}}
        elif kind == "input_file" and part.get("file_data"):
            file = {name: part[name] for name in ("filename", "file_data") if part.get(name)}
            yield {"type": "file", "file": file}
        elif kind == "input_audio":
            yield {"type": kind, "input_audio": part.get("input_audio")}
        else:
            field = f"{place}.content[{number}]"
            raise InvalidInput(
                f"{field}: must be a text, an image by its URL or its data, a file's data, or audio; nothing is "
                "uploaded here, so that an id names none.",
                detail={"field": field},
            )


def _read_format(form: Mapping[str, Any]) -> dict[str, Any] | None:
    if form.get("type") == "json_schema":
        schema = {
            name: form[name] for name in ("name", "description", "schema", "strict") if form.get(name) is not None
        }
        return {"type": "json_schema", "json_schema": schema}
    return {"type": "json_object"} if form.get("type") == "json_object" else None
