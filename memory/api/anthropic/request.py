"""Translates requests of Anthropic's Messages API into requests for a chat completion."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import orjson

from memory.errors import InvalidInput
from memory.text.reminders import as_reminder, is_reminder

# Fields that both APIs share, then the values of `tool_choice` and their names in OpenAI's API.
_SAME = ("max_tokens", "temperature", "top_p", "top_k")
_CHOICES = {"auto": "auto", "any": "required", "none": "none"}
# Blocks that only the model that wrote them can read.
_LEFT_OUT = ("thinking", "redacted_thinking")


def to_completion(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the body of an equivalent chat completion. Raises InvalidInput for content that none can express."""
    system = _read_texts(data.get("system"), "system")
    output = data.get("output_config") or {}
    body = {
        "messages": [*([{"role": "system", "content": "\n\n".join(system)}] if system else []), *_read_messages(data)],
        "stop": data.get("stop_sequences") or None,
        "reasoning_effort": output.get("effort") if thinks(data) else None,
        "response_format": _read_format(output.get("format") or data.get("output_format") or {}),
        **{name: data.get(name) for name in _SAME},
        **_read_tools(data),
    }
    if data.get("stream"):
        # The usage comes with the last event of a stream only if the request asks for it.
        body |= {"stream": True, "stream_options": {"include_usage": True}}
    return {name: value for name, value in body.items() if value is not None}


def list_counted(data: Mapping[str, Any]) -> list[str]:
    """List the texts of a request that a model reads. Tools and calls are included as JSON."""
    body = to_completion({**data, "stream": False})
    return [orjson.dumps(body.get(name)).decode() for name in ("messages", "tools") if body.get(name)]


def thinks(data: Mapping[str, Any]) -> bool:
    """Return whether the caller asks to see the model's thinking."""
    return (data.get("thinking") or {}).get("type") in ("enabled", "adaptive")


def _read_tools(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the tools that the caller runs. Tools that Anthropic runs have no `input_schema` and are left out."""
    own = [one for one in data.get("tools") or () if isinstance(one.get("input_schema"), Mapping)]
    if not own:
        return {}
    functions = [
        {
            "name": one.get("name"),
            "description": one.get("description") or "",
            "parameters": one["input_schema"],
            **({"strict": True} if one.get("strict") else {}),
        }
        for one in own
    ]
    choice = data.get("tool_choice") or {}
    kind = choice.get("type")
    named = {"type": "function", "function": {"name": choice.get("name")}}
    return {
        "tools": [{"type": "function", "function": function} for function in functions],
        "tool_choice": named if kind == "tool" else _CHOICES.get(str(kind)),
        "parallel_tool_calls": False if choice.get("disable_parallel_tool_use") else None,
    }


def _read_format(form: Mapping[str, Any]) -> dict[str, Any] | None:
    if form.get("type") != "json_schema":
        return None
    return {"type": "json_schema", "json_schema": {"name": "answer", "schema": form.get("schema"), "strict": True}}


def _read_messages(data: Mapping[str, Any]) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = []
    for place, message in enumerate(data["messages"]):
        where = f"messages[{place}]"
        content = message.get("content")
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        if not isinstance(blocks, list) or not all(isinstance(block, Mapping) for block in blocks):
            raise InvalidInput(f"{where}.content: must be a text or a list of blocks.", detail={"field": where})
        if message["role"] == "assistant":
            messages.append(_read_answer(blocks, where))
        elif message["role"] == "user":
            messages += _read_question(blocks, where)
        elif message["role"] == "system":
            # Many chat templates allow a system message only at the beginning, so a later one becomes a reminder.
            _remind(messages, "\n\n".join(_read_texts(blocks, where)))
        else:
            raise InvalidInput(f"{where}.role: must be user, assistant or system.", detail={"field": f"{where}.role"})
    return messages


def _read_answer(blocks: Sequence[Mapping[str, Any]], where: str) -> dict[str, Any]:
    texts, calls = [], []
    for place, block in enumerate(blocks):
        if block.get("type") == "text":
            texts.append(_read_text(block, f"{where}.content[{place}]"))
        elif block.get("type") == "tool_use":
            function = {"name": block.get("name"), "arguments": orjson.dumps(block.get("input") or {}).decode()}
            calls.append({"id": block.get("id"), "type": "function", "function": function})
        elif block.get("type") not in _LEFT_OUT:
            raise _unknown(block, f"{where}.content[{place}]")
    said = {"role": "assistant", "content": "".join(texts) or None}
    return {**said, "tool_calls": calls} if calls else said | {"content": said["content"] or ""}


def _read_question(blocks: Sequence[Mapping[str, Any]], where: str) -> Iterator[dict[str, Any]]:
    """Yield the tool results, which answer the previous calls, and then the rest of the user's message."""
    outputs: list[dict[str, Any]] = []
    parts: list[dict[str, Any]] = []
    for place, block in enumerate(blocks):
        at = f"{where}.content[{place}]"
        if block.get("type") == "tool_result":
            content = block.get("content") or ""
            told = content if isinstance(content, str) else _join([_read_part(one, at) for one in content])
            outputs.append({"role": "tool", "tool_call_id": block.get("tool_use_id"), "content": told})
        else:
            parts.append(_read_part(block, at))
    if outputs and all(part["type"] == "text" and is_reminder(part["text"]) for part in parts):
        # Reminders come from the client program, not from the user, so they are no turn of the conversation.
        _remind(outputs, "\n\n".join(part["text"] for part in parts))
        parts = []
    yield from outputs
    if parts or not outputs:
        yield {"role": "user", "content": _join(parts)}


def _remind(messages: list[dict[str, Any]], text: str) -> None:
    """Append the client's reminder to the previous message, because chat templates expect alternating roles."""
    if not text:
        return
    part = {"type": "text", "text": as_reminder(text)}
    if not messages or messages[-1]["role"] not in ("user", "tool"):
        messages.append({"role": "user", "content": part["text"]})
        return
    content = messages[-1]["content"]
    before = [{"type": "text", "text": content}] if isinstance(content, str) else content
    messages[-1]["content"] = _join([*before, part])


def _join(parts: Sequence[dict[str, Any]]) -> Any:
    """Return the content of a message: a string if the only part is a text, else the list of parts."""
    if not parts:
        return ""
    return parts[0]["text"] if len(parts) == 1 and parts[0]["type"] == "text" else list(parts)


def _read_part(block: Any, where: str) -> dict[str, Any]:
    kind = block.get("type") if isinstance(block, Mapping) else None
    source = block.get("source") if isinstance(block, Mapping) else None
    if kind == "text":
        return {"type": "text", "text": _read_text(block, where)}
    if kind in ("image", "document") and isinstance(source, Mapping):
        if source.get("type") == "text" and isinstance(source.get("data"), str):
            return {"type": "text", "text": source["data"]}
        data = f"data:{source.get('media_type')};base64,{source.get('data')}"
        if kind == "image" and source.get("type") in ("base64", "url"):
            return {"type": "image_url", "image_url": {"url": source.get("url") or data}}
        if source.get("type") == "base64":
            return {"type": "file", "file": {"filename": block.get("title") or "document", "file_data": data}}
    if kind == "tool_reference":
        return {"type": "text", "text": str(block.get("tool_name"))}
    raise _unknown(block, where)


def _read_texts(content: Any, where: str) -> list[str]:
    if isinstance(content, str):
        return [content] if content else []
    return [_read_text(block, f"{where}[{place}]") for place, block in enumerate(content or ())]


def _read_text(block: Any, where: str) -> str:
    text = block.get("text") if isinstance(block, Mapping) else None
    if not isinstance(text, str):
        raise InvalidInput(f"{where}.text: must be a text.", detail={"field": f"{where}.text"})
    return text


def _unknown(block: Any, where: str) -> InvalidInput:
    kind = block.get("type") if isinstance(block, Mapping) else block
    return InvalidInput(
        f"{where}: a block of the type {kind!r} is not known here, or names what is not in the request.",
        detail={"field": where},
    )
